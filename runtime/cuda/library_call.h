// Matmuls and convolutions that a library of NVIDIA's runs: cuBLASLt and cuDNN.
//
// A step of a plan says what to compute (MatmulCall, ConvolutionCall); Prepare
// turns it into a call for one combination of sizes. What a library computes in
// one call together with the contraction differs from oneDNN: the compiler asks
// RejectPostOps before it gives it post-ops.
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

  // Device memory that Run needs beside its operands, aligned to 256.
  virtual int64_t scratch_bytes() const = 0;

  // Queues the call on `stream`. buffers[i]: the address of the step's i-th
  // input, then of its output.
  virtual absl::Status Run(void* const* buffers, void* scratch,
                           CUstream stream) const = 0;
};

// An operand's type.
struct Operand {
  DataType dtype = DataType::kFloat32;
  std::vector<int64_t> sizes;
  // Of a filter: [O, spatial..., I] in memory instead of [O, I, spatial...].
  bool channels_last = false;
};

// The algorithms of a library's list that are worth measuring.
constexpr int kMostAlgorithms = 8;

// Makes a call ready. `algorithm` is the position in the library's list of
// algorithms for these sizes; one beyond its end is kNotFound for positions
// above 0. `in_place`: the input that an ADD post-op reads has the output's
// memory. kUnimplemented says what the library lacks; kNotFound that the
// library is not installed. Thread-safe.
absl::StatusOr<std::unique_ptr<LibraryCall>> PrepareMatmul(
    const Device& device, const MatmulCall& call,
    absl::Span<const Operand> inputs, const Operand& output, int algorithm);
absl::StatusOr<std::unique_ptr<LibraryCall>> PrepareConvolution(
    const Device& device, const ConvolutionCall& call,
    absl::Span<const Operand> inputs, const Operand& output, int algorithm);

// Loads what the first matmul would wait for: cuBLASLt, and the tables that it
// chooses algorithms by. Errors are left to that matmul. Thread-safe.
void LoadMatmulLibrary(const Device& device);

// Why cuBLASLt, or cuDNN, cannot apply these post-ops in one call; empty when
// it can. The names of both libraries for plans: "cublaslt" and "cudnn".
std::string RejectMatmulPostOps(absl::Span<const PostOp* const> post_ops);
std::string RejectConvolutionPostOps(absl::Span<const PostOp* const> post_ops);

}  // namespace aitune::cuda

#endif  // AITUNE_RUNTIME_CUDA_LIBRARY_CALL_H_
