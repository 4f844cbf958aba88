#include "frontend/torchscript/any_node.h"

#include <algorithm>

namespace aitune::frontend {

bool AnyNode(torch::jit::Block* block,
             absl::FunctionRef<bool(torch::jit::Node*)> is) {
  auto nodes = block->nodes();
  return std::any_of(nodes.begin(), nodes.end(), [is](torch::jit::Node* node) {
    return is(node) || std::any_of(node->blocks().begin(), node->blocks().end(),
                                   [is](torch::jit::Block* inner) {
                                     return AnyNode(inner, is);
                                   });
  });
}

}  // namespace aitune::frontend
