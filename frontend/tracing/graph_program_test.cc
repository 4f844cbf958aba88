// Graphs that run as they are, on the CPU and on another device.
#include "frontend/tracing/graph_program.h"

#include <ATen/ATen.h>
#include <torch/csrc/jit/api/module.h>
#include <torch/csrc/jit/passes/inliner.h>

#include "frontend/torchscript/model.h"
#include "frontend/torchscript/model_state.h"
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
      "  if x.dim() > 0:\n"
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

// A check calls a program on a GPU from the same state again and again.
TEST(GraphProgram, ACopyBeginsAgainWhereTheStateOfItsModuleIsRestored) {
  torch::jit::Module module("Counter");
  module.register_buffer("calls", at::zeros({2}));
  module.register_attribute("count", c10::IntType::get(), 3);
  module.define(
      "def forward(self, x: Tensor):\n"
      "  self.calls.add_(x)\n"
      "  self.count = self.count + 1\n"
      "  return self.calls + self.count\n");
  const absl::StatusOr<Model> model = Model::FromModule(module);
  ASSERT_TRUE(model.ok()) << model.status();
  const auto graph = module.get_method("forward").graph()->copy();
  const RecordedFunction there =
      MakeGraphProgram(graph, "program").on_device(at::kCPU);
  const auto call = [&] {
    std::vector<c10::IValue> stack = {module._ivalue(), at::ones({2})};
    there(stack);
    return stack[0].toTensor()[0].item<float>();
  };
  ModelState state(*model);
  state.Save();
  EXPECT_EQ(call(), 5);
  EXPECT_EQ(call(), 7);
  state.Restore();
  EXPECT_EQ(call(), 5);
  EXPECT_EQ(call(), 7);
  EXPECT_EQ(module.attr("count").toInt(), 3) << "the copy's, not the module's";
}

}  // namespace
}  // namespace aitune::frontend
