#include "runtime/cpu/onednn_internal.h"

#include <algorithm>

#include "runtime/plan/plan.h"
#include "runtime/status/status_macros.h"

namespace aitune::onednn {
namespace {

using dnnl::algorithm;
using dnnl::memory;

struct Eltwise {
  algorithm kind;
  float alpha, beta;
};

// The post-op as oneDNN's elementwise operation; nothing if it is none.
std::optional<Eltwise> ToEltwise(const PostOp& op) {
  switch (op.kind()) {
    case PostOp::RELU:
      return Eltwise{algorithm::eltwise_relu, 0, 0};
    case PostOp::LEAKY_RELU:
      return Eltwise{algorithm::eltwise_relu, op.alpha(), 0};
    case PostOp::GELU_ERF:
      return Eltwise{algorithm::eltwise_gelu_erf, 0, 0};
    case PostOp::GELU_TANH:
      return Eltwise{algorithm::eltwise_gelu_tanh, 0, 0};
    case PostOp::SILU:
      return Eltwise{algorithm::eltwise_swish, 1, 0};
    case PostOp::SIGMOID:
      return Eltwise{algorithm::eltwise_logistic, 0, 0};
    case PostOp::TANH:
      return Eltwise{algorithm::eltwise_tanh, 0, 0};
    case PostOp::HARDSWISH:
      return Eltwise{algorithm::eltwise_hardswish, 1.f / 6, 0.5f};
    case PostOp::HARDSIGMOID:
      return Eltwise{algorithm::eltwise_hardsigmoid, 1.f / 6, 0.5f};
    case PostOp::CLAMP:
      return Eltwise{algorithm::eltwise_clip, op.alpha(), op.beta()};
    case PostOp::ELU:
      return Eltwise{algorithm::eltwise_elu, op.alpha(), 0};
    case PostOp::SCALE:
      return Eltwise{algorithm::eltwise_linear, op.alpha(), 0};
    default:
      return std::nullopt;
  }
}

}  // namespace

const dnnl::engine& Engine() {
  // Never destroyed: calls may outlive main's static objects.
  static const auto* const engine =
      new dnnl::engine(dnnl::engine::kind::cpu, 0);
  return *engine;
}

absl::StatusOr<memory::data_type> ToOneDnn(DataType dtype,
                                           const std::string& what) {
  switch (dtype) {
    case DataType::kFloat32:
      return memory::data_type::f32;
    case DataType::kBFloat16:
      return memory::data_type::bf16;
    case DataType::kFloat16:
      return memory::data_type::f16;
    default:
      return absl::UnimplementedError(
          absl::StrCat("oneDNN: ", what, " is ", std::string(Name(dtype)),
                       "; float32, bfloat16 and float16 are supported"));
  }
}

Dims DenseStrides(const Dims& dims) {
  Dims strides(dims.size());
  int64_t stride = 1;
  for (size_t i = dims.size(); i-- > 0;) {
    strides[i] = stride;
    stride *= std::max<int64_t>(dims[i], 1);
  }
  return strides;
}

absl::StatusOr<PostOpPlan> PlanPostOps(absl::Span<const PostOp* const> post_ops,
                                       absl::Span<const LibraryOperand> inputs,
                                       const TensorView& output, int in_place,
                                       OperandDescription describe) {
  PostOpPlan plan;
  dnnl::post_ops chain;
  bool summed = false;
  for (size_t i = 0; i < post_ops.size(); ++i) {
    const PostOp& op = *post_ops[i];
    if (std::optional<Eltwise> eltwise = ToEltwise(op)) {
      chain.append_eltwise(eltwise->kind, eltwise->alpha, eltwise->beta);
      continue;
    }
    if (op.operand() < 2 || op.operand() >= static_cast<int>(inputs.size())) {
      return absl::InvalidArgumentError(
          absl::StrCat("oneDNN: post-op ", PostOp::Kind_Name(op.kind()),
                       " reads operand ", op.operand(), " of ", inputs.size()));
    }
    const LibraryOperand& operand = inputs[op.operand()];
    if (op.kind() == PostOp::ADD && op.operand() == in_place) {
      if (summed || operand.view.sizes != output.sizes ||
          operand.view.dtype != output.dtype) {
        return absl::InvalidArgumentError(
            "oneDNN: an operand added in place has another type than the "
            "output");
      }
      summed = true;
      chain.append_sum(1.f);
      continue;
    }
    const bool is_bias = op.kind() == PostOp::BIAS;
    if (is_bias && i == 0) {
      plan.bias = op.operand();
      continue;
    }
    AITUNE_ASSIGN_OR_RETURN(const memory::desc desc,
                            describe(operand, is_bias));
    plan.arguments.push_back(
        {DNNL_ARG_ATTR_MULTIPLE_POST_OP(chain.len()) | DNNL_ARG_SRC_1, desc,
         op.operand()});
    chain.append_binary(op.kind() == PostOp::MULTIPLY ? algorithm::binary_mul
                                                      : algorithm::binary_add,
                        desc);
  }
  if (in_place >= 0 && !summed) {
    return absl::InvalidArgumentError(absl::StrCat(
        "oneDNN: no ADD reads input ", in_place, ", which is in place"));
  }
  plan.attributes.set_post_ops(chain);
  plan.attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  return plan;
}

absl::Status CheckImplementation(const std::string& implementation) {
  if (implementation.find("ref") == std::string::npos) return absl::OkStatus();
  return absl::UnimplementedError(
      absl::StrCat("oneDNN has only its reference code (", implementation,
                   ") for this call on this machine"));
}

std::unique_ptr<LibraryCall> EmptyCall() {
  auto call = std::make_unique<LibraryCall::Impl>();
  call->implementation = "none";
  return std::make_unique<LibraryCall>(std::move(call));
}

absl::StatusOr<std::shared_ptr<const AlignedBuffer>> ReorderedWeights(
    const LibraryOperand& operand, const memory::desc& source,
    const memory::desc& desc, WeightCache& cache) {
  WeightCache::Impl& impl = cache.impl();
  // Held while reordering: two calls must not reorder the same constant.
  std::lock_guard<std::mutex> lock(impl.mutex);
  std::vector<WeightCache::Impl::Entry>& entries = impl.entries;
  entries.erase(
      std::remove_if(entries.begin(), entries.end(),
                     [](const auto& entry) { return entry.data.expired(); }),
      entries.end());
  for (const auto& entry : entries) {
    if (entry.constant == operand.constant && entry.desc == desc &&
        entry.source == source) {
      if (auto data = entry.data.lock()) return data;
    }
  }
  AITUNE_ASSIGN_OR_RETURN(
      AlignedBuffer buffer,
      AlignedBuffer::Allocate(static_cast<int64_t>(desc.get_size())));
  auto data = std::make_shared<const AlignedBuffer>(std::move(buffer));
  memory from(source, Engine(), operand.view.data);
  memory to(desc, Engine(), data->data());
  dnnl::stream stream(Engine());
  dnnl::reorder(from, to).execute(stream, from, to);
  stream.wait();
  entries.push_back({operand.constant, source, desc, data});
  return data;
}

}  // namespace aitune::onednn
