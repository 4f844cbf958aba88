// Weights that are replaced while a module runs: calls compute with the new
// ones without compiling, and what can't be is refused by name.
#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <torch/csrc/jit/api/module.h>

#include <atomic>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "compiler/Compiler.h"
#include "frontend/api/module_fixture.h"
#include "frontend/values/torch_util.h"

namespace ait {
namespace {

using aitune::frontend::ValueList;
using aitune::frontend::ViewOf;
using ::testing::HasSubstr;

// A convolution and a batch norm, of whose buffers tracing computes a scale, a
// linear layer, a number, a table's indices, and a filter in another order.
torch::jit::Module MakeNet() {
  at::manual_seed(3);
  torch::jit::Module net("__torch__.Net");
  net.register_parameter("filter", at::randn({8, 3, 3, 3}), false);
  net.register_parameter("gain", at::randn({8}), false);
  net.register_parameter("shift", at::randn({8}), false);
  net.register_buffer("mean", at::randn({8}));
  net.register_buffer("variance", at::rand({8}) + 0.5);
  net.register_parameter("weight", at::randn({5, 8}), false);
  net.register_parameter("bias", at::randn({5}), false);
  net.register_parameter("temperature", at::full({}, 2.0), false);
  net.register_buffer("order", at::arange(5).flip(0));
  net.register_parameter("taps", at::randn({1, 1, 3}), false);
  net.define(R"(
def forward(self, x: Tensor):
    y = torch.conv2d(x, self.filter, None, [1, 1], [1, 1])
    y = torch.batch_norm(y, self.gain, self.shift, self.mean, self.variance, False, 0.1, 0.00001, False)
    y = torch.linear(torch.relu(y).mean([2, 3]), self.weight, self.bias)
    y = torch.index_select(y, 1, self.order) / self.temperature
    return torch.conv1d(y.unsqueeze(1), self.taps).squeeze(1)
)");
  net.eval();
  return net;
}

class ModuleWeightsTest : public ModuleTest {
 protected:
  std::unique_ptr<Module> Tuned(const std::string& backend) {
    auto model = aitune::frontend::Model::FromModule(MakeNet());
    EXPECT_TRUE(model.ok()) << model.status();
    model_ = std::make_shared<const aitune::frontend::Model>(*std::move(model));
    auto module = Module::Wrap(model_, {"net", folder_ / "cache"});
    EXPECT_TRUE(module->Record(ValueList({Input(2)})).ok());
    EXPECT_TRUE(module->Record(ValueList({Input(3)}), 2).ok());
    const absl::Status tuned =
        module->Tune(*aitune::OneBackend(), Quick(backend));
    EXPECT_TRUE(tuned.ok()) << tuned;
    return module;
  }

  static at::Tensor Input(int64_t rows) { return at::randn({rows, 3, 6, 6}); }

  // Replaces a weight in the module and in the model that it is compared with.
  void Replace(Module& module,
               const std::map<std::string, at::Tensor>& weights) {
    std::map<std::string, aitune::TensorView> views;
    for (const auto& [name, tensor] : weights) views[name] = ViewOf(tensor);
    const absl::Status replaced = module.ReplaceWeights(views);
    ASSERT_TRUE(replaced.ok()) << replaced;
    auto changed = model_->WithWeights(views);
    ASSERT_TRUE(changed.ok()) << changed.status();
    model_ =
        std::make_shared<const aitune::frontend::Model>(*std::move(changed));
  }

