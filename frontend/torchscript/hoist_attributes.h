// Control flow that reads attributes of modules. Internal: includes LibTorch.
//
// A branch or loop that depends on data runs as a whole (a region), and what it
// gives may be one of the tensors that went in, which a later write then writes
// too. A tensor that it reads from an attribute by itself would not be among
// these.
#ifndef AITUNE_FRONTEND_TORCHSCRIPT_HOIST_ATTRIBUTES_H_
#define AITUNE_FRONTEND_TORCHSCRIPT_HOIST_ATTRIBUTES_H_

#include <torch/csrc/jit/ir/ir.h>

namespace aitune::frontend {

// Moves reads of attributes, and tensors that are constants, from the blocks of
// branches and loops to before these, as far as nothing on the way sets an
// attribute of that name.
void HoistAttributes(torch::jit::Graph& graph);

}  // namespace aitune::frontend

#endif  // AITUNE_FRONTEND_TORCHSCRIPT_HOIST_ATTRIBUTES_H_
