// Programs without calls. LibTorch's own passes leave the calls inside of what
// is called, and of what is frozen, where the calling thread has its
// optimisations off (torch::jit::setGraphExecutorOptimize): these don't depend
// on that. Internal: includes LibTorch.
#ifndef AITUNE_FRONTEND_TORCHSCRIPT_INLINE_CALLS_H_
#define AITUNE_FRONTEND_TORCHSCRIPT_INLINE_CALLS_H_

#include <torch/csrc/jit/api/module.h>
#include <torch/csrc/jit/ir/ir.h>

#include <string>
#include <vector>

namespace aitune::frontend {

// Puts the functions and methods that the graph calls in place of the calls.
void InlineCalls(torch::jit::Graph& graph);

// The same with what each torch.jit.fork runs: a loop in one would run on a
// thread without limits (run_limits.h).
void InlineCallsAndForks(torch::jit::Graph& graph);

// A copy of the module with its attributes as constants, but for those `kept`;
// `fold_numbers`: weights take up numbers that follow their product. Throws
// c10::Error where LibTorch can't freeze it.
torch::jit::Module Freeze(const torch::jit::Module& module,
                          const std::vector<std::string>& kept,
                          bool fold_numbers);

}  // namespace aitune::frontend

#endif  // AITUNE_FRONTEND_TORCHSCRIPT_INLINE_CALLS_H_
