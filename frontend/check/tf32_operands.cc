#include "frontend/check/tf32_operands.h"

#include <ATen/Functions.h>
#include <torch/csrc/jit/api/module.h>
#include <torch/csrc/jit/runtime/custom_operator.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "frontend/torchscript/inline_calls.h"
#include "frontend/torchscript/model_internal.h"
#include "frontend/values/torch_util.h"

namespace aitune::frontend {
namespace {

constexpr const char* kRound = "aitune::round_to_tf32";

// To the nearest number of 10 bits behind the point, as cvt.rna.tf32.f32 does
// (PTX ISA): the other 13 of float32 are 0.
at::Tensor RoundedToTf32(const at::Tensor& x) {
  if (!x.defined() || x.scalar_type() != at::kFloat ||
      x.layout() != at::kStrided)
    return x;
  const at::Tensor rounded = x.contiguous()
                                 .view(at::kInt)
                                 .add(int64_t{1} << 12)
                                 .bitwise_and(~int64_t{0x1fff})
                                 .view(at::kFloat);
  return at::where(x.isfinite(), rounded, x);
}

void Register() {
  static const auto* const registered =
      new torch::jit::RegisterOperators({torch::jit::Operator(
          absl::StrCat(kRound, "(Tensor x) -> Tensor"),
          [](torch::jit::Stack& stack) {
            const at::Tensor x = stack.back().toTensor();
            stack.back() = RoundedToTf32(x);
          },
          c10::AliasAnalysisKind::CONSERVATIVE)});
  (void)registered;
}

// The positions of the operands that are multiplied.
std::vector<size_t> Operands(const torch::jit::Node& node, bool convolutions,
                             bool products) {
  const std::string name = node.kind().toQualString();
  if (convolutions) {
    for (const char* const convolution :
         {"aten::conv1d", "aten::conv2d", "aten::conv3d", "aten::convolution",
          "aten::_convolution", "aten::conv_transpose1d",
          "aten::conv_transpose2d", "aten::conv_transpose3d"})
      if (name == convolution) return {0, 1};
  }
  if (products) {
    for (const char* const product :
         {"aten::matmul", "aten::mm", "aten::bmm", "aten::linear", "aten::mv"})
      if (name == product) return {0, 1};
    for (const char* const product : {"aten::addmm", "aten::baddbmm"})
      if (name == product) return {1, 2};
    if (name == "aten::scaled_dot_product_attention") return {0, 1, 2};
  }
  return {};
}

// How many operators have rounded operands now.
int RoundOperands(torch::jit::Block* block, bool convolutions, bool products) {
  int count = 0;
  for (torch::jit::Node* node : block->nodes()) {
    for (torch::jit::Block* inner : node->blocks())
      count += RoundOperands(inner, convolutions, products);
    const std::vector<size_t> operands =
        Operands(*node, convolutions, products);
    count += operands.empty() ? 0 : 1;
    for (const size_t i : operands) {
      torch::jit::Node* const round = node->owningGraph()->create(
          c10::Symbol::fromQualString(kRound), {node->input(i)});
      round->insertBefore(node);
      round->output()->setType(node->input(i)->type());
      node->replaceInput(i, round->output());
    }
  }
  return count;
}

}  // namespace

absl::StatusOr<Model> WithTf32Operands(const Model& model, bool convolutions,
                                       bool products) {
  std::optional<torch::jit::Module> copy;
  int count = 0;
  const absl::Status status =
      CatchExceptions(absl::StatusCode::kInternal, "", [&] {
        Register();
        copy = model.impl().module().clone(/*inplace=*/true);
        torch::jit::Graph& graph = *copy->get_method("forward").graph();
        InlineCallsAndForks(graph);
        count = RoundOperands(graph.block(), convolutions, products);
        return absl::OkStatus();
      });
  if (!status.ok()) return status;
  if (count == 0)
    return absl::NotFoundError("no operator takes operands that may be tf32");
  return Model::FromModule(*std::move(copy));
}

}  // namespace aitune::frontend
