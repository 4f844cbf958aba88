// Ranges that NVIDIA's profilers show beside the kernels (NVTX): that a backend
// is activated, a call of a model on a GPU, and each of its steps where they
// are queued one by one. A step of a recorded graph has none; its kernels are
// named after it.
//
// A profiler that traces a process names its library in NVTX_INJECTION64_PATH
// (NVTX 3). Only then is libnvtx3interop.so.1, which comes with PyPI's torch,
// opened; otherwise a range costs one comparison.
#ifndef AITUNE_RUNTIME_CUDA_PROFILER_RANGE_H_
#define AITUNE_RUNTIME_CUDA_PROFILER_RANGE_H_

#include <functional>

#include "runtime/cuda/shared_library.h"

namespace aitune::cuda {

// The functions of NVTX that ranges call; null where no profiler is attached.
struct ProfilerFunctions {
  int (*push)(const char* name) = nullptr;  // nvtxRangePushA
  int (*pop)() = nullptr;                   // nvtxRangePop
};

// Those of a library's: none unless it has both.
ProfilerFunctions FindProfilerFunctions(const SymbolLookup& lookup);

// Those of this process, found at the first call. Thread-safe.
const ProfilerFunctions& AttachedProfiler();

// A range of this thread until the end of the scope. Ranges nest.
class ProfilerRange {
 public:
  // `name` is copied.
  explicit ProfilerRange(
      const char* name, const ProfilerFunctions& functions = AttachedProfiler())
      : functions_(functions) {
    if (functions_.push != nullptr) functions_.push(name);
  }
  ~ProfilerRange() {
    if (functions_.push != nullptr) functions_.pop();
  }
  ProfilerRange(const ProfilerRange&) = delete;
  ProfilerRange& operator=(const ProfilerRange&) = delete;

 private:
  const ProfilerFunctions& functions_;
};

}  // namespace aitune::cuda

#endif  // AITUNE_RUNTIME_CUDA_PROFILER_RANGE_H_
