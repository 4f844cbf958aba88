// A search of a graph with what is inside of its control flow. Internal:
// includes LibTorch.
#ifndef AITUNE_FRONTEND_TORCHSCRIPT_ANY_NODE_H_
#define AITUNE_FRONTEND_TORCHSCRIPT_ANY_NODE_H_

#include <torch/csrc/jit/ir/ir.h>

#include "absl/functional/function_ref.h"

namespace aitune::frontend {

// Whether `is` one of the nodes in `block`, at any depth. Thread-safe.
bool AnyNode(torch::jit::Block* block,
             absl::FunctionRef<bool(torch::jit::Node*)> is);

}  // namespace aitune::frontend

#endif  // AITUNE_FRONTEND_TORCHSCRIPT_ANY_NODE_H_
