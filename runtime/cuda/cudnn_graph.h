// A convolution with its post-ops as one operation graph of cuDNN, and the
// execution plans of the algorithms that cuDNN lists for it. Internal to this
// folder.
#ifndef AITUNE_RUNTIME_CUDA_CUDNN_GRAPH_H_
#define AITUNE_RUNTIME_CUDA_CUDNN_GRAPH_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "runtime/cuda/cudnn_api.h"
#include "runtime/cuda/library_call.h"
#include "runtime/plan/plan.pb.h"

namespace aitune::cuda {

// Tensors are channels-last; values between operations are virtual and
// float32. Tensor 1 is the step's first input, and so on; the output's number
// follows those of the inputs. Not thread-safe.
class ConvolutionGraph {
 public:
  explicit ConvolutionGraph(const Cudnn& library) : library_(library) {}

  // Describes the call. kUnimplemented if cuDNN cannot run it, with the reason.
  // To be called once, before the others.
  absl::Status Build(const ConvolutionCall& call,
                     absl::Span<const Operand> inputs, const Operand& output);

  // The plan, for the GPU of `handle`, of the algorithm at the position
  // `algorithm` of cuDNN's list, of which those are left out that round float32
  // where the call forbids it. (cuDNN can also make plans for a GPU that it is
  // only told the properties of, but not of the algorithm for fused operations
  // on Hopper, which is the fastest.)
  // kNotFound if the list is shorter. Takes up to some hundred milliseconds
  // where cuDNN compiles; then one thread of a process at a time does.
  absl::StatusOr<CudnnDescriptor> MakePlan(int algorithm, cudnnHandle_t handle);

 private:
  // id 0: a virtual tensor; otherwise one more than the buffer's position.
  absl::StatusOr<const CudnnDescriptor*> AddTensor(
      int64_t id, cudnnDataType_t type, const std::vector<int64_t>& sizes,
      const std::vector<int64_t>& strides);
  absl::Status AddConvolution(const ConvolutionCall& call,
                              const CudnnDescriptor& input,
                              const CudnnDescriptor& filter,
                              const CudnnDescriptor& output);
  absl::Status AddPointwise(const PostOp& op, const CudnnDescriptor& input,
                            const CudnnDescriptor* operand,
                            const CudnnDescriptor& output);
  // Whether it computes products of fp32 on tensor cores, in tf32.
  absl::StatusOr<bool> Rounds(const CudnnDescriptor& configuration) const;
  absl::StatusOr<CudnnDescriptor> TryHeuristics(cudnnBackendHeurMode_t mode,
                                                int algorithm,
                                                cudnnHandle_t handle,
                                                int& position);

  const Cudnn& library_;
  std::vector<std::unique_ptr<CudnnDescriptor>> tensors_, helpers_;
  std::vector<CudnnDescriptor> operations_;
  int64_t virtual_ids_ = 0;
  CudnnDescriptor graph_;
  bool exact_ = false;  // fp32 that may not be rounded
};

}  // namespace aitune::cuda

#endif  // AITUNE_RUNTIME_CUDA_CUDNN_GRAPH_H_
