// torch.compiler.disable of submodules, of one model out of nested modules of
// one type.
#include <ATen/Functions.h>
#include <ATen/core/ivalue.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/csrc/jit/api/module.h>

#include "frontend/torchscript/build_trace.h"
#include "frontend/torchscript/model_bytes.h"
#include "frontend/torchscript/model_tensors.h"
#include "frontend/torchscript/print_trace.h"
#include "frontend/torchscript/trace_test_util.h"

namespace aitune::frontend {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// encoder.{0,1} and decoder.{0,1}: layers of one type in lists that no call
// names.
Model TwoStacks() {
  auto unit = std::make_shared<torch::jit::CompilationUnit>();
  torch::jit::Module layer("__torch__.Layer", unit);
  layer.register_parameter("scale", at::randn({4}), /*is_buffer=*/false);
  const auto freezable = [](torch::jit::Module& module) {
    module.register_attribute("training", c10::BoolType::get(), true);
  };
  freezable(layer);
  layer.define(
      "def forward(self, x: Tensor):\n"
      "    return torch.tanh(x * self.scale)\n");
  const auto stack = [&](const std::string& name) {
    torch::jit::Module list(name, unit);
    freezable(list);
    for (const char* index : {"0", "1"}) {
      torch::jit::Module one(unit, layer.type());
      one.setattr("scale", at::randn({4}));
      one.setattr("training", true);
      list.register_module(index, one);
    }
    return list;
  };
  torch::jit::Module root("__torch__.Root", unit);
  freezable(root);
  root.register_module("encoder", stack("__torch__.Encoder"));
  root.register_module("decoder", stack("__torch__.Decoder"));
  root.define(R"(
def forward(self, x: Tensor):
    x = getattr(self.encoder, "1").forward(getattr(self.encoder, "0").forward(x))
    return torch.relu(getattr(self.decoder, "0").forward(x))
)");
  auto model = Model::FromModule(root);
  EXPECT_TRUE(model.ok()) << model.status();
  return *std::move(model);
}

std::vector<std::string> Disabled(const Trace& trace) {
  std::vector<std::string> ops;
  for (const TraceOp& op : trace.ops)
    ops.push_back(op.name + " " + op.must_fall_back);
  return ops;
}

TEST(Disable, LeavesOneSubmoduleToLibTorch) {
  Model model = TwoStacks();
  ASSERT_TRUE(model.Disable("encoder.0").ok());
  const ValueList inputs({at::randn({2, 4})});
  auto trace = BuildTrace(model, inputs, {});
  ASSERT_TRUE(trace.ok()) << trace.status();
  EXPECT_THAT(
      Disabled(*trace),
      ElementsAre("aten::mul disabled", "aten::tanh disabled", "aten::mul ",
                  "aten::tanh ", "aten::mul ", "aten::tanh ", "aten::relu "))
      << PrintTrace(*trace);
  auto result = RunTrace(*trace, inputs);
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_EQ(Difference(*result, *model.RunEager(inputs)), "");
}

TEST(Disable, HoldsForWhatIsInside) {
  Model model = TwoStacks();
  ASSERT_TRUE(model.Disable("encoder").ok());
  auto trace = BuildTrace(model, ValueList({at::randn({2, 4})}), {});
  ASSERT_TRUE(trace.ok()) << trace.status();
  EXPECT_EQ(FallbackCount(*trace), 4);
}

TEST(Disable, IsPartOfTheModelsIdentityAndIsSaved) {
  Model model = TwoStacks();
  const auto plain = ModelSha256(model);
  ASSERT_TRUE(model.Disable("decoder.0").ok());
  const auto disabled = ModelSha256(model);
  ASSERT_TRUE(plain.ok() && disabled.ok()) << plain.status();
  EXPECT_NE(*plain, *disabled);
  auto bytes = ModelBytes(model);
  ASSERT_TRUE(bytes.ok()) << bytes.status();
  auto loaded = ModelFromBytes(*bytes);
  ASSERT_TRUE(loaded.ok()) << loaded.status();
  auto trace = BuildTrace(*loaded, ValueList({at::randn({2, 4})}), {});
  ASSERT_TRUE(trace.ok()) << trace.status();
  EXPECT_EQ(FallbackCount(*trace), 2);
}

TEST(Disable, RefusesWhatIsNoSubmodule) {
  Model model = TwoStacks();
  EXPECT_THAT(std::string(model.Disable("encoder.7").message()),
              HasSubstr("no submodule encoder.7; it has encoder, encoder.0"));
}

}  // namespace
}  // namespace aitune::frontend
