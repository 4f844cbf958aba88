// The functions of a program: methods of its modules and what these call.
// Internal: includes LibTorch, which this throws the errors of.
#ifndef AITUNE_FRONTEND_TORCHSCRIPT_CALLED_FUNCTIONS_H_
#define AITUNE_FRONTEND_TORCHSCRIPT_CALLED_FUNCTIONS_H_

#include <torch/csrc/jit/api/module.h>

#include "absl/functional/function_ref.h"

namespace aitune::frontend {

// Calls `visit` once with the block of each method of `module` and of its
// submodules, and of the functions and methods that these call. `visit` may
// change the block: calls are looked for after it. Not of methods that are
// bound at run time, nor of forks. Not thread-safe.
void VisitFunctions(const torch::jit::Module& module,
                    absl::FunctionRef<void(torch::jit::Block& block)> visit);

}  // namespace aitune::frontend

#endif  // AITUNE_FRONTEND_TORCHSCRIPT_CALLED_FUNCTIONS_H_
