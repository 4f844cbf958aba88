// Runs matmul steps with cuBLASLt and convolution steps with cuDNN.
//
// A step of a plan says what to compute (MatmulCall, ConvolutionCall);
// PrepareMatmul and PrepareConvolution turn it into a call for one combination
// of sizes. The libraries support other post-ops than oneDNN does: the compiler
// asks RejectMatmulPostOps or RejectConvolutionPostOps before it plans them.
#ifndef AITUNE_RUNTIME_CUDA_LIBRARY_CALL_H_
#define AITUNE_RUNTIME_CUDA_LIBRARY_CALL_H_

#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "runtime/cuda/device.h"
#include "runtime/plan/plan.pb.h"
#include "runtime/tensor/tensor_view.h"

namespace aitune::cuda {

// A call made ready. Immutable; Run is thread-safe.
class LibraryCall {
 public:
  virtual ~LibraryCall() = default;

  // Bytes of device memory that Run needs beside its operands.
  virtual int64_t scratch_bytes() const = 0;

  // Queues the call on `stream`. buffers[i] is the address of the step's i-th
  // input, then of its output. `scratch` has scratch_bytes() bytes, aligned to
  // 256.
  virtual absl::Status Run(void* const* buffers, void* scratch,
                           CUstream stream) const = 0;
};

// The type and layout of an operand.
struct Operand {
  DataType dtype = DataType::kFloat32;
  std::vector<int64_t> sizes;  // elements of each axis
  // Whether a filter [O, I, spatial...] is stored as [O, spatial..., I].
  bool channels_last = false;
};

// The most algorithms of a library's list that are measured. The list is in the
// order of the library's own estimates.
constexpr int kMostAlgorithms = 8;

// Makes a call ready. `algorithm` is the position in the library's list of
// algorithms for these sizes. kNotFound when the library is not installed or
// its list has no such position; kUnimplemented when the library cannot run the
// call, with the reason. Thread-safe.
absl::StatusOr<std::unique_ptr<LibraryCall>> PrepareMatmul(
    const Device& device, const MatmulCall& call,
    absl::Span<const Operand> inputs, const Operand& output, int algorithm);
absl::StatusOr<std::unique_ptr<LibraryCall>> PrepareConvolution(
    const Device& device, const ConvolutionCall& call,
    absl::Span<const Operand> inputs, const Operand& output, int algorithm);

// Loads cuBLASLt and the tables by which it chooses algorithms, so that the
// first matmul does not wait for them. Errors are ignored here; the first
// matmul returns them. Thread-safe.
void LoadMatmulLibrary(const Device& device);

// Why cuBLASLt, or cuDNN, cannot apply these post-ops in one call; empty when
// it can. Thread-safe. (Plans call the libraries "cublaslt" and "cudnn".)
std::string RejectMatmulPostOps(absl::Span<const PostOp* const> post_ops);
std::string RejectConvolutionPostOps(absl::Span<const PostOp* const> post_ops);

}  // namespace aitune::cuda

#endif  // AITUNE_RUNTIME_CUDA_LIBRARY_CALL_H_
