#include "runtime/cuda/cudnn_api.h"

#include <map>
#include <mutex>

#include "absl/strings/str_cat.h"
#include "runtime/status/status_macros.h"

namespace aitune::cuda {

absl::Status Cudnn::Check(cudnnStatus_t status, const char* what) const {
  if (status == CUDNN_STATUS_SUCCESS) return absl::OkStatus();
  char detail[256] = {};
  cudnnGetLastErrorString(detail, sizeof(detail));
  const std::string text =
      absl::StrCat("cuDNN: ", what, ": ", cudnnGetErrorString(status),
                   detail[0] ? " " : "", detail);
  // Each group of a thousand is one kind of error.
  const int kind = static_cast<int>(status) / 1000;
  if (kind == CUDNN_STATUS_NOT_SUPPORTED / 1000 ||
      kind == CUDNN_STATUS_BAD_PARAM / 1000) {
    return absl::UnimplementedError(text);
  }
  return absl::InternalError(text);
}

absl::StatusOr<const Cudnn*> GetCudnn() {
  static const auto* library = [] {
    auto load = []() -> absl::StatusOr<Cudnn> {
      AITUNE_ASSIGN_OR_RETURN(
          const SymbolLookup lookup,
          OpenLibrary({"libcudnn.so.9"},
                      "It comes with LibTorch for CUDA 13 (nvidia-cudnn): add "
                      "its folder to LD_LIBRARY_PATH."));
      Cudnn cudnn;
      const char* missing = nullptr;
#define AITUNE_FIND(name)                                             \
  cudnn.name = reinterpret_cast<decltype(cudnn.name)>(lookup(#name)); \
  if (cudnn.name == nullptr) missing = #name;
      AITUNE_CUDNN_FUNCTIONS(AITUNE_FIND)
#undef AITUNE_FIND
      if (missing == nullptr) return cudnn;
      return absl::FailedPreconditionError(
          absl::StrCat("libcudnn.so.9 has no ", missing));
    };
    return new absl::StatusOr<Cudnn>(load());
  }();
  if (!library->ok()) return library->status();
  return &**library;
}

namespace {

// Never destroyed: what runs last may do so after the driver has shut down.
struct HandlePool {
  std::mutex mutex;
  std::map<const Device*, std::vector<cudnnHandle_t>> free;
};

HandlePool& Handles() {
  static auto* const pool = new HandlePool;
  return *pool;
}

}  // namespace

absl::StatusOr<CudnnHandle> CudnnHandle::Take(const Cudnn& library,
                                              const Device& device) {
  AITUNE_ASSIGN_OR_RETURN(const ContextScope scope,
                          ContextScope::Enter(device));
  {
    std::lock_guard<std::mutex> lock(Handles().mutex);
    std::vector<cudnnHandle_t>& free = Handles().free[&device];
    if (!free.empty()) {
      const cudnnHandle_t handle = free.back();
      free.pop_back();
      return CudnnHandle(device, handle);
    }
  }
  cudnnHandle_t handle = nullptr;
  AITUNE_RETURN_IF_ERROR(
      library.Check(library.cudnnCreate(&handle), "starting"));
  return CudnnHandle(device, handle);
}

CudnnHandle::~CudnnHandle() {
  if (handle_ == nullptr) return;
  std::lock_guard<std::mutex> lock(Handles().mutex);
  Handles().free[device_].push_back(handle_);
}

absl::StatusOr<CudnnDescriptor> CudnnDescriptor::Create(
    const Cudnn& library, cudnnBackendDescriptorType_t type) {
  CudnnDescriptor descriptor;
  AITUNE_RETURN_IF_ERROR(library.Check(
      library.cudnnBackendCreateDescriptor(type, &descriptor.descriptor_),
      "describing a convolution"));
  descriptor.library_ = &library;
  return descriptor;
}

absl::Status CudnnDescriptor::Set(cudnnBackendAttributeName_t name,
                                  cudnnBackendAttributeType_t type,
                                  int64_t count, const void* values) {
  return library_->Check(library_->cudnnBackendSetAttribute(
                             descriptor_, name, type, count, values),
                         "describing a convolution");
}

absl::Status CudnnDescriptor::Finalize() {
  return library_->Check(library_->cudnnBackendFinalize(descriptor_),
                         "describing a convolution");
}

}  // namespace aitune::cuda
