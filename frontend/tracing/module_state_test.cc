// Programs that set attributes of their modules.
#include <ATen/Functions.h>
#include <torch/csrc/jit/api/module.h>

#include "frontend/trace/print_trace.h"
#include "frontend/tracing/trace_test_util.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace aitune::frontend {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

absl::StatusOr<Trace> TraceOf(const std::string& source) {
  torch::jit::Module module("Stateful");
  module.register_attribute("training", c10::BoolType::get(), false);
  module.register_attribute("calls", c10::IntType::get(), 0);
  module.register_attribute("warned", c10::BoolType::get(), false);
  module.register_attribute("scale", c10::TensorType::get(),
                            at::full({1}, 2.0));
  module.define(source);
  const auto model = Model::FromModule(module);
  if (!model.ok()) return model.status();
  return BuildTrace(*model, ValueList({at::ones({3})}), {});
}

TEST(ModuleState, AFlagThatChangesNoResultIsCompiled) {
  const auto trace = TraceOf(R"(
def forward(self, x: Tensor) -> Tensor:
  if not self.warned:
    print("once")
    self.warned = True
  return torch.relu(x)
)");
  ASSERT_TRUE(trace.ok()) << trace.status();
  EXPECT_THAT(OpNames(*trace), ElementsAre("aten::relu"));
}

TEST(ModuleState, SoAreFlagsThatDecideAboutEachOther) {
  const auto trace = TraceOf(R"(
def forward(self, x: Tensor) -> Tensor:
  if not self.warned and x.size(0) > 2:
    if self.calls == 0:
      print("once", self.calls)
      self.calls = 1
    self.warned = True
  return torch.relu(x)
)");
  ASSERT_TRUE(trace.ok()) << trace.status();
  EXPECT_THAT(OpNames(*trace), ElementsAre("aten::relu"));
}

TEST(ModuleState, AnAttributeSetToWhatItIsIsCompiled) {
  const auto trace = TraceOf(R"(
def forward(self, x: Tensor) -> Tensor:
  self.scale = self.scale.to(x.dtype)
  return x * self.scale
)");
  ASSERT_TRUE(trace.ok()) << trace.status();
  EXPECT_THAT(OpNames(*trace), ElementsAre("aten::mul.Tensor"));
}

TEST(ModuleState, ReadAfterItWasSet) {
  const auto trace = TraceOf(R"(
def forward(self, x: Tensor) -> Tensor:
  self.calls = 3
  return x * self.calls
)");
  ASSERT_TRUE(trace.ok()) << trace.status();
  const auto result = RunTrace(*trace, ValueList({at::ones({3})}));
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_EQ(result->toTensor().sum().item<float>(), 9);
}

// One node of a loop reads the attributes of several.
TEST(ModuleState, ObjectsInAListHaveTheirOwnAttributes) {
  torch::jit::Module module("Thresholds");
  const auto unit = module._ivalue()->compilation_unit();
  const auto type = c10::ClassType::create("__torch__.Threshold", unit);
  type->addAttribute("value", c10::FloatType::get());
  unit->register_type(type);
  c10::impl::GenericList thresholds(type);
  for (const double value : {5.0, 1.0, 2.0}) {
    auto object = c10::ivalue::Object::create({unit, type}, 1);
    object->setSlot(0, value);
    thresholds.push_back(object);
  }
  module.register_attribute("thresholds", c10::ListType::create(type),
                            thresholds);
  module.define(R"(
def forward(self, x: Tensor) -> Tensor:
  y = x
  for threshold in self.thresholds:
    y = y * 10 + threshold.value
  return y
)");
  const auto model = Model::FromModule(module);
  ASSERT_TRUE(model.ok()) << model.status();
  const auto trace = BuildTrace(*model, ValueList({at::ones({3})}), {});
  ASSERT_TRUE(trace.ok()) << trace.status();
  const auto result = RunTrace(*trace, ValueList({at::zeros({3})}));
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_EQ(result->toTensor()[0].item<float>(), 512);
}

