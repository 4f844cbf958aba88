// torch.compiler.disable and substitute_in_graph of submodules, of one model
// out of nested modules of one type.
#include <ATen/Functions.h>
#include <ATen/core/ivalue.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/csrc/jit/api/module.h>

#include "frontend/torchscript/model_bytes.h"
#include "frontend/torchscript/model_tensors.h"
#include "frontend/torchscript/submodule_times.h"
#include "frontend/trace/print_trace.h"
#include "frontend/tracing/build_trace.h"
#include "frontend/tracing/trace_test_util.h"

namespace aitune::frontend {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// outer.inner, each called through the forward of what holds it.
Model Nested() {
  auto unit = std::make_shared<torch::jit::CompilationUnit>();
  const auto hold = [&](const std::string& type, const char* member,
                        const torch::jit::Module& held, const char* forward) {
    torch::jit::Module module("__torch__." + type, unit);
    module.register_attribute("training", c10::BoolType::get(), true);
    module.register_module(member, held);
    module.define(forward);
    return module;
  };
  torch::jit::Module inner("__torch__.Inner", unit);
  inner.register_attribute("training", c10::BoolType::get(), true);
  inner.define("def forward(self, x: Tensor):\n    return torch.tanh(x)\n");
  const torch::jit::Module outer =
      hold("Outer", "inner", inner,
           "def forward(self, x: Tensor):\n"
           "    return torch.exp(self.inner.forward(x))\n");
  auto model =
      Model::FromModule(hold("Root", "outer", outer,
                             "def forward(self, x: Tensor):\n"
                             "    return torch.relu(self.outer.forward(x))\n"));
  EXPECT_TRUE(model.ok()) << model.status();
  return *std::move(model);
}

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

TEST(Disable, FindsCallsWithinCalls) {
  Model model = Nested();
  ASSERT_TRUE(model.Disable("outer.inner").ok());
  const ValueList inputs({at::randn({2, 4})});
  auto trace = BuildTrace(model, inputs, {});
  ASSERT_TRUE(trace.ok()) << trace.status();
  EXPECT_THAT(Disabled(*trace),
              ElementsAre("aten::tanh disabled", "aten::exp ", "aten::relu "));
  auto times = TimeSubmodules(Nested(), inputs, 1);
  ASSERT_TRUE(times.ok()) << times.status();
  std::vector<std::string> paths;
  for (const SubmoduleTime& time : *times) paths.push_back(time.path);
  EXPECT_THAT(paths, ElementsAre("", "outer", "outer.inner"));
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

constexpr char kSigmoid[] =
    "def forward(self, x: Tensor):\n"
    "    return torch.sigmoid(x * self.scale)\n";

std::vector<std::string> Names(const Model& model) {
  auto trace = BuildTrace(model, ValueList({at::randn({2, 4})}), {});
  EXPECT_TRUE(trace.ok()) << trace.status();
  std::vector<std::string> names;
  if (trace.ok())
    for (const TraceOp& op : trace->ops) names.push_back(op.name);
  return names;
}

TEST(Substitute, ReplacesOneSubmoduleOfAType) {
  Model model = TwoStacks();
  const ValueList inputs({at::randn({2, 4})});
  const auto before = model.RunEager(inputs);
  const absl::Status status = model.Substitute("encoder.1", kSigmoid);
  ASSERT_TRUE(status.ok()) << status;
  EXPECT_THAT(Names(model), ElementsAre("aten::mul", "aten::tanh", "aten::mul",
                                        "aten::sigmoid", "aten::mul",
                                        "aten::tanh", "aten::relu"));
  // Eager keeps the submodule, and the weights are the submodule's own.
  EXPECT_EQ(Difference(*model.RunEager(inputs), *before), "");
  ASSERT_TRUE(model
                  .Substitute("encoder.1",
                              "def same(self, x: Tensor):\n"
                              "    y = x * self.scale\n"
                              "    return 2. * torch.sigmoid(2. * y) - 1.\n")
                  .ok());
  auto trace = BuildTrace(model, inputs, {});
  ASSERT_TRUE(trace.ok()) << trace.status();
  auto result = RunTrace(*trace, inputs);
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_TRUE(at::allclose(result->toTensor(), before->toTensor(), 1e-5, 1e-6));
}

TEST(Substitute, TwoOfOneType) {
  Model model = TwoStacks();
  ASSERT_TRUE(model.Substitute("encoder.0", kSigmoid).ok());
  ASSERT_TRUE(model
                  .Substitute("decoder.0",
                              "def forward(self, x: Tensor):\n"
                              "    return torch.cos(x)\n")
                  .ok());
  EXPECT_THAT(Names(model),
              ElementsAre("aten::mul", "aten::sigmoid", "aten::mul",
                          "aten::tanh", "aten::cos", "aten::relu"));
}

TEST(Substitute, FindsCallsWithinCalls) {
  Model model = Nested();
  ASSERT_TRUE(model
                  .Substitute("outer.inner",
                              "def forward(self, x: Tensor):\n"
                              "    return torch.sigmoid(x)\n")
                  .ok());
  EXPECT_THAT(Names(model),
              ElementsAre("aten::sigmoid", "aten::exp", "aten::relu"));
}

TEST(Substitute, IsPartOfTheModelsIdentityAndIsSaved) {
  Model model = TwoStacks();
  const auto plain = ModelSha256(model);
  ASSERT_TRUE(model.Substitute("encoder.1", kSigmoid).ok());
  ASSERT_TRUE(model.Disable("decoder.0").ok());
  const auto changed = ModelSha256(model);
  ASSERT_TRUE(plain.ok() && changed.ok()) << plain.status();
  EXPECT_NE(*plain, *changed);
  auto bytes = ModelBytes(model);
  ASSERT_TRUE(bytes.ok()) << bytes.status();
  auto loaded = ModelFromBytes(*bytes);
  ASSERT_TRUE(loaded.ok()) << loaded.status();
  EXPECT_EQ(Names(*loaded), Names(model));
  EXPECT_THAT(Names(*loaded), testing::Contains("aten::sigmoid"));
}

TEST(Substitute, RefusesWhatDoesNotFit) {
  Model model = TwoStacks();
  const auto message = [&](const std::string& path, const std::string& source) {
    return std::string(model.Substitute(path, source).message());
  };
  EXPECT_THAT(message("encoder.7", kSigmoid), HasSubstr("no submodule"));
  EXPECT_THAT(message("encoder.0", "def forward(self, x: Tensor) return x"),
              HasSubstr("the replacement of encoder.0"));
  EXPECT_THAT(message("encoder.0",
                      "def forward(self, x: Tensor, y: Tensor):\n"
                      "    return x + y\n"),
              HasSubstr("forward is forward("));
  EXPECT_THAT(
      message("encoder.0", "def forward(self, x: Tensor):\n    return x, x\n"),
      HasSubstr("forward is forward("));
  EXPECT_THAT(message("encoder.0",
                      "def forward(self, x: Tensor):\n"
                      "    return x * self.weight\n"),
              HasSubstr("weight"));
  EXPECT_THAT(message("decoder.1", kSigmoid),
              HasSubstr("forward never calls decoder.1"));
  EXPECT_THAT(message("encoder.0", std::string(kSigmoid) + kSigmoid),
              HasSubstr("goes on after the method"));
  // Nothing of this is kept.
  EXPECT_THAT(Names(model), testing::Not(testing::Contains("aten::sigmoid")));
}

TEST(Disable, RefusesWhatIsNoSubmodule) {
  Model model = TwoStacks();
  EXPECT_THAT(std::string(model.Disable("encoder.7").message()),
              HasSubstr("no submodule encoder.7; it has encoder, encoder.0"));
}

}  // namespace
}  // namespace aitune::frontend
