#include "frontend/backends/compiled/memory_limit.h"

#include "absl/strings/str_cat.h"

namespace aitune::frontend {

absl::Status MemoryLimit::Check() {
  const int64_t limit = bytes_;
  if (limit <= 0) return absl::OkStatus();
  std::lock_guard<std::mutex> lock(mutex_);
  if (use_ == nullptr || use_().total() <= limit) return absl::OkStatus();
  free_();
  const MemoryUse use = use_();
  if (use.total() <= limit) return absl::OkStatus();
  return absl::ResourceExhaustedError(absl::StrCat(
      "the module's limit is ", limit, " bytes of memory, and ", use.total(),
      " are needed: ", use.model, " for the model, ", use.weights,
      " for packed weights, ", use.arenas, " for intermediate values, ",
      use.results, " for results, ", use.graphs,
      " for CUDA graphs; raise the limit, or call with smaller inputs or on "
      "fewer threads"));
}

void MemoryLimit::Detach() {
  std::lock_guard<std::mutex> lock(mutex_);
  use_ = nullptr;
  free_ = nullptr;
}

}  // namespace aitune::frontend
