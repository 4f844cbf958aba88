// The memory that a module holds, its limit, and where it is from.
#include <memory>
#include <mutex>
#include <utility>

#include "absl/strings/str_cat.h"
#include "frontend/api/module.h"
#include "runtime/status/status_macros.h"

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

absl::Status Module::SetAllocator(aitune::HostAllocator allocator) {
  const bool allocates = allocator.allocate != nullptr;
  if (allocates != (allocator.release != nullptr))
    return absl::InvalidArgumentError(
        absl::StrCat("an allocator was given without the function that ",
                     allocates ? "releases" : "allocates",
                     " memory; give both, or none for the system's"));
  AITUNE_ASSIGN_OR_RETURN(const aitune::Device device,
                          aitune::Device::ParseCpuOrGpu(options_.device));
  if (device.is_gpu())
    return absl::InvalidArgumentError(
        absl::StrCat("the module runs on ", options_.device,
                     ", and an allocator is for memory of the CPU"));
  std::shared_ptr<const aitune::HostAllocator> shared;
  if (allocates)
    shared =
        std::make_shared<const aitune::HostAllocator>(std::move(allocator));
  std::lock_guard<std::mutex> lock(mutex_);
  allocator_ = std::move(shared);
  if (backend_ != nullptr) backend_->SetAllocator(allocator_);
  return absl::OkStatus();
}

void Module::SetMemoryOf(aitune::Backend& backend) const {
  backend.SetMemoryLimit(memory_limit_);
  if (allocator_ != nullptr) backend.SetAllocator(allocator_);
}

int64_t Module::memory_limit() const {
  std::lock_guard<std::mutex> lock(mutex_);
  return memory_limit_;
}

}  // namespace ait
