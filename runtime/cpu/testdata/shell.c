// A kernel as no code generator emits it: it calls a function of libc that
// starts a process.
#include <stdint.h>

extern int system(const char*);

void shell(void* const* buffers, const int64_t* symbols, int64_t begin,
           int64_t end) {
  ((float*)buffers[0])[begin] = (float)(system("true") + end + symbols[0]);
}
