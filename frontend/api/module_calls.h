// What calls of modules share: results in memory of the caller's, and threads.
#ifndef AITUNE_FRONTEND_API_MODULE_CALLS_H_
#define AITUNE_FRONTEND_API_MODULE_CALLS_H_

#include <optional>

#include "absl/status/status.h"
#include "frontend/values/value_list.h"
#include "runtime/cpu/thread_pool.h"

namespace ait {

// Copies the tensors of `result`, in depth-first order of its nesting, to
// `outputs`, which are tensors. kInvalidArgument for another number of them, or
// other dtypes or sizes; nothing is written then. May throw LibTorch's
// exceptions.
absl::Status CopyResult(const c10::IValue& result,
                        const aitune::frontend::ValueList& outputs);

// Gives the calling thread the number of threads that a module asks for (0:
// leaves it its own) until destroyed.
class ThreadsOfModule {
 public:
  explicit ThreadsOfModule(int threads) {
    if (threads > 0) scope_.emplace(threads);
  }

 private:
  std::optional<aitune::ScopedThreadCount> scope_;
};

}  // namespace ait

#endif  // AITUNE_FRONTEND_API_MODULE_CALLS_H_
