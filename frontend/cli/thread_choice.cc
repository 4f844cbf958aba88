#include "frontend/cli/thread_choice.h"

#include <ATen/Parallel.h>

#include <cstdlib>

#include "runtime/cpu/cpu_quota.h"

namespace aitune::cli {

void SetThreadCount(int wanted, std::optional<double> quota) {
  if (wanted > 0) {
    at::set_num_threads(wanted);
    return;
  }
  if (std::getenv("OMP_NUM_THREADS") != nullptr ||
      std::getenv("MKL_NUM_THREADS") != nullptr)
    return;
  const int cores = at::get_num_threads();
  const int threads = ThreadsFor(cores, quota);
  if (threads < cores) at::set_num_threads(threads);
}

}  // namespace aitune::cli
