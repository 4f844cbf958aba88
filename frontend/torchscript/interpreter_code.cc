#include "frontend/torchscript/interpreter_code.h"

#include <vector>

namespace aitune::frontend {
namespace {

void FindLoops(torch::jit::Block* block,
               std::vector<torch::jit::Node*>& loops) {
  for (torch::jit::Node* node : block->nodes()) {
    if (node->kind() == torch::jit::prim::Loop) loops.push_back(node);
    for (torch::jit::Block* inner : node->blocks()) FindLoops(inner, loops);
  }
}

}  // namespace

std::unique_ptr<torch::jit::Code> MakeCode(torch::jit::Graph& graph,
                                           const std::string& name) {
  const std::shared_ptr<torch::jit::Graph> copy = graph.copy();
  std::vector<torch::jit::Node*> loops;
  FindLoops(copy->block(), loops);
  // With anything between them, an operator is not run within the next one.
  // Dropping nothing is no instruction.
  for (torch::jit::Node* loop : loops)
    copy->create(torch::jit::prim::Drop, /*num_outputs=*/0)->insertAfter(loop);
  return std::make_unique<torch::jit::Code>(copy, name);
}

}  // namespace aitune::frontend
