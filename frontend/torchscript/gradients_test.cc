#include "frontend/torchscript/gradients.h"

#include <ATen/ATen.h>
#include <c10/core/InferenceMode.h>
#include <torch/csrc/jit/api/module.h>

#include "frontend/torchscript/model.h"
#include "frontend/torchscript/optimized_program.h"
#include "frontend/tracing/build_trace.h"
#include "frontend/tracing/trace_test_util.h"
#include "frontend/values/value_list.h"
#include "gtest/gtest.h"

namespace aitune::frontend {
namespace {

torch::jit::Module MakeModule(const char* source) {
  torch::jit::Module module("m");
  module.register_parameter("weight", at::full({3}, 2.), false);
  module.define(source);
  return module;
}

constexpr char kForces[] = R"(
def energy(self, x: Tensor):
  return (self.weight * x * x).sum()
def forward(self, x: Tensor):
  y = x.detach().requires_grad_(True)
  gradient = torch.autograd.grad([self.energy(y)], [y])[0]
  assert gradient is not None
  return gradient * -1.
)";

TEST(Gradients, AreFoundInCallees) {
  EXPECT_TRUE(TakesGradients(MakeModule(kForces)));
  EXPECT_FALSE(TakesGradients(
      MakeModule("def forward(self, x: Tensor):\n  return x * self.weight\n")));
}

// In both ways that LibTorch runs a model, and whatever the caller's mode.
TEST(Gradients, ModelsTakeThem) {
  auto model = Model::FromModule(MakeModule(kForces));
  ASSERT_TRUE(model.ok()) << model.status();
  for (const bool inference : {false, true}) {
    const c10::InferenceMode mode(inference);
    const at::Tensor x = at::arange(3, at::kFloat);
    for (const auto& result : {model->RunEager(ValueList({x})),
                               model->RunOptimized(ValueList({x}))}) {
      ASSERT_TRUE(result.ok()) << result.status();
      EXPECT_TRUE(result->toTensor().equal(x * -4));
      EXPECT_FALSE(result->toTensor().requires_grad());
    }
    EXPECT_FALSE(x.requires_grad());
  }
}

// Of parameters, as a model that trains itself takes them, in all ways that a
// model is run.
TEST(Gradients, ParametersHaveThem) {
  torch::jit::Module module("m");
  module.register_attribute("training", c10::BoolType::get(), false);
  module.register_parameter("weight", at::full({3}, 2.).requires_grad_(),
                            false);
  module.define(R"(
def forward(self, x: Tensor):
  gradient = torch.autograd.grad([(self.weight * self.weight * x).sum()], [self.weight])[0]
  assert gradient is not None
  return gradient
)");
  auto model = Model::FromModule(module);
  ASSERT_TRUE(model.ok()) << model.status();
  const ValueList arguments({at::ones({3})});
  const auto trace = BuildTrace(*model, arguments, {});
  ASSERT_TRUE(trace.ok()) << trace.status();
  for (const auto& result :
       {model->RunEager(arguments), model->RunOptimized(arguments),
        RunTrace(*trace, arguments)}) {
    ASSERT_TRUE(result.ok()) << result.status();
    EXPECT_TRUE(result->toTensor().equal(at::full({3}, 4.)));
  }
}

TEST(Gradients, OthersAreNotRecorded) {
  auto model = Model::FromModule(
      MakeModule("def forward(self, x: Tensor):\n  return x * self.weight\n"));
  ASSERT_TRUE(model.ok()) << model.status();
  const auto result = model->RunEager(ValueList({at::ones({3})}));
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_TRUE(result->toTensor().is_inference());
}

}  // namespace
}  // namespace aitune::frontend
