// Operators of our own that look at values while LibTorch interprets a graph,
// and throw. They give nothing, and stay where they are put. Internal: includes
// LibTorch.
#ifndef AITUNE_FRONTEND_TORCHSCRIPT_LOOK_H_
#define AITUNE_FRONTEND_TORCHSCRIPT_LOOK_H_

#include <torch/csrc/jit/ir/ir.h>
#include <torch/csrc/jit/runtime/custom_operator.h>

namespace aitune::frontend {

// The operator `name`, to be registered, that takes `parameters`, such as
// "(int x, int y)", and runs `look`, which pops them.
torch::jit::Operator LookOperator(const char* name, const char* parameters,
                                  void (*look)(torch::jit::Stack& stack));

// A node of it, not in the graph yet, which owns it.
torch::jit::Node* MakeLook(torch::jit::Graph& graph, const char* name,
                           at::ArrayRef<torch::jit::Value*> inputs);

}  // namespace aitune::frontend

#endif  // AITUNE_FRONTEND_TORCHSCRIPT_LOOK_H_
