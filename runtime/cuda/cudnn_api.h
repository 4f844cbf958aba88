// cuDNN's backend interface with owned descriptors. Internal to this folder.
#ifndef AITUNE_RUNTIME_CUDA_CUDNN_API_H_
#define AITUNE_RUNTIME_CUDA_CUDNN_API_H_

#include <cudnn.h>

#include <cstdint>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "runtime/cuda/device.h"

namespace aitune::cuda {

#define AITUNE_CUDNN_FUNCTIONS(X)  \
  X(cudnnCreate)                   \
  X(cudnnSetStream)                \
  X(cudnnGetErrorString)           \
  X(cudnnGetLastErrorString)       \
  X(cudnnBackendCreateDescriptor)  \
  X(cudnnBackendDestroyDescriptor) \
  X(cudnnBackendFinalize)          \
  X(cudnnBackendSetAttribute)      \
  X(cudnnBackendGetAttribute)      \
  X(cudnnBackendExecute)

struct Cudnn {
#define AITUNE_DECLARE(name) decltype(&::name) name = nullptr;
  AITUNE_CUDNN_FUNCTIONS(AITUNE_DECLARE)
#undef AITUNE_DECLARE

  // OK for CUDNN_STATUS_SUCCESS; kUnimplemented when cuDNN has no code for the
  // request; otherwise kInternal. `what` says what was tried.
  absl::Status Check(cudnnStatus_t status, const char* what) const;
};

// The library, loaded on first use; kNotFound when it is not installed.
absl::StatusOr<const Cudnn*> GetCudnn();

// A cuDNN handle for `device` that nobody else uses: a handle holds a stream
// and must not be shared. It comes from a pool, to which the destructor returns
// it, because making a handle takes long and each one holds memory on the GPU.
class CudnnHandle {
 public:
  static absl::StatusOr<CudnnHandle> Take(const Cudnn& library,
                                          const Device& device);
  CudnnHandle(CudnnHandle&& other) noexcept
      : device_(other.device_),
        handle_(std::exchange(other.handle_, nullptr)) {}
  CudnnHandle& operator=(CudnnHandle&&) = delete;
  ~CudnnHandle();
  cudnnHandle_t get() const { return handle_; }

 private:
  CudnnHandle(const Device& device, cudnnHandle_t handle)
      : device_(&device), handle_(handle) {}

  const Device* device_;
  cudnnHandle_t handle_;
};

class CudnnDescriptor {
 public:
  CudnnDescriptor() = default;
  CudnnDescriptor(CudnnDescriptor&& other) noexcept {
    *this = std::move(other);
  }
  CudnnDescriptor& operator=(CudnnDescriptor&& other) noexcept {
    std::swap(library_, other.library_);
    std::swap(descriptor_, other.descriptor_);
    return *this;
  }
  ~CudnnDescriptor() {
    if (descriptor_) library_->cudnnBackendDestroyDescriptor(descriptor_);
  }
  static absl::StatusOr<CudnnDescriptor> Create(
      const Cudnn& library, cudnnBackendDescriptorType_t type);

  absl::Status Set(cudnnBackendAttributeName_t name,
                   cudnnBackendAttributeType_t type, int64_t count,
                   const void* values);
  absl::Status Set(cudnnBackendAttributeName_t name,
                   const std::vector<int64_t>& values) {
    return Set(name, CUDNN_TYPE_INT64, values.size(), values.data());
  }
  absl::Status Set(cudnnBackendAttributeName_t name, int64_t value) {
    return Set(name, CUDNN_TYPE_INT64, 1, &value);
  }
  absl::Status Set(cudnnBackendAttributeName_t name, double value) {
    return Set(name, CUDNN_TYPE_DOUBLE, 1, &value);
  }
  absl::Status Set(cudnnBackendAttributeName_t name, bool value) {
    return Set(name, CUDNN_TYPE_BOOLEAN, 1, &value);
  }
  absl::Status Set(cudnnBackendAttributeName_t name, cudnnDataType_t value) {
    return Set(name, CUDNN_TYPE_DATA_TYPE, 1, &value);
  }
  absl::Status Set(cudnnBackendAttributeName_t name,
                   const CudnnDescriptor& value) {
    return Set(name, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &value.descriptor_);
  }
  absl::Status Finalize();
  cudnnBackendDescriptor_t get() const { return descriptor_; }

 private:
  const Cudnn* library_ = nullptr;
  cudnnBackendDescriptor_t descriptor_ = nullptr;
};

}  // namespace aitune::cuda

#endif  // AITUNE_RUNTIME_CUDA_CUDNN_API_H_
