// Graphs that run as they are, on the CPU and on another device.
#include "frontend/tracing/graph_program.h"

#include <ATen/ATen.h>
#include <torch/csrc/jit/api/module.h>
#include <torch/csrc/jit/passes/inliner.h>

#include "gtest/gtest.h"

namespace aitune::frontend {
namespace {

TEST(GraphProgram, MovesDevicesConstantsAndModules) {
  torch::jit::Module inner("Inner"), module("Outer");
  inner.register_buffer("weight", at::full({3}, 2.0));
  inner.define("def forward(self, x: Tensor):\n  return x * self.weight\n");
  module.register_module("inner", inner);
  module.define(
      "def forward(self, x: Tensor):\n"
      "  y = self.inner.forward(x)\n"
      "  if bool(torch.ones([1]) > 0):\n"
      "    y = y + torch.ones([3], device=\"cpu\")\n"
      "  return y\n");
  const auto graph = module.get_method("forward").graph()->copy();
  torch::jit::Inline(*graph);
  torch::jit::Node* const result = graph->return_node()->input(0)->node();
  {
    const torch::jit::WithInsertPoint end(graph->return_node());
    torch::jit::Value* const sum = graph->insert(
        c10::aten::add,
        {graph->outputs()[0], graph->insertConstant(at::ones({3}))});
    graph->return_node()->replaceInput(0, sum);
  }
  ASSERT_EQ(result->kind(), c10::prim::If);

  const RecordedProgram program = MakeGraphProgram(graph, "program");
  const at::Tensor x = at::arange(3, at::kFloat);
  std::vector<c10::IValue> stack = {module._ivalue(), x};
  program.run(stack);
  ASSERT_EQ(stack.size(), 1u);
  EXPECT_TRUE(stack[0].toTensor().equal(x * 2 + 2));

  // A device that every machine has.
  const RecordedFunction elsewhere = program.on_device(at::kMeta);
  for (int call = 0; call < 2; ++call) {
    stack = {7, module._ivalue(), x.to(at::kMeta)};
    elsewhere(stack);
    ASSERT_EQ(stack.size(), 2u) << "what is below the arguments stays";
    EXPECT_TRUE(stack[1].toTensor().is_meta());
    EXPECT_EQ(stack[1].toTensor().sizes(), x.sizes());
  }
  // The module itself stays where it is.
  EXPECT_TRUE(inner.attr("weight").toTensor().is_cpu());
}

}  // namespace
}  // namespace aitune::frontend
