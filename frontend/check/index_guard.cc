#include "frontend/check/index_guard.h"

#include <ATen/ATen.h>
#include <torch/csrc/jit/ir/constants.h>
#include <torch/csrc/jit/ir/ir.h>
#include <torch/csrc/jit/passes/inliner.h>
#include <torch/csrc/jit/runtime/graph_iterator.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <set>
#include <vector>

#include "frontend/torchscript/model_internal.h"
#include "frontend/values/missing_kernel.h"
#include "frontend/values/pytree.h"

namespace aitune::frontend {
namespace {

bool IsIndexed(const std::string& name) {
  static const auto* const names =
      new std::set<std::string>{"aten::embedding",
                                "aten::gather",
                                "aten::index",
                                "aten::index_add",
                                "aten::index_add_",
                                "aten::index_copy",
                                "aten::index_copy_",
                                "aten::index_fill",
                                "aten::index_fill_",
                                "aten::index_put",
                                "aten::index_put_",
                                "aten::index_reduce",
                                "aten::index_reduce_",
                                "aten::index_select",
                                "aten::nll_loss",
                                "aten::nll_loss_nd",
                                "aten::one_hot",
                                "aten::put",
                                "aten::put_",
                                "aten::scatter",
                                "aten::scatter_",
                                "aten::scatter_add",
                                "aten::scatter_add_",
                                "aten::scatter_reduce",
                                "aten::scatter_reduce_",
                                "aten::take",
                                "aten::take_along_dim"};
  return names->count(name) > 0;
}

// x.long() and the like.
bool MakesIntegers(const torch::jit::Node& node) {
  if (node.kind() != c10::aten::to) return false;
  return std::any_of(
      node.inputs().begin(), node.inputs().end(),
      [](const torch::jit::Value* input) {
        const std::optional<c10::IValue> value = torch::jit::toIValue(input);
        return value && value->isInt() &&
               (value->toInt() == static_cast<int64_t>(at::kLong) ||
                value->toInt() == static_cast<int64_t>(at::kInt));
      });
}

// Whether the node may give integers that are no indices of what they were made
// of: casts, counts, places between sorted numbers. Those of sorting, of the
// greatest and of what is not zero are.
bool MakesAnyIntegers(const torch::jit::Node& node) {
  static const auto* const names = new std::set<std::string>{
      "aten::sum", "aten::cumsum", "aten::count_nonzero", "aten::searchsorted",
      "aten::bucketize"};
  return MakesIntegers(node) || names->count(node.kind().toQualString()) > 0;
}

using Visited = std::set<const torch::jit::Value*>;

// Whether `value` depends on the elements of one of the program's inputs, or on
// a branch or loop.
bool DependsOnInput(const torch::jit::Value* value, Visited& visited) {
  if (!visited.insert(value).second) return false;
  const torch::jit::Node* const node = value->node();
  if (node->kind() == c10::prim::Param)
    return value->type()->kind() != c10::TypeKind::ClassType;
  if (node->kind() == c10::aten::size || node->kind() == c10::prim::GetAttr)
    return false;
  return !node->blocks().empty() ||
         std::any_of(node->inputs().begin(), node->inputs().end(),
                     [&](const torch::jit::Value* input) {
                       return DependsOnInput(input, visited);
                     });
}

// Whether an index is computed by MakesAnyIntegers from an input. What a branch
// or loop gives counts as such.
bool IsMadeOfNumbers(const torch::jit::Value* index, Visited& visited) {
  if (!visited.insert(index).second) return false;
  const torch::jit::Node* const node = index->node();
  if (MakesAnyIntegers(*node)) {
    Visited inputs;
    return DependsOnInput(index, inputs);
  }
  if (node->kind() == c10::prim::Param)
    return node->owningBlock()->owningNode() != nullptr;
  return !node->blocks().empty() ||
         std::any_of(node->inputs().begin(), node->inputs().end(),
                     [&](const torch::jit::Value* input) {
                       return IsMadeOfNumbers(input, visited);
                     });
}

// Whether an operator reads or writes by such an index.
bool HasMadeIndex(const torch::jit::Node& node) {
  const c10::FunctionSchema* const schema = node.maybeSchema();
  if (schema == nullptr) return false;
  const bool is_class =
      node.kind() == c10::Symbol::fromQualString("aten::one_hot");
  for (size_t i = 0; i < node.inputs().size() && i < schema->arguments().size();
       ++i) {
    const std::string& name = schema->arguments()[i].name();
    Visited visited;
    if ((name == "index" || name == "indices" || name == "target" ||
         (is_class && i == 0)) &&
        IsMadeOfNumbers(node.input(i), visited))
      return true;
  }
  return false;
}

bool HasIntegers(const ValueList& arguments) {
  return std::any_of(
      arguments.values().begin(), arguments.values().end(),
      [](const c10::IValue& value) {
        const std::vector<at::Tensor> tensors = TensorLeaves(value);
        return std::any_of(tensors.begin(), tensors.end(),
                           [](const at::Tensor& tensor) {
                             return tensor.defined() &&
                                    at::isIntegralType(tensor.scalar_type(),
                                                       /*includeBool=*/false);
                           });
      });
}

}  // namespace

IndexGuard::IndexGuard(const Model& model) : model_(model), state_(model) {
  auto graph = model.impl().module.get_method("forward").graph()->copy();
  torch::jit::Inline(*graph);
  torch::jit::DepthFirstGraphNodeIterator nodes(graph);
  while (const torch::jit::Node* node = nodes.next()) {
    const std::string name = node->kind().toQualString();
    has_offsets_ = has_offsets_ || name == "aten::embedding_bag";
    if (!IsIndexed(name)) continue;
    has_indices_ = true;
    makes_indices_ = makes_indices_ || HasMadeIndex(*node);
  }
}

void IndexGuard::Trust(const ValueList& arguments) {
  trusted_ = arguments.Describe();
}

absl::Status IndexGuard::Try(const ValueList& arguments) {
  const bool may_fail =
      makes_indices_ ||
      (HasIntegers(arguments) &&
       (has_offsets_ || (has_indices_ && arguments.Describe() != trusted_)));
  if (!may_fail) return absl::OkStatus();
  const ScopedModelState restore(state_);
  const absl::Status status = model_.RunEager(arguments).status();
  return IsMissingKernel(status.message()) ? absl::OkStatus() : status;
}

}  // namespace aitune::frontend
