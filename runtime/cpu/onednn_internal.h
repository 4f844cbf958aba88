// Types and functions that the oneDNN matmul and convolution files share.
// Private to onednn_library.
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
  int argument = 0;  // oneDNN's number of the argument, DNNL_ARG_...
  dnnl::memory::desc desc;
  int buffer = -1;        // index of the step's input; of its output: the next
  void* fixed = nullptr;  // the address when `buffer` is -1
};

struct LibraryCall::Impl {
  dnnl::primitive primitive;  // empty if the output has no elements
  std::vector<LibraryArgument> arguments;
  std::shared_ptr<const AlignedBuffer> weights;  // keeps `fixed` alive
  dnnl::memory::desc scratch;                    // the scratch memory
  std::string implementation;  // see LibraryCall::implementation
  // What runs in its place where input 0, of bfloat16, holds NaN or infinities,
  // which the primitive would spread; null: the primitive always runs.
  std::unique_ptr<LibraryCall> exact;
  int64_t source_elements = 0;  // the number of elements of input 0
};

struct LibraryCall::Binding::Impl {
  dnnl::stream stream;
  std::vector<dnnl::memory>
      memories;  // one for each argument, then the scratch
  std::vector<dnnl_exec_arg_t> arguments;
  std::vector<void*> handles;      // addresses that are now set in `memories`
  std::unique_ptr<Binding> exact;  // that of LibraryCall::Impl::exact
};

struct WeightCache::Impl {
  struct Entry {
    int32_t constant;                         // LibraryOperand::constant
    dnnl::memory::desc source, desc;          // layouts in the plan and in data
    std::weak_ptr<const AlignedBuffer> data;  // expired when no call uses it
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

// The descriptor with which a post-op reads an operand. `bias` is true for the
// operand of a BIAS, false for that of other post-ops.
using OperandDescription = absl::FunctionRef<absl::StatusOr<dnnl::memory::desc>(
    const LibraryOperand& operand, bool bias)>;

// The post-ops of a call as oneDNN's attribute. PlanPostOps makes them for the
// output and input `in_place`, which have the same memory (-1: no input has).
struct PostOpPlan {
  dnnl::primitive_attr attributes;
  std::vector<LibraryArgument> arguments;  // the post-ops' operands
  int bias = -1;  // index of the input that the primitive itself adds; -1: none
};
absl::StatusOr<PostOpPlan> PlanPostOps(absl::Span<const PostOp* const> post_ops,
                                       absl::Span<const LibraryOperand> inputs,
                                       const TensorView& output, int in_place,
                                       OperandDescription describe);

// The layouts of a call's operands. `weights_source` is that of input 1 in the
// plan, `weights` the one that the primitive may choose.
struct CallParts {
  dnnl::memory::desc source, weights_source, weights, bias, destination;
  PostOpPlan post_ops;
  // Zeros that are read in place of both operands; null: the operands are.
  std::shared_ptr<const AlignedBuffer> zeros;
};
// Compiles the primitive of `descriptor`, reorders constant weights for it, and
// makes the call. With `weights` null nothing is compiled or reordered: the
// result only shows that the call is possible. `exact`: LibraryCall::Impl's.
template <typename Primitive>
absl::StatusOr<std::unique_ptr<LibraryCall>> FinishCall(
    const typename Primitive::primitive_desc& descriptor, CallParts parts,
    absl::Span<const LibraryOperand> inputs, WeightCache* weights,
    std::unique_ptr<LibraryCall> exact = nullptr);

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
    absl::Span<const LibraryOperand> inputs, WeightCache* weights,
    std::unique_ptr<LibraryCall> exact) {
  auto call = std::make_unique<LibraryCall::Impl>();
  call->implementation = descriptor.impl_info_str();
  absl::Status fast = CheckImplementation(call->implementation);
  if (!fast.ok()) return fast;
  if (weights == nullptr) return std::make_unique<LibraryCall>(std::move(call));

  const int output = static_cast<int>(inputs.size());
  call->arguments = std::move(parts.post_ops.arguments);
  if (parts.zeros != nullptr)
    call->arguments.push_back(
        {DNNL_ARG_SRC, parts.source, -1, parts.zeros->data()});
  else
    call->arguments.push_back({DNNL_ARG_SRC, parts.source, 0});
  call->arguments.push_back({DNNL_ARG_DST, parts.destination, output});
  if (parts.post_ops.bias >= 0) {
    call->arguments.push_back({DNNL_ARG_BIAS, parts.bias, parts.post_ops.bias});
  }
  const dnnl::memory::desc wanted = descriptor.weights_desc();
  if (parts.zeros != nullptr) {
    call->weights = parts.zeros;
    call->arguments.push_back(
        {DNNL_ARG_WEIGHTS, wanted, -1, call->weights->data()});
  } else if (wanted == parts.weights_source) {
    call->arguments.push_back({DNNL_ARG_WEIGHTS, wanted, 1});
  } else {
    absl::StatusOr<std::shared_ptr<const AlignedBuffer>> reordered =
        ReorderedWeights(inputs[1], parts.weights_source, wanted, *weights);
    if (!reordered.ok()) return reordered.status();
    call->weights = *std::move(reordered);
    call->arguments.push_back(
        {DNNL_ARG_WEIGHTS, wanted, -1, call->weights->data()});
  }
  call->exact = std::move(exact);
  call->source_elements = ElementCount(inputs[0].view.sizes);
  call->scratch = descriptor.scratchpad_desc();
  call->primitive = Primitive(descriptor);
  return std::make_unique<LibraryCall>(std::move(call));
}

}  // namespace onednn
}  // namespace aitune

#endif  // AITUNE_RUNTIME_CPU_ONEDNN_INTERNAL_H_
