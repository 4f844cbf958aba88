#include "frontend/torchscript/hoist_attributes.h"

#include <string>
#include <vector>

namespace aitune::frontend {
namespace {

using torch::jit::Block;
using torch::jit::Node;

bool SetsAttribute(const Block& block, const std::string& name) {
  for (const Node* node : block.nodes()) {
    if (node->kind() == c10::prim::SetAttr && node->s(c10::attr::name) == name)
      return true;
    for (const Block* inner : node->blocks()) {
      if (SetsAttribute(*inner, name)) return true;
    }
  }
  return false;
}

bool SetsAttribute(const Node& node, const std::string& name) {
  for (const Block* block : node.blocks()) {
    if (SetsAttribute(*block, name)) return true;
  }
  return false;
}

// Whether `node`, in a block of `around`, may be moved to before that.
bool CanMove(const Node& node, const Node& around) {
  if (node.kind() == c10::prim::Constant)
    return node.output()->type()->kind() == c10::TypeKind::TensorType;
  // An object that the block computes is read there.
  return node.kind() == c10::prim::GetAttr &&
         node.input()->node()->owningBlock() != node.owningBlock() &&
         !SetsAttribute(around, node.s(c10::attr::name));
}

void Hoist(Block& block) {
  for (Node* node : block.nodes()) {
    for (Block* inner : node->blocks()) {
      Hoist(*inner);
      const std::vector<Node*> nodes(inner->nodes().begin(),
                                     inner->nodes().end());
      for (Node* read : nodes) {
        if (CanMove(*read, *node)) read->moveBefore(node);
      }
    }
  }
}

}  // namespace

void HoistAttributes(torch::jit::Graph& graph) { Hoist(*graph.block()); }

}  // namespace aitune::frontend
