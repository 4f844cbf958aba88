#include "frontend/tracing/simplified_forward.h"

#include <torch/csrc/jit/ir/constants.h>
#include <torch/csrc/jit/passes/constant_propagation.h>

#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace aitune::frontend {
namespace {

using torch::jit::Block;
using torch::jit::Graph;
using torch::jit::Node;
using torch::jit::Value;

// Whether values of this type are the same object or not is not seen, and
// nobody changes them.
bool IsImmutable(const c10::IValue& value) {
  return value.isNone() || value.isInt() || value.isDouble() ||
         value.isBool() || value.isString() || value.isDevice();
}

// Calls `visit` for each attribute that `graph` reads and no call sets, with
// its value.
void VisitFixedAttributes(
    Graph& graph, const torch::jit::Module& module, const StateWrites& writes,
    const std::function<void(Node*, const c10::IValue&)>& visit) {
  std::unordered_map<Value*, c10::IValue> objects = {
      {graph.inputs()[0], module._ivalue()}};
  const std::function<void(Block*)> visit_block = [&](Block* block) {
    for (Node* node : block->nodes()) {
      for (Block* inner : node->blocks()) visit_block(inner);
      if (node->kind() != c10::prim::GetAttr) continue;
      const auto of = objects.find(node->input(0));
      const std::string& name = node->s(c10::attr::name);
      if (of == objects.end() || writes.Sets(name)) continue;
      const c10::IValue value = of->second.toObjectRef().getAttr(name);
      if (value.isObject()) objects[node->output()] = value;
      visit(node, value);
    }
  };
  visit_block(graph.block());
}

// Replaces an if by the branch that a constant decides; false where none does.
bool TakeBranch(Node* node) {
  const auto condition = torch::jit::toIValue(node->input(0));
  if (!condition || !condition->isBool()) return false;
  Block* const taken = node->blocks().at(condition->toBool() ? 0 : 1);
  const std::vector<Node*> nodes(taken->nodes().begin(), taken->nodes().end());
  for (Node* inner : nodes) inner->moveBefore(node);
  for (size_t i = 0; i < node->outputs().size(); ++i)
    node->outputs()[i]->replaceAllUsesWith(taken->outputs()[i]);
  node->destroy();
  return true;
}

// Replaces the outputs of an operator on constants by constants.
void Fold(Node* node) {
  if (node->kind() == c10::prim::Constant || !node->blocks().empty() ||
      node->outputs().empty())
    return;
  for (const Value* output : node->outputs()) {
    switch (output->type()->kind()) {
      case c10::TypeKind::IntType:
      case c10::TypeKind::FloatType:
      case c10::TypeKind::BoolType:
        break;
      default:
        return;
    }
  }
  const std::optional<torch::jit::Stack> results =
      torch::jit::runNodeIfInputsAreConstant(node);
  if (!results) return;
  const torch::jit::WithInsertPoint before(node);
  for (size_t i = 0; i < node->outputs().size(); ++i) {
    if (!IsImmutable((*results)[i])) return;
    node->outputs()[i]->replaceAllUsesWith(
        node->owningGraph()->insertConstant((*results)[i]));
  }
}

void FoldBlock(Block* block) {
  // A branch that takes its if's place is looked at as what follows.
  for (auto it = block->nodes().begin(); it != block->nodes().end();) {
    Node* const node = *it;
    if (node->kind() == c10::prim::If) {
      Node* const before = node->prev();
      if (TakeBranch(node)) {
        it = before->iterator();
        ++it;
        continue;
      }
    }
    for (Block* inner : node->blocks()) FoldBlock(inner);
    Fold(node);
    ++it;
  }
}

}  // namespace

void FoldFixedAttributes(Graph& graph, const torch::jit::Module& module,
                         const StateWrites& writes) {
  VisitFixedAttributes(
      graph, module, writes, [&](Node* node, const c10::IValue& value) {
        if (!IsImmutable(value)) return;
        const torch::jit::WithInsertPoint before(node);
        node->output()->replaceAllUsesWith(graph.insertConstant(value));
      });
  FoldBlock(graph.block());
}

std::unordered_map<Value*, at::Tensor> FixedTensors(
    Graph& graph, const torch::jit::Module& module, const StateWrites& writes) {
  std::unordered_map<Value*, at::Tensor> tensors;
  VisitFixedAttributes(graph, module, writes,
                       [&](Node* node, const c10::IValue& value) {
                         if (value.isTensor() && value.toTensor().defined() &&
                             !writes.IsKnownToHave(value.toTensor()))
                           tensors[node->output()] = value.toTensor();
                       });
  return tensors;
}

}  // namespace aitune::frontend
