// With how many threads the program computes.
#ifndef AITUNE_FRONTEND_CLI_THREAD_CHOICE_H_
#define AITUNE_FRONTEND_CLI_THREAD_CHOICE_H_

#include <optional>

namespace aitune::cli {

// Sets LibTorch's number of threads, which the runtime follows: `wanted`
// (--threads) or, if that is 0, ThreadsFor LibTorch's default, which counts the
// cores that the process may run on, and `quota` (CpuQuota). OMP_NUM_THREADS
// and MKL_NUM_THREADS count as wanted. For a program's start: not thread-safe.
void SetThreadCount(int wanted, std::optional<double> quota);

}  // namespace aitune::cli

#endif  // AITUNE_FRONTEND_CLI_THREAD_CHOICE_H_
