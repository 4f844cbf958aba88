// The memory of constants and persistent values on a GPU. Internal to this
// folder.
#ifndef AITUNE_RUNTIME_CUDA_OWN_MEMORY_H_
#define AITUNE_RUNTIME_CUDA_OWN_MEMORY_H_

#include <cstdint>
#include <memory>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "runtime/cuda/device.h"
#include "runtime/executable/loaded_plan.h"
#include "runtime/status/status_macros.h"

namespace aitune::cuda {

// Memory of one executable's own, which is filled on `stream`.
class OwnMemory : public DeviceMemory {
 public:
  OwnMemory(const Device& device, CUstream stream)
      : device_(device), stream_(stream) {}
  absl::StatusOr<std::shared_ptr<void>> Allocate(
      int64_t bytes, const void* host, int32_t /*constant*/) override {
    AITUNE_ASSIGN_OR_RETURN(DeviceBuffer buffer,
                            DeviceBuffer::Allocate(device_, bytes));
    if (host != nullptr) {
      AITUNE_RETURN_IF_ERROR(device_.driver().Check(
          device_.driver().cuMemcpyHtoDAsync(
              reinterpret_cast<CUdeviceptr>(buffer.data()), host, bytes,
              stream_),
          "copying a constant to the GPU"));
    }
    auto owner = std::make_shared<DeviceBuffer>(std::move(buffer));
    return std::shared_ptr<void>(owner, owner->data());
  }

 private:
  const Device& device_;
  const CUstream stream_;
};

}  // namespace aitune::cuda

#endif  // AITUNE_RUNTIME_CUDA_OWN_MEMORY_H_
