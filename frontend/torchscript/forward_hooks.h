// Hooks of a scripted model (register_forward_pre_hook, register_forward_hook).
// A submodule's are part of its caller's program; those of the model itself are
// called by Module::operator() and by nobody who looks at forward's graph,
// which all of this project does. Internal: includes LibTorch.
#ifndef AITUNE_FRONTEND_TORCHSCRIPT_FORWARD_HOOKS_H_
#define AITUNE_FRONTEND_TORCHSCRIPT_FORWARD_HOOKS_H_

#include <torch/csrc/jit/api/module.h>

namespace aitune::frontend {

// A module that shares the tensors of `module` and whose forward calls the
// hooks, of which it has none; `module` itself if that has none. May throw
// LibTorch's exceptions.
torch::jit::Module WithHooksInForward(const torch::jit::Module& module);

}  // namespace aitune::frontend

#endif  // AITUNE_FRONTEND_TORCHSCRIPT_FORWARD_HOOKS_H_
