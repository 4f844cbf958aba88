#include "frontend/torchscript/call_stacks.h"

#include <torch/csrc/jit/api/module.h>
#include <torch/csrc/jit/passes/inliner.h>

#include "gtest/gtest.h"

namespace aitune::frontend {
namespace {

// What the call stacks of a graph name: functions, and places beside them.
void Collect(torch::jit::Block* block,
             std::vector<torch::jit::Function*>& functions,
             std::vector<std::string>& places) {
  for (torch::jit::Node* node : block->nodes()) {
    for (torch::jit::Block* inner : node->blocks())
      Collect(inner, functions, places);
    if (!node->callstack()) continue;
    for (const auto& [function, range, instance] :
         (*node->callstack())->vec()) {
      functions.push_back(function);
      places.push_back(range.str());
      if (instance) places.push_back(instance->instance_name());
    }
  }
}

TEST(AnchorCallStacks, KeepsPlacesAndNoFunctionOfTheModule) {
  torch::jit::Module module("Checked");
  module.define(
      "def inner(self, x: Tensor) -> Tensor:\n"
      "  if bool(x.sum() > 0):\n    x = x + 1\n  return x\n"
      "def check(self, x: Tensor) -> Tensor:\n  return self.inner(x) * 2\n"
      "def forward(self, x: Tensor) -> Tensor:\n  return self.check(x) - 1\n");
  const std::shared_ptr<torch::jit::Graph> graph =
      module.get_method("forward").graph()->copy();
  torch::jit::Inline(*graph);
  std::vector<torch::jit::Function*> before, after;
  std::vector<std::string> places_before, places_after;
  Collect(graph->block(), before, places_before);
  ASSERT_FALSE(before.empty());
  AnchorCallStacks(*graph);
  Collect(graph->block(), after, places_after);
  EXPECT_EQ(places_after, places_before);
  for (torch::jit::Function* function : after) {
    EXPECT_EQ(function, after.front());
    for (const torch::jit::Method& method : module.get_methods())
      EXPECT_NE(function, &method.function());
  }
}

}  // namespace
}  // namespace aitune::frontend
