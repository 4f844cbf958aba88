// A kernel as the code generators emit them: constants of its own, libm, a
// table, and initialised data that holds an address.
#include <math.h>
#include <stdint.h>

static const float kTable[4] = {1.5f, 2.5f, 3.5f, 4.5f};
static const float* const kPointer = &kTable[1];
static const float* const* volatile scale_table = &kPointer;

void scale(void* const* buffers, const int64_t* symbols, int64_t begin,
           int64_t end) {
  const float* x = buffers[0];
  float* y = buffers[1];
  for (int64_t i = begin; i < end; ++i)
    y[i] = erff(x[i]) * kTable[i % 4] + **scale_table + (float)symbols[0];
}