  static std::string Refusal(Module& module, const std::string& name,
                             const at::Tensor& tensor) {
    return std::string(
        module.ReplaceWeights({{name, ViewOf(tensor)}}).message());
  }
};

TEST_F(ModuleWeightsTest, CallsComputeWithTheNewOnesAndNothingIsCompiled) {
  const auto module = Tuned("TorchInductorBackend");
  const int64_t graphs = aitune::compileCounts().graphs;
  ExpectAgrees(*module, Input(2));
  for (const char* name : {"filter", "gain", "mean", "weight", "bias"}) {
    const at::Tensor old = [&] {
      for (const auto& value : MakeNet().named_attributes())
        if (value.name == name) return value.value.toTensor();
      return at::Tensor();
    }();
    Replace(*module, {{name, at::randn_like(old)}});
    ExpectAgrees(*module, Input(2));
    ExpectAgrees(*module, Input(3));
  }
  Replace(*module, {{"shift", at::randn({8})}, {"variance", at::ones({8})}});
  ExpectAgrees(*module, Input(3));
  EXPECT_EQ(aitune::compileCounts().graphs, graphs);
  EXPECT_EQ(module->Usage().calls, 12);
  EXPECT_EQ(module->Usage().recompilations, 0);
  // As it is saved and loaded.
  const auto digest =
      module->Save(folder_ / "net.aitune", aitune::BundleFormat::kFile);
  ASSERT_TRUE(digest.ok()) << digest.status();
  const auto loaded = Module::LoadCheckpoint(folder_ / "net.aitune");
  ASSERT_TRUE(loaded.ok()) << loaded.status();
  ExpectAgrees(**loaded, Input(2));
  Replace(**loaded, {{"filter", at::randn({8, 3, 3, 3})}});
  ExpectAgrees(**loaded, Input(3));
  EXPECT_EQ(aitune::compileCounts().graphs, graphs);
}

TEST_F(ModuleWeightsTest, WhatCompiledCodeHoldsIsRefusedByName) {
  const auto module = Tuned("TorchInductorBackend");
  EXPECT_THAT(Refusal(*module, "temperature", at::full({}, 3.0)),
              HasSubstr("the new elements of 'temperature' need another build: "
                        "it is a number in the compiled code"));
  EXPECT_THAT(Refusal(*module, "order", at::arange(5)),
              HasSubstr("'order' need another build: the compiled code relies "
                        "on the range of these integers"));
  EXPECT_THAT(Refusal(*module, "taps", at::ones({1, 1, 3})),
              HasSubstr("'taps' need another build: the compiler stored this "
                        "filter in an order of its own"));
  EXPECT_THAT(Refusal(*module, "nothing", at::ones({5})),
              HasSubstr("the model has no weight 'nothing'"));
  EXPECT_THAT(Refusal(*module, "bias", at::ones({6})),
              HasSubstr("weight 'bias' is float32[5], but float32[6]"));
  ExpectAgrees(*module, Input(2));
  // The same elements are no change.
  EXPECT_EQ(Refusal(*module, "temperature", at::full({}, 2.0)), "");
  ExpectAgrees(*module, Input(2));
}

// Each call computes with the old weights or with the new ones, never with some
// of each.
TEST_F(ModuleWeightsTest, CallsOfOtherThreadsGoOnMeanwhile) {
  const auto module = Tuned("TorchInductorBackend");
  const at::Tensor x = Input(2);
  const auto run = [&] {
    auto result = module->Run(ValueList({x}));
    EXPECT_TRUE(result.ok()) << result.status();
    return result.ok() ? result->toTensor() : at::Tensor();
  };
  const std::map<std::string, at::Tensor> weights[] = {
      {{"weight", at::randn({5, 8})}, {"bias", at::randn({5})}},
      {{"weight", at::randn({5, 8})}, {"bias", at::randn({5})}}};
  std::vector<at::Tensor> expected;
  for (const auto& each : weights) {
    Replace(*module, each);
    expected.push_back(run());
  }
  std::atomic<bool> stop = false;
  std::atomic<int> wrong = 0, calls = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < 2; ++t) {
    threads.emplace_back([&] {
      while (!stop) {
        const at::Tensor y = run();
        ++calls;
        if (!at::allclose(y, expected[0]) && !at::allclose(y, expected[1]))
          ++wrong;
      }
    });
  }
  for (int i = 0; i < 6; ++i) Replace(*module, weights[i % 2]);
  stop = true;
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
  EXPECT_GT(calls, 0);
}

TEST_F(ModuleWeightsTest, OtherBackendsAndEagerToo) {
  for (const char* backend : {"TorchScriptBackend", "TorchEagerBackend"}) {
    const auto module = Tuned(backend);
    Replace(*module, {{"weight", at::randn({5, 8})},
                      {"temperature", at::full({}, 3.0)}});
    ExpectAgrees(*module, Input(2));
    module->SetDisabled(true);
    ExpectAgrees(*module, Input(2));
  }
  auto model = aitune::frontend::Model::FromModule(MakeNet());
  ASSERT_TRUE(model.ok());
  model_ = std::make_shared<const aitune::frontend::Model>(*std::move(model));
  const auto eager = Module::Wrap(model_, {"net", {}});
  Replace(*eager, {{"bias", at::randn({5})}});
  ExpectAgrees(*eager, Input(2));
}

TEST_F(ModuleWeightsTest, BoundCallsAreBoundAnew) {
  const auto module = Tuned("TorchInductorBackend");
  const at::Tensor x = Input(2), y = at::empty({2, 3});
  const auto call = module->Bind(ValueList({x}), ValueList({y}));
  ASSERT_TRUE(call.ok()) << call.status();
  ASSERT_TRUE((*call)->Run(nullptr).ok());
  Replace(*module, {{"bias", at::randn({5})}});
  EXPECT_TRUE(absl::IsFailedPrecondition((*call)->Run(nullptr)));
  const auto again = module->Bind(ValueList({x}), ValueList({y}));
  ASSERT_TRUE(again.ok()) << again.status();
  ASSERT_TRUE((*again)->Run(nullptr).ok());
  aitune::frontend::ExpectClose(y, *model_->RunEager(ValueList({x})));
}

}  // namespace
}  // namespace ait
