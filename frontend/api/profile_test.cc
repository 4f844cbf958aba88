// Profiles of modules, in C++ and in C.
#include <ATen/ops/full.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/zeros.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "frontend/api/aitune.h"
#include "frontend/api/c_api_fixture.h"
#include "frontend/api/module.h"
#include "frontend/api/module_fixture.h"
#include "frontend/testing/models.h"
#include "runtime/backend/step_time.h"
#include "runtime/control/control.h"

namespace ait {
namespace {

using aitune::StepRunner;
using aitune::StepTime;
using aitune::frontend::ValueList;

class ProfileTest : public ModuleTest {};

TEST_F(ProfileTest, TellsTheStepsOfACompiledVersion) {
  const auto module = Wrap(aitune::frontend::kNetWithFallback);
  const at::Tensor x = at::randn({4, 3});
  // Before it is tuned: one step, which LibTorch runs.
  auto steps = module->Profile(ValueList({x}), 2);
  ASSERT_TRUE(steps.ok()) << steps.status();
  ASSERT_EQ(steps->size(), 1u);
  EXPECT_EQ(steps->front().name, "net");
  EXPECT_EQ(steps->front().runner, StepRunner::kLibTorch);
  EXPECT_GT(steps->front().microseconds, 0);
  ASSERT_TRUE(module->Record(ValueList({x})).ok());
  ASSERT_TRUE(
      module->Tune(*aitune::OneBackend(), Quick("TorchInductorBackend")).ok());
  const int64_t calls = module->Usage().calls;
  steps = module->Profile(ValueList({x}), 3);
  ASSERT_TRUE(steps.ok()) << steps.status();
  int kernels = 0, by_libtorch = 0;
  for (const StepTime& step : *steps) {
    EXPECT_NE(step.name, "");
    EXPECT_GT(step.microseconds, 0) << step.name;
    if (step.runner == StepRunner::kKernel) {
      ++kernels;
      EXPECT_EQ(step.implementation, "generated");
    } else if (step.runner == StepRunner::kLibTorch) {
      ++by_libtorch;
      EXPECT_EQ(step.implementation, "LibTorch");
    }
  }
  EXPECT_GE(kernels, 1);
  EXPECT_GE(by_libtorch, 1);
  EXPECT_EQ(module->Usage().calls, calls);
  const aitune::ScopedStance eager(aitune::Stance::kForceEager);
  steps = module->Profile(ValueList({x}));
  ASSERT_TRUE(steps.ok()) << steps.status();
  EXPECT_EQ(steps->size(), 1u);
}

TEST_F(ProfileTest, CompilesForOtherSizesAndRefusesWhatItCant) {
  const auto module = Wrap(R"(
def forward(self, x: Tensor):
    if x.size(0) > 20:
        return torch.relu(x) * 2
    return x - 1
)");
  ASSERT_TRUE(module->Record(ValueList({at::randn({4, 3})})).ok());
  ASSERT_TRUE(
      module->Tune(*aitune::OneBackend(), Quick("TorchInductorBackend")).ok());
  const int64_t versions = module->Usage().versions;
  const auto steps = module->Profile(ValueList({at::randn({40, 3})}));
  ASSERT_TRUE(steps.ok()) << steps.status();
  ASSERT_FALSE(steps->empty());
  EXPECT_EQ(steps->front().runner, StepRunner::kKernel);
  EXPECT_GT(module->Usage().versions, versions);
  for (const int repeats : {0, -1, 10001})
    EXPECT_TRUE(absl::IsInvalidArgument(
        module->Profile(ValueList({at::randn({4, 3})}), repeats).status()));
  EXPECT_FALSE(module->Profile(ValueList(std::vector<c10::IValue>())).ok());
}

// A step of decoding: a second call on the same tensors would be behind the end
// of the cache.
TEST_F(ProfileTest, EachRunHasTheSameArguments) {
  const auto module = Wrap(R"(
def forward(self, x: Tensor, cache: Tensor, n: Tensor):
    cache.index_copy_(1, n.clone(), x)
    n.add_(1)
    return torch.relu(cache.sum(1) * 2)
)");
  const at::Tensor n = at::full({1}, 3, at::kLong);
  const at::Tensor cache = at::zeros({2, 4, 8});
  const ValueList arguments({at::ones({2, 1, 8}), cache, n});
  const auto are_as_before = [&] {
    return n.item<int64_t>() == 3 && cache.equal(at::zeros({2, 4, 8}));
  };
  // By LibTorch.
  ASSERT_TRUE(module->Profile(arguments, 5).ok());
  EXPECT_TRUE(are_as_before());
  ASSERT_TRUE(module->Record(arguments).ok());
  for (const char* backend : {"TorchInductorBackend", "TorchScriptBackend"}) {
    const absl::Status tuned =
        module->Tune(*aitune::MinLatency(), Quick(backend));
    ASSERT_TRUE(tuned.ok()) << tuned;
    for (const auto& report : module->report().backends)
      EXPECT_EQ(report.timings.size(), 1u) << report.reason;
    EXPECT_TRUE(are_as_before());
  }
  ASSERT_TRUE(
      module->Tune(*aitune::OneBackend(), Quick("TorchInductorBackend")).ok());
  const auto steps = module->Profile(arguments, 5);
  ASSERT_TRUE(steps.ok()) << steps.status();
  EXPECT_GT(steps->size(), 1u);
  EXPECT_TRUE(are_as_before());
  for (const absl::Status& warm :
       {module->WarmUp(), module->WarmUp({arguments})}) {
    EXPECT_TRUE(warm.ok()) << warm;
    EXPECT_TRUE(are_as_before());
  }
  const auto inspected = module->Inspect(5);
  ASSERT_TRUE(inspected.ok()) << inspected.status();
  EXPECT_TRUE(inspected->front().compiled_milliseconds.has_value());
  EXPECT_TRUE(are_as_before());
  ASSERT_TRUE(module->Run(arguments).ok());
  EXPECT_EQ(n.item<int64_t>(), 4);
}

TEST_F(CApi, StepsAreTimed) {
  ait_module* module = nullptr;
  ASSERT_EQ(Take(ait_module_load(model_.c_str(), nullptr, &module)), "");
  const int64_t sizes[] = {2, 3};
  const std::vector<float> x(6, 1.f);
  const ait_tensor inputs[] = {Tensor(sizes, 2, x.data()),
                               Tensor(sizes, 2, x.data())};
  for (const bool tuned : {false, true}) {
    if (tuned) {
      ASSERT_EQ(Record(module, 2), "");
      ASSERT_EQ(Take(ait_module_tune(module, "OneBackend", 0)), "");
    }
    ait_profile* profile = nullptr;
    ASSERT_EQ(Take(ait_module_profile(module, inputs, 2, 3, &profile)), "");
    ASSERT_GE(ait_profile_steps(profile), 1u);
    ait_step step = {sizeof step, nullptr, -1, 0, nullptr, nullptr};
    ASSERT_EQ(Take(ait_profile_step(profile, 0, &step)), "");
    EXPECT_EQ(step.kind, tuned ? AIT_STEP_KERNEL : AIT_STEP_LIBTORCH);
    EXPECT_STREQ(step.implementation, tuned ? "generated" : "LibTorch");
    EXPECT_GT(step.microseconds, 0);
    EXPECT_STRNE(step.name, "");
    EXPECT_NE(step.location, nullptr);
    ait_code code = AIT_OK;
    EXPECT_THAT(Take(ait_profile_step(profile, 99, &step), &code),
                HasSubstr("there is no step 99"));
    EXPECT_EQ(code, AIT_OUT_OF_RANGE);
    step.struct_size = sizeof step - 1;
    EXPECT_THAT(Take(ait_profile_step(profile, 0, &step)),
                HasSubstr("step has the struct_size"));
    ait_profile_free(profile);
  }
  ait_profile* none = nullptr;
  EXPECT_THAT(Take(ait_module_profile(module, inputs, 2, 0, &none)),
              HasSubstr("give 1 to 10000"));
  EXPECT_NE(Take(ait_module_profile(module, inputs, 1, 1, &none)), "");
  EXPECT_NE(Take(ait_module_profile(nullptr, inputs, 2, 1, &none)), "");
  EXPECT_EQ(none, nullptr);
  EXPECT_EQ(ait_profile_steps(nullptr), 0u);
  ait_profile_free(nullptr);
  ait_module_free(module);
}

}  // namespace
}  // namespace ait