// A frozen one has lost what forward does not read.
TEST(ModuleState, ASubmoduleThatIsReturnedHasItsAttributes) {
  torch::jit::Module inner("Inner"), module("Outer");
  inner.register_attribute("training", c10::BoolType::get(), false);
  inner.register_attribute("steps", c10::IntType::get(), 3);
  module.register_attribute("training", c10::BoolType::get(), false);
  module.register_module("inner", inner);
  module.define("def forward(self, x: Tensor):\n  return self.inner, x + 1\n");
  const auto model = Model::FromModule(module);
  ASSERT_TRUE(model.ok()) << model.status();
  const auto trace = BuildTrace(*model, ValueList({at::ones({3})}), {});
  ASSERT_TRUE(trace.ok()) << trace.status();
  EXPECT_THAT(OpNames(*trace), ElementsAre("aten::add.Scalar"));
  const auto result = RunTrace(*trace, ValueList({at::zeros({3})}));
  ASSERT_TRUE(result.ok()) << result.status();
  const auto& parts = result->toTupleRef().elements();
  EXPECT_EQ(parts[0].toObjectRef().getAttr("steps").toInt(), 3);
  EXPECT_EQ(parts[1].toTensor().sum().item<float>(), 3);
}

// Though LibTorch runs all of it, and gradients could be taken where it is
// compiled.
TEST(ModuleState, NoGradientsAreTakenInAnyProgram) {
  const auto trace = TraceOf(R"(
def forward(self, x: Tensor) -> Tensor:
  self.calls += 1
  if torch.is_grad_enabled():
    x = x + 1000
  return x * 2
)");
  ASSERT_TRUE(trace.ok()) << trace.status();
  EXPECT_THAT(OpNames(*trace), ElementsAre("aitune::model"));
  const auto result = RunTrace(*trace, ValueList({at::ones({3})}));
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_EQ(result->toTensor().sum().item<float>(), 6);
}

TEST(ModuleState, ReadAfterBothBranchesSetIt) {
  const auto trace = TraceOf(R"(
def forward(self, x: Tensor) -> Tensor:
  if x.size(0) > 2:
    self.calls = 3
  else:
    self.calls = 4
  return x * self.calls
)");
  ASSERT_TRUE(trace.ok()) << trace.status();
  EXPECT_THAT(OpNames(*trace), ElementsAre("aten::mul.Scalar"));
}

TEST(ModuleState, ResultsThatDependOnItAreLibTorchs) {
  for (const char* source :
       {"def forward(self, x: Tensor) -> Tensor:\n"
        "  self.calls = self.calls + 1\n  return x * self.calls\n",
        "def forward(self, x: Tensor) -> Tensor:\n"
        "  y = x * self.scale\n  self.scale = torch.ones([1])\n  return y\n",
        "def forward(self, x: Tensor) -> Tensor:\n"
        "  self.scale = x\n  return x + 1\n",
        // Calls of other sizes see what this one set.
        "def forward(self, x: Tensor) -> Tensor:\n"
        "  if x.size(0) > self.calls:\n    self.calls = x.size(0)\n"
        "  return torch.constant_pad_nd(x, [0, self.calls - x.size(0)])\n",
        "def forward(self, x: Tensor) -> Tensor:\n"
        "  if x.size(0) > 2:\n    self.calls = 5\n"
        "  return x * self.calls\n",
        "def forward(self, x: Tensor) -> Tensor:\n"
        "  if x.size(0) > 2:\n    self.calls = 5\n"
        "  else:\n    self.scale = self.scale * self.calls\n"
        "  return x * self.scale\n",
        "def forward(self, x: Tensor) -> Tensor:\n"
        "  self.warned = True\n"
        "  if x.size(0) > 3 and self.warned:\n    x = x + self.calls\n"
        "  else:\n    self.calls = 2\n"
        "  return x\n"}) {
    const auto trace = TraceOf(source);
    ASSERT_TRUE(trace.ok()) << trace.status();
    EXPECT_THAT(OpNames(*trace), ElementsAre("aitune::model"));
    EXPECT_THAT(trace->ops[0].must_fall_back, HasSubstr("attribute"));
  }
}

}  // namespace
}  // namespace aitune::frontend
