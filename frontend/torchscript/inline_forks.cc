#include "frontend/torchscript/inline_forks.h"

#include <ATen/core/jit_type.h>

#include <memory>
#include <vector>

namespace aitune::frontend {
namespace {

using torch::jit::Block;
using torch::jit::Node;
using torch::jit::Value;

// The type with what a future is of in the place of each future.
c10::TypePtr WithoutFutures(const c10::TypePtr& type) {
  if (const auto future = type->cast<c10::FutureType>())
    return WithoutFutures(future->getElementType());
  switch (type->kind()) {
    case c10::TypeKind::ListType:
    case c10::TypeKind::DictType:
    case c10::TypeKind::TupleType:
    case c10::TypeKind::OptionalType:
      break;
    default:
      return type;
  }
  std::vector<c10::TypePtr> parts;
  bool has_changed = false;
  for (const c10::TypePtr& part : type->containedTypes()) {
    parts.push_back(WithoutFutures(part));
    has_changed = has_changed || parts.back() != part;
  }
  return has_changed ? type->withContained(std::move(parts)) : type;
}

void InlineForksOf(Block* block) {
  for (auto node = block->nodes().begin(); node != block->nodes().end();) {
    Node* const current = *node++;
    if (current->kind() == c10::prim::fork) {
      const torch::jit::WithInsertPoint before(current);
      torch::jit::Graph& graph = *block->owningGraph();
      const std::vector<Value*> results = torch::jit::insertGraph(
          graph, *current->g(c10::attr::Subgraph), current->inputs());
      // Several results are a tuple.
      Value* const result =
          results.size() == 1
              ? results[0]
              : graph.insertNode(graph.createTuple(results))->output();
      current->output()->replaceAllUsesWith(result);
      current->destroy();
      continue;
    }
    for (Block* inner : current->blocks()) InlineForksOf(inner);
  }
}

void RemoveFutures(Block* block) {
  for (Value* input : block->inputs())
    input->setType(WithoutFutures(input->type()));
  for (auto node = block->nodes().begin(); node != block->nodes().end();) {
    Node* const current = *node++;
    for (Block* inner : current->blocks()) RemoveFutures(inner);
    if (current->kind() == c10::aten::wait) {
      current->output()->replaceAllUsesWith(current->input());
      current->destroy();
      continue;
    }
    for (Value* output : current->outputs())
      output->setType(WithoutFutures(output->type()));
  }
}

bool HasForks(const Block& block) {
  for (const Node* node : block.nodes()) {
    if (node->kind() == c10::prim::fork) return true;
    for (const Block* inner : node->blocks()) {
      if (HasForks(*inner)) return true;
    }
  }
  return false;
}

}  // namespace

void InlineForks(torch::jit::Graph& graph) {
  while (HasForks(*graph.block())) InlineForksOf(graph.block());
  RemoveFutures(graph.block());
}

}  // namespace aitune::frontend
