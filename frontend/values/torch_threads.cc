// The number of threads that the runtime computes with is LibTorch's.

#include <ATen/Parallel.h>

#include "runtime/cpu/thread_pool.h"

namespace aitune::frontend {
namespace {

// Not OpenMP's number: on a thread that LibTorch has not seen yet,
// at::get_num_threads first applies at::set_num_threads.
[[maybe_unused]] const bool kIsSet = [] {
  SetThreadCountSource(at::get_num_threads);
  return true;
}();

}  // namespace
}  // namespace aitune::frontend
