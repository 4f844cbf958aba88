// `with torch.no_grad():` and `with torch.profiler.record_function(name):` in a
// scripted program, which change no value: models run without gradients here,
// whoever runs them, and names are for profiles of LibTorch's. But an object
// with methods that are bound at run time can't be looked into. Not for those
// that take gradients themselves (gradients.h). Internal: includes LibTorch,
// which this throws the errors of.
#ifndef AITUNE_FRONTEND_TORCHSCRIPT_NEUTRAL_CONTEXTS_H_
#define AITUNE_FRONTEND_TORCHSCRIPT_NEUTRAL_CONTEXTS_H_

#include <torch/csrc/jit/api/module.h>

namespace aitune::frontend {

// Removes the contexts from the methods of `module` and of its submodules, and
// from the functions and methods that these call, in place. Not thread-safe.
void RemoveNeutralContexts(const torch::jit::Module& module);

}  // namespace aitune::frontend

#endif  // AITUNE_FRONTEND_TORCHSCRIPT_NEUTRAL_CONTEXTS_H_
