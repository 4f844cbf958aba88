#include "frontend/torchscript/kept_writes.h"

#include <algorithm>
#include <functional>
#include <unordered_set>
#include <vector>

#include "frontend/torchscript/inline_calls.h"
#include "frontend/torchscript/submodule_calls.h"
#include "frontend/torchscript/written_arguments.h"

namespace aitune::frontend {
namespace {

using torch::jit::Block;
using torch::jit::Graph;
using torch::jit::Node;
using torch::jit::Value;

bool WritesTensor(const Node& node) {
  const std::vector<size_t> written = WrittenArguments(node);
  return std::any_of(written.begin(), written.end(), [&](size_t i) {
    return node.inputs()[i]->type()->kind() == c10::TypeKind::TensorType;
  });
}

bool HoldsWrite(const Block& block) {
  return std::any_of(
      block.nodes().begin(), block.nodes().end(), [](const Node* node) {
        return WritesTensor(*node) ||
               std::any_of(
                   node->blocks().begin(), node->blocks().end(),
                   [](const Block* inner) { return HoldsWrite(*inner); });
      });
}

// Whether `value` is computed from an input of the graph, beside the model, or
// from what a loop hands on.
bool DependsOnInput(const Value* value,
                    std::unordered_set<const Value*>& seen) {
  if (!seen.insert(value).second) return false;
  const Node* node = value->node();
  if (node->kind() == c10::prim::Param)
    return node->owningBlock()->owningNode() != nullptr || value->offset() > 0;
  return std::any_of(
      node->inputs().begin(), node->inputs().end(),
      [&](const Value* input) { return DependsOnInput(input, seen); });
}

// Calls `visit` with each dependent branch and loop in the block that writes.
void ForEachDependentWrite(Block& block,
                           const std::function<void(Node*)>& visit) {
  for (Node* node : block.nodes()) {
    for (Block* inner : node->blocks()) ForEachDependentWrite(*inner, visit);
    if (node->kind() != c10::prim::If && node->kind() != c10::prim::Loop)
      continue;
    const size_t controls = node->kind() == c10::prim::If ? 1 : 2;
    bool depends = false;
    for (size_t i = 0; i < controls; ++i) {
      std::unordered_set<const Value*> seen;
      depends = depends || DependsOnInput(node->input(i), seen);
    }
    if (depends &&
        std::any_of(node->blocks().begin(), node->blocks().end(),
                    [](const Block* inner) { return HoldsWrite(*inner); }))
      visit(node);
  }
}

// A mark is a print of what was written, which LibTorch keeps.
c10::Symbol MarkAttribute() {
  static const c10::Symbol symbol = c10::Symbol::attr("aitune_kept_write");
  return symbol;
}

void MarkWrites(Block* block) {
  std::vector<Node*> writes;
  for (Node* node : block->nodes()) {
    for (Block* inner : node->blocks()) MarkWrites(inner);
    if (WritesTensor(*node) && node->outputs().size() == 1)
      writes.push_back(node);
  }
  for (Node* node : writes) {
    Node* mark =
        block->owningGraph()->create(c10::prim::Print, {node->output()}, 0);
    mark->i_(MarkAttribute(), 1);
    mark->insertAfter(node);
  }
}

void RemoveMarks(Block* block) {
  for (auto node = block->nodes().begin(); node != block->nodes().end();) {
    Node* one = *node++;
    for (Block* inner : one->blocks()) RemoveMarks(inner);
    if (one->hasAttribute(MarkAttribute())) one->destroy();
  }
}

}  // namespace

int CountDependentWrites(const torch::jit::Module& module) {
  const auto graph = module.get_method("forward").graph()->copy();
  InlineCalls(*graph);
  int count = 0;
  ForEachDependentWrite(*graph->block(), [&](Node*) { ++count; });
  return count;
}

torch::jit::Module WithMarkedWrites(const torch::jit::Module& module) {
  torch::jit::Module marked = module.clone();
  Graph& graph = *marked.get_method("forward").graph();
  InlineSubmodules(graph, nullptr);
  InlineCalls(graph);
  ForEachDependentWrite(*graph.block(), [](Node* node) {
    for (Block* block : node->blocks()) MarkWrites(block);
  });
  return marked;
}

void RemoveMarksOfWrites(Graph& graph) { RemoveMarks(graph.block()); }

}  // namespace aitune::frontend
