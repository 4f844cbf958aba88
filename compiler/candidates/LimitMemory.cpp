#include "compiler/candidates/LimitMemory.h"

#include <sys/resource.h>

#include "absl/base/config.h"

namespace aitune {

#if defined(ABSL_HAVE_ADDRESS_SANITIZER) || defined(ABSL_HAVE_THREAD_SANITIZER)
void limitMemory(int64_t bytes) {}
#else
void limitMemory(int64_t bytes) {
  rlimit limit = {};
  getrlimit(RLIMIT_DATA, &limit);
  limit.rlim_cur = bytes > 0 ? static_cast<rlim_t>(bytes) : limit.rlim_max;
  setrlimit(RLIMIT_DATA, &limit);
}
#endif

} // namespace aitune
