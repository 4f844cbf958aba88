// The autocast contexts of a program: `with torch.autocast("cpu"):` in a
// scripted model. Nothing happens when a program enters one. LibTorch makes its
// casts a part of the program before the first call, and so must everything
// that runs a program here. Internal: includes LibTorch, which these functions
// throw the errors of.
#ifndef AITUNE_FRONTEND_TORCHSCRIPT_AUTOCAST_CONTEXTS_H_
#define AITUNE_FRONTEND_TORCHSCRIPT_AUTOCAST_CONTEXTS_H_

#include <torch/csrc/jit/api/module.h>
#include <torch/csrc/jit/ir/ir.h>

#include <memory>

namespace aitune::frontend {

// Makes the casts of the contexts in `graph`, as LibTorch does, and removes the
// contexts. Precondition: calls are inlined. A graph without contexts stays as
// it is. Throws for contexts that LibTorch refuses when the model is called,
// such as one that a computed flag enables.
void MakeCastsOfContexts(const std::shared_ptr<torch::jit::Graph>& graph);

// The same with the casts of the state of autocast around the program, which is
// LibTorch's for this thread.
void MakeCasts(std::shared_ptr<torch::jit::Graph> graph);

// Removes the contexts and makes no casts, for a run in higher precision.
void RemoveContexts(torch::jit::Graph& graph);

// `module`, if forward enters no context. Otherwise a copy with the same
// tensors, whose forward is inlined and has the casts.
torch::jit::Module WithCastsOfContexts(const torch::jit::Module& module);

// Gives the casts in `graph` the flags and dtypes for a GPU in place of those
// for the CPU, and these in place of those: tensors on the CPU are then cast as
// they will be on a GPU.
void SwapDevicesOfCasts(torch::jit::Graph& graph);

}  // namespace aitune::frontend

#endif  // AITUNE_FRONTEND_TORCHSCRIPT_AUTOCAST_CONTEXTS_H_
