// Describes the GPU and its libraries as text. The text is part of the cache
// key of models compiled for the GPU, and stored with them.
#ifndef AITUNE_RUNTIME_CUDA_GPU_TARGET_H_
#define AITUNE_RUNTIME_CUDA_GPU_TARGET_H_

#include <string>

#include "absl/status/statusor.h"

namespace aitune::cuda {

// The facts that a plan for a GPU depends on: whether its machine code runs
// there, and whether its measurements and the positions of algorithms in the
// libraries' lists are still valid.
struct GpuIdentity {
  std::string name;         // such as "NVIDIA H200"
  int arch = 0;             // 90 for compute capability 9.0
  int multiprocessors = 0;  // number of streaming multiprocessors
  int driver = 0;           // newest CUDA of the driver: 13000 for 13.0
  std::string module;       // version of the kernel module: "580.159.03"
  // Versions of the libraries; 0 where the library is missing.
  size_t cublaslt = 0, cudnn = 0;
};

// "NVIDIA H200 sm_90, 132 multiprocessors; driver 580.159.03 for CUDA 13.0;
// cuBLASLt 130000, cuDNN 91300".
std::string ToString(const GpuIdentity& identity);

// The text for GPU `ordinal`. Errors as Device::Open. Thread-safe.
absl::StatusOr<std::string> DescribeGpu(int ordinal);

}  // namespace aitune::cuda

#endif  // AITUNE_RUNTIME_CUDA_GPU_TARGET_H_
