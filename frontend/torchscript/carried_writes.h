// Writes to what a loop has handed on from the iteration before. Internal:
// includes LibTorch.
//
// LibTorch's analysis of aliases (AliasDb) takes what a loop's body gets for
// what the loop was given, never for what the body itself gave in the iteration
// before. So a list that is begun anew (`cur = []`) and appended to in the next
// iteration is never written for it: freezing makes it a constant, which the
// calls then fill, and with tensors it may even write a weight that is equal.
// Nor does our own use of the analysis see such a write to a tensor of the
// caller's.
#ifndef AITUNE_FRONTEND_TORCHSCRIPT_CARRIED_WRITES_H_
#define AITUNE_FRONTEND_TORCHSCRIPT_CARRIED_WRITES_H_

#include <torch/csrc/jit/api/module.h>
#include <torch/csrc/jit/ir/ir.h>

#include <memory>

namespace aitune::frontend {

// Inserts, behind what makes such a value, an operator that does nothing and by
// its schema writes to it; whether there is any. Calls must be inlined. May
// throw LibTorch's exceptions.
bool MarkCarriedWrites(const std::shared_ptr<torch::jit::Graph>& graph);

// `module` itself if MarkCarriedWrites finds nothing in its forward; otherwise
// a copy of it, which shares its tensors, with forward inlined and marked. May
// throw LibTorch's exceptions.
torch::jit::Module WithMarkedCarriedWrites(const torch::jit::Module& module);

// Whether `node` is such an operator.
bool MarksCarriedWrite(const torch::jit::Node& node);

}  // namespace aitune::frontend

#endif  // AITUNE_FRONTEND_TORCHSCRIPT_CARRIED_WRITES_H_
