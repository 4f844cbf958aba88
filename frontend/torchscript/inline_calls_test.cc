#include "frontend/torchscript/inline_calls.h"

#include <torch/csrc/jit/runtime/graph_executor.h>

#include "frontend/torchscript/run_limits.h"
#include "gtest/gtest.h"

namespace aitune::frontend {
namespace {

torch::jit::Module Nested() {
  torch::jit::Module module("m");
  module.register_attribute("training", c10::BoolType::get(), false);
  module.define(
      "def inner(self, x: Tensor):\n  return x + 1\n"
      "def middle(self, x: Tensor):\n  return self.inner(x) * 2\n"
      "def forward(self, x: Tensor):\n  return self.middle(x)\n");
  return module;
}

// LibTorch's own inlining leaves a call of `inner` there.
TEST(InlineCalls, LeavesNoneWhereTheThreadDoesNotOptimize) {
  const torch::jit::GraphOptimizerEnabledGuard off(false);
  const torch::jit::Module module = Nested();
  const auto graph = module.get_method("forward").graph()->copy();
  InlineCalls(*graph);
  EXPECT_FALSE(HasCalls(graph->block()));
  EXPECT_FALSE(torch::jit::getGraphExecutorOptimize());
}

TEST(Freeze, LeavesNoCallsOfWhatIsGone) {
  const torch::jit::GraphOptimizerEnabledGuard off(false);
  const torch::jit::Module frozen =
      Freeze(Nested(), /*kept=*/{}, /*fold_numbers=*/false);
  EXPECT_FALSE(HasCalls(frozen.get_method("forward").graph()->block()));
}

}  // namespace
}  // namespace aitune::frontend
