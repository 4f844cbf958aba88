// The memory that a module holds, and its limit.
#include <memory>
#include <mutex>

#include "absl/strings/str_cat.h"
#include "frontend/api/module.h"

namespace ait {

aitune::MemoryUse Module::Memory() const {
  std::shared_ptr<aitune::Backend> backend;
  aitune::MemoryUse eager;
  {
    std::lock_guard<std::mutex> lock(mutex_);
    backend = backend_;
    if (eager_ != nullptr) eager.model = eager_->WeightBytes();
  }
  if (backend != nullptr) return backend->Memory();
  const aitune::frontend::Model& model = source_->model();
  eager.model +=
      model.WeightBytes() - model.UnmadeBytes() + model.BesideBytes();
  return eager;
}

void Module::FreeKeptMemory() const {
  std::shared_ptr<aitune::Backend> backend;
  {
    std::lock_guard<std::mutex> lock(mutex_);
    backend = backend_;
  }
  if (backend != nullptr) backend->FreeKeptMemory();
}

absl::Status Module::SetMemoryLimit(int64_t bytes) {
  if (bytes < 0)
    return absl::InvalidArgumentError(
        absl::StrCat("a limit of ", bytes,
                     " bytes of memory was given; give 0 for no limit"));
  std::lock_guard<std::mutex> lock(mutex_);
  memory_limit_ = bytes;
  if (backend_ != nullptr) backend_->SetMemoryLimit(bytes);
  return absl::OkStatus();
}

int64_t Module::memory_limit() const {
  std::lock_guard<std::mutex> lock(mutex_);
  return memory_limit_;
}

}  // namespace ait
