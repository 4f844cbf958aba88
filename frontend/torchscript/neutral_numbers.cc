#include "frontend/torchscript/neutral_numbers.h"

#include <torch/csrc/jit/ir/constants.h>
#include <torch/csrc/jit/runtime/graph_iterator.h>

#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "frontend/torchscript/copy_modules.h"
#include "frontend/torchscript/inline_calls.h"
#include "frontend/torchscript/submodule_calls.h"

namespace aitune::frontend {
namespace {

using torch::jit::Graph;
using torch::jit::Node;
using torch::jit::Value;

bool IsInteger(const Value& value) {
  return value.type()->kind() == c10::TypeKind::IntType;
}

// Whether `value` may become `number` when attributes are known.
bool MayBe(const Value* value, int64_t number) {
  const std::optional<c10::IValue> known = torch::jit::toIValue(value);
  return !known.has_value() || (known->isInt() && known->toInt() == number);
}

// Whether `node` is a sum or product of a tensor with a number.
bool TakesNumber(const Node& node, size_t inputs) {
  return node.inputs().size() == inputs && node.outputs().size() == 1 &&
         node.input(0)->type()->kind() == c10::TypeKind::TensorType &&
         IsInteger(*node.input(1));
}

bool IsNeutral(const Node& node) {
  if (node.kind() == c10::aten::mul)
    return TakesNumber(node, 2) && MayBe(node.input(1), 1);
  return (node.kind() == c10::aten::add || node.kind() == c10::aten::sub) &&
         TakesNumber(node, 3) && IsInteger(*node.input(2)) &&
         MayBe(node.input(1), 0) && MayBe(node.input(2), 1);
}

c10::Symbol MarkAttribute() {
  static const c10::Symbol symbol =
      c10::Symbol::attr("aitune_hidden_neutral_number");
  return symbol;
}

// Another name of the operator, which LibTorch's optimisation does not know.
c10::Symbol AliasOfProduct() {
  static const c10::Symbol symbol =
      c10::Symbol::fromQualString("aten::multiply");
  return symbol;
}

std::vector<Node*> FindNodes(std::shared_ptr<Graph> graph,
                             const std::function<bool(const Node&)>& is_it) {
  std::vector<Node*> found;
  torch::jit::DepthFirstGraphNodeIterator nodes(graph);
  while (Node* node = nodes.next()) {
    if (is_it(*node)) found.push_back(node);
  }
  return found;
}

void Rename(Node* node, c10::Symbol kind) {
  Node* const renamed = node->owningGraph()->create(kind, node->inputs(), 1);
  renamed->copyMetadata(node);
  renamed->copyAttributes(*node);
  renamed->insertBefore(node);
  renamed->output()->copyMetadata(node->output());
  node->output()->replaceAllUsesWith(renamed->output());
  node->destroy();
}

// Makes the factor of a sum's number the constant 1 of `type`: LibTorch looks
// for integers.
void SetFactor(Node* sum, const c10::TypePtr& type) {
  const torch::jit::WithInsertPoint before(sum);
  Value* const one = sum->owningGraph()->insertConstant(1);
  one->setType(type);
  sum->replaceInput(2, one);
}

}  // namespace

torch::jit::Module WithHiddenNeutralNumbers(const torch::jit::Module& module) {
  const auto inlined = module.get_method("forward").graph()->copy();
  InlineCalls(*inlined);
  if (FindNodes(inlined, IsNeutral).empty()) return module;
  torch::jit::Module copy = CloneProgram(module);
  const std::shared_ptr<Graph> graph = copy.get_method("forward").graph();
  InlineSubmodules(*graph);
  InlineCalls(*graph);
  for (Node* node : FindNodes(graph, IsNeutral)) {
    node->i_(MarkAttribute(), 1);
    if (node->kind() == c10::aten::mul)
      Rename(node, AliasOfProduct());
    else if (torch::jit::toIValue(node->input(2)).has_value())
      SetFactor(node, c10::NumberType::get());
  }
  return copy;
}

void ShowNeutralNumbers(const std::shared_ptr<Graph>& graph) {
  for (Node* node : FindNodes(graph, [](const Node& one) {
         return one.hasAttribute(MarkAttribute());
       })) {
    node->removeAttribute(MarkAttribute());
    if (node->kind() == AliasOfProduct())
      Rename(node, c10::aten::mul);
    else if (torch::jit::toIValue(node->input(2)).has_value())
      SetFactor(node, c10::IntType::get());
  }
}

}  // namespace aitune::frontend
