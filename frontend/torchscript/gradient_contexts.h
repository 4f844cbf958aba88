// `with torch.no_grad():` in a scripted program. Models run without gradients
// here, whoever runs them, so that the context changes nothing, while an object
// with methods that are bound at run time can't be looked into. Not so those
// that take gradients themselves (gradients.h). Internal: includes LibTorch,
// which this throws the errors of.
#ifndef AITUNE_FRONTEND_TORCHSCRIPT_GRADIENT_CONTEXTS_H_
#define AITUNE_FRONTEND_TORCHSCRIPT_GRADIENT_CONTEXTS_H_

#include <torch/csrc/jit/api/module.h>

namespace aitune::frontend {

// Removes the contexts from the methods of `module` and of its submodules, and
// from the functions and methods that these call, in place. Not thread-safe.
void RemoveGradientContexts(const torch::jit::Module& module);

}  // namespace aitune::frontend

#endif  // AITUNE_FRONTEND_TORCHSCRIPT_GRADIENT_CONTEXTS_H_
