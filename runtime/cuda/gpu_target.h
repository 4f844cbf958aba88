// The GPU and its libraries, as text: part of the cache key of what was
// compiled and measured for it, and of what is stored.
#ifndef AITUNE_RUNTIME_CUDA_GPU_TARGET_H_
#define AITUNE_RUNTIME_CUDA_GPU_TARGET_H_

#include <string>

#include "absl/status/statusor.h"

namespace aitune::cuda {

// What a plan for a GPU depends on: that its machine code runs, and that the
// measurements behind it and the libraries' numbers of algorithms hold.
struct GpuIdentity {
  std::string name;  // "NVIDIA H200"
  int arch = 0;      // 90 for compute capability 9.0
  int multiprocessors = 0;
  int driver = 0;      // 13000 for CUDA 13.0
  std::string module;  // the kernel's part of the driver: "580.159.03"
  size_t cublaslt = 0, cudnn = 0;  // versions; 0 where the library is missing
};

// "NVIDIA H200 sm_90, 132 multiprocessors; driver 580.159.03 for CUDA 13.0;
// cuBLASLt 130000, cuDNN 91300".
std::string ToString(const GpuIdentity& identity);

// That of GPU `ordinal`. Errors as Device::Open. Thread-safe.
absl::StatusOr<std::string> DescribeGpu(int ordinal);

}  // namespace aitune::cuda

#endif  // AITUNE_RUNTIME_CUDA_GPU_TARGET_H_
