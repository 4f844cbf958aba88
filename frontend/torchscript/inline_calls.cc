#include "frontend/torchscript/inline_calls.h"

#include <torch/csrc/jit/passes/inliner.h>
#include <torch/csrc/jit/runtime/graph_executor.h>
#include <torch/script.h>

#include <new>

#include "frontend/torchscript/inline_forks.h"

namespace aitune::frontend {
namespace {

// While it lives, LibTorch optimises on this thread. Without memory LibTorch
// may throw where it sets that, which its own guard lets end the process.
class WithOptimization {
 public:
  WithOptimization() : was_off_(!torch::jit::getGraphExecutorOptimize()) {
    if (was_off_) torch::jit::setGraphExecutorOptimize(true);
  }
  ~WithOptimization() {
    if (!was_off_) return;
    try {
      torch::jit::setGraphExecutorOptimize(false);
    } catch (const std::bad_alloc&) {
    }
  }
  WithOptimization(const WithOptimization&) = delete;
  WithOptimization& operator=(const WithOptimization&) = delete;

 private:
  const bool was_off_;
};

}  // namespace

void InlineCalls(torch::jit::Graph& graph) {
  const WithOptimization optimizes;
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
  const WithOptimization optimizes;
  return torch::jit::freeze(module, kept, fold_numbers);
}

}  // namespace aitune::frontend
