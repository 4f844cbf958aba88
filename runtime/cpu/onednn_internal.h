// What the oneDNN matmul and convolution files share. Private to
// onednn_library.
#ifndef AITUNE_RUNTIME_CPU_ONEDNN_INTERNAL_H_
#define AITUNE_RUNTIME_CPU_ONEDNN_INTERNAL_H_

#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/strings/str_cat.h"
#include "oneapi/dnnl/dnnl.hpp"
#include "runtime/cpu/aligned_buffer.h"
#include "runtime/cpu/onednn_library.h"

namespace aitune {

// An argument of a primitive: a buffer of the step, or fixed memory.
struct LibraryArgument {
  int argument = 0;  // DNNL_ARG_...
  dnnl::memory::desc desc;
  int buffer = -1;        // the step's input or (after the inputs) output
  void* fixed = nullptr;  // when buffer is -1
};

struct LibraryCall::Impl {
  dnnl::primitive primitive;  // empty: nothing to compute, no elements
  std::vector<LibraryArgument> arguments;
  std::shared_ptr<const AlignedBuffer> weights;  // keeps `fixed` alive
  dnnl::memory::desc scratch;
  std::string implementation;
};

struct LibraryCall::Binding::Impl {
  dnnl::stream stream;
  std::vector<dnnl::memory> memories;  // one an argument, then the scratch
  std::vector<dnnl_exec_arg_t> arguments;
  std::vector<void*> handles;  // now set in the memories
};

struct WeightCache::Impl {
  struct Entry {
    int32_t constant;
    dnnl::memory::desc source, desc;
    std::weak_ptr<const AlignedBuffer> data;
  };
  mutable std::mutex mutex;
  std::vector<Entry> entries;
};

namespace onednn {

using Dims = dnnl::memory::dims;

// The CPU engine of the process.
const dnnl::engine& Engine();

// kUnimplemented for a dtype that is not floating point or is float64; `what`
// names the tensor.
absl::StatusOr<dnnl::memory::data_type> ToOneDnn(DataType dtype,
                                                 const std::string& what);

// Strides of a dense row-major tensor.
Dims DenseStrides(const Dims& dims);

// One number for each input that may be asked for: the descriptor that a
// post-op reads it with. `bias` tells a BIAS from an ADD.
using OperandDescription = absl::FunctionRef<absl::StatusOr<dnnl::memory::desc>(
    const LibraryOperand& operand, bool bias)>;

// The post-ops of a call as oneDNN's attribute.
struct PostOpPlan {
  dnnl::primitive_attr attributes;
  std::vector<LibraryArgument> arguments;
  int bias = -1;  // the input that the primitive itself adds first
};
absl::StatusOr<PostOpPlan> PlanPostOps(absl::Span<const PostOp* const> post_ops,
                                       absl::Span<const LibraryOperand> inputs,
                                       const TensorView& output, int in_place,
                                       OperandDescription describe);

// Makes the primitive of `Descriptor` and the call. `weights_source` is the
// layout of input 1 in the plan. With `weights` null nothing is reordered and
// no primitive is compiled.
struct CallParts {
  dnnl::memory::desc source, weights_source, weights, bias, destination;
  PostOpPlan post_ops;
};
template <typename Primitive>
absl::StatusOr<std::unique_ptr<LibraryCall>> FinishCall(
    const typename Primitive::primitive_desc& descriptor, CallParts parts,
    absl::Span<const LibraryOperand> inputs, WeightCache* weights);

// A call that does nothing: its output has no elements.
std::unique_ptr<LibraryCall> EmptyCall();

// kUnimplemented when the chosen code is oneDNN's slow reference.
absl::Status CheckImplementation(const std::string& implementation);

// The constant in the layout `desc`, from the cache or reordered now.
absl::StatusOr<std::shared_ptr<const AlignedBuffer>> ReorderedWeights(
    const LibraryOperand& operand, const dnnl::memory::desc& source,
    const dnnl::memory::desc& desc, WeightCache& cache);

template <typename Primitive>
absl::StatusOr<std::unique_ptr<LibraryCall>> FinishCall(
    const typename Primitive::primitive_desc& descriptor, CallParts parts,
    absl::Span<const LibraryOperand> inputs, WeightCache* weights) {
  auto call = std::make_unique<LibraryCall::Impl>();
  call->implementation = descriptor.impl_info_str();
  absl::Status fast = CheckImplementation(call->implementation);
  if (!fast.ok()) return fast;
  if (weights == nullptr) return std::make_unique<LibraryCall>(std::move(call));

  const int output = static_cast<int>(inputs.size());
  call->arguments = std::move(parts.post_ops.arguments);
  call->arguments.push_back({DNNL_ARG_SRC, parts.source, 0});
  call->arguments.push_back({DNNL_ARG_DST, parts.destination, output});
  if (parts.post_ops.bias >= 0) {
    call->arguments.push_back({DNNL_ARG_BIAS, parts.bias, parts.post_ops.bias});
  }
  const dnnl::memory::desc wanted = descriptor.weights_desc();
  if (wanted == parts.weights_source) {
    call->arguments.push_back({DNNL_ARG_WEIGHTS, wanted, 1});
  } else {
    absl::StatusOr<std::shared_ptr<const AlignedBuffer>> reordered =
        ReorderedWeights(inputs[1], parts.weights_source, wanted, *weights);
    if (!reordered.ok()) return reordered.status();
    call->weights = *std::move(reordered);
    call->arguments.push_back(
        {DNNL_ARG_WEIGHTS, wanted, -1, call->weights->data()});
  }
  call->scratch = descriptor.scratchpad_desc();
  call->primitive = Primitive(descriptor);
  return std::make_unique<LibraryCall>(std::move(call));
}

}  // namespace onednn
}  // namespace aitune

#endif  // AITUNE_RUNTIME_CPU_ONEDNN_INTERNAL_H_
