// Call stacks of inlined nodes, from which LibTorch tells where a program
// raised. They name functions of the module that was inlined, by address, and
// freezing a module destroys some of these: the interpreter then reads freed
// memory where it should report an error. Internal: includes LibTorch.
#ifndef AITUNE_FRONTEND_TORCHSCRIPT_CALL_STACKS_H_
#define AITUNE_FRONTEND_TORCHSCRIPT_CALL_STACKS_H_

#include <torch/csrc/jit/ir/ir.h>

namespace aitune::frontend {

// Replaces the call stacks of all nodes of `graph`, which is inlined, by call
// stacks with the same places and submodules, whose functions live as long as
// the process.
void AnchorCallStacks(torch::jit::Graph& graph);

}  // namespace aitune::frontend

#endif  // AITUNE_FRONTEND_TORCHSCRIPT_CALL_STACKS_H_
