#include "frontend/torchscript/inline_calls.h"

#include <torch/csrc/jit/passes/inliner.h>
#include <torch/csrc/jit/runtime/graph_executor.h>
#include <torch/script.h>

#include "frontend/torchscript/inline_forks.h"

namespace aitune::frontend {

void InlineCalls(torch::jit::Graph& graph) {
  const torch::jit::GraphOptimizerEnabledGuard optimizes(true);
  torch::jit::Inline(graph);
}

void InlineCallsAndForks(torch::jit::Graph& graph) {
  InlineCalls(graph);
  InlineForks(graph);
  InlineCalls(graph);
}

torch::jit::Module Freeze(const torch::jit::Module& module,
                          const std::vector<std::string>& kept,
                          bool fold_numbers) {
  const torch::jit::GraphOptimizerEnabledGuard optimizes(true);
  return torch::jit::freeze(module, kept, fold_numbers);
}

}  // namespace aitune::frontend
