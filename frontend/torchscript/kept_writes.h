// Writes that LibTorch's own optimisation loses. Internal: includes LibTorch.
//
// Its elimination of dead code goes through a program from the end. Where it
// meets a branch that writes to a tensor, it looks whether that tensor is read
// later, but not whether it is in a list, dict or tuple that is: the tensor is
// found to be read only where the list is made, which lies before. So it drops
// `if c: a[0].mul_(2)` of a list that is returned.
#ifndef AITUNE_FRONTEND_TORCHSCRIPT_KEPT_WRITES_H_
#define AITUNE_FRONTEND_TORCHSCRIPT_KEPT_WRITES_H_

#include <torch/csrc/jit/api/module.h>
#include <torch/csrc/jit/ir/ir.h>

namespace aitune::frontend {

// The branches and loops in forward, at any depth, that depend on an input and
// write to a tensor. May throw LibTorch's exceptions.
int CountDependentWrites(const torch::jit::Module& module);

// A copy of `module`, which shares its tensors, with forward inlined and marked
// so that these branches and loops stay.
torch::jit::Module WithMarkedWrites(const torch::jit::Module& module);

// Takes the marks out of a program that was made from such a module.
void RemoveMarksOfWrites(torch::jit::Graph& graph);

}  // namespace aitune::frontend

#endif  // AITUNE_FRONTEND_TORCHSCRIPT_KEPT_WRITES_H_
