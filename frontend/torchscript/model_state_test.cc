// The state of models is found, saved and put back; what runs a model works on
// the same state.
#include "frontend/torchscript/model_state.h"

#include <ATen/Functions.h>
#include <torch/csrc/jit/api/module.h>

#include "frontend/torchscript/optimized_program.h"
#include "frontend/torchscript/submodule_times.h"
#include "frontend/tracing/trace_test_util.h"
#include "gtest/gtest.h"

namespace aitune::frontend {
namespace {

// With a buffer, a number, a list and a dict that a program may change.
Model StatefulModel(const std::string& source) {
  torch::jit::Module module("Stateful");
  module.register_attribute("training", c10::BoolType::get(), false);
  module.register_buffer("count", at::zeros({1}));
  module.register_buffer("cache", at::zeros({4, 2}));
  module.register_buffer("other", at::ones({4, 2}));
  module.register_buffer("third", at::ones({1}));
  module.register_buffer("fourth", at::full({1}, 2));
  module.register_parameter("weight", at::ones({2}), /*is_buffer=*/false);
  module.register_attribute("calls", c10::IntType::get(), 0);
  module.register_attribute("seen", c10::ListType::ofTensors(),
                            c10::List<at::Tensor>());
  module.register_attribute(
      "by_name",
      c10::DictType::create(c10::StringType::get(), c10::IntType::get()),
      c10::Dict<std::string, int64_t>());
  module.define(source);
  auto model = Model::FromModule(module);
  EXPECT_TRUE(model.ok()) << model.status();
  return *std::move(model);
}

at::Tensor Call(const Model& model) {
  const auto result = model.RunEager(ValueList({at::ones({2})}));
  EXPECT_TRUE(result.ok()) << result.status();
  return result->toTensor().clone();
}

class Stateful : public testing::TestWithParam<const char*> {};

TEST_P(Stateful, StartsFromWhereItWasSaved) {
  const Model model = StatefulModel(GetParam());
  ModelState state(model);
  ASSERT_TRUE(state.exists());
  Call(model);  // not from the state when it was loaded
  state.Save();
  EXPECT_FALSE(state.HasChanged());
  const at::Tensor first = Call(model), second = Call(model);
  EXPECT_TRUE(state.HasChanged());
  EXPECT_FALSE(first.equal(second));
  for (int repeat = 0; repeat < 2; ++repeat) {
    state.Restore();
    EXPECT_TRUE(Call(model).equal(first));
    EXPECT_TRUE(Call(model).equal(second));
  }
}

TEST_P(Stateful, IsAsBeforeOnceTheSubmodulesWereTimed) {
  const Model model = StatefulModel(GetParam());
  ModelState state(model);
  state.Save();
  const at::Tensor first = Call(model);
  state.Restore();
  const at::Tensor argument = at::ones({2});
  const auto times = TimeSubmodules(model, ValueList({argument}), 3);
  ASSERT_TRUE(times.ok()) << times.status();
  EXPECT_FALSE(state.HasChanged());
  EXPECT_TRUE(argument.equal(at::ones({2})));
  EXPECT_TRUE(Call(model).equal(first));
}

// What LibTorch runs of a compiled model, and its optimised program, count on
// where eager stopped.
TEST_P(Stateful, AllProgramsOfAModelShareIt) {
  const Model model = StatefulModel(GetParam());
  ModelState state(model);
  state.Save();
  const at::Tensor first = Call(model), second = Call(model);
  state.Restore();
  const ValueList arguments({at::ones({2})});
  const auto trace = BuildTrace(model, arguments, {});
  ASSERT_TRUE(trace.ok()) << trace.status();
  const auto optimized = OptimizedProgram::Make(model, {});
  ASSERT_TRUE(optimized.ok()) << optimized.status();
  const auto traced = RunTrace(*trace, arguments);
  ASSERT_TRUE(traced.ok()) << traced.status();
  EXPECT_TRUE(traced->toTensor().equal(first));
  EXPECT_TRUE(Call(model).equal(second));
  state.Restore();
  EXPECT_TRUE((*optimized)->Run(arguments)->toTensor().equal(first));
  EXPECT_TRUE(Call(model).equal(second));
}

INSTANTIATE_TEST_SUITE_P(
    Programs, Stateful,
    testing::Values("def forward(self, x: Tensor) -> Tensor:\n"
                    "  self.count.add_(1)\n  return x * self.count\n",
                    "def forward(self, x: Tensor) -> Tensor:\n"
                    "  self.count = self.count + 1\n  return x * self.count\n",
                    "def forward(self, x: Tensor) -> Tensor:\n"
                    "  self.calls = self.calls + 1\n  return x * self.calls\n",
                    // Through views, in a branch.
                    "def forward(self, x: Tensor) -> Tensor:\n"
                    "  if bool(x.sum() > 0):\n"
                    "    self.cache[self.calls % 4, :] = x + self.calls\n"
                    "  self.calls = self.calls + 1\n  return self.cache * 1\n",
                    "def forward(self, x: Tensor) -> Tensor:\n"
                    "  self.cache.view([8]).narrow(0, 2, 4).mul_(2).add_(1)\n"
                    "  return self.cache * 1\n",
                    "def forward(self, x: Tensor) -> Tensor:\n"
                    "  self.count.resize_([self.count.size(0) + 1]).fill_(1)\n"
                    "  return self.count.sum() * x\n",
                    "def forward(self, x: Tensor) -> Tensor:\n"
                    "  self.seen.append(x)\n  return x * len(self.seen)\n",
                    "def forward(self, x: Tensor) -> Tensor:\n"
                    "  if len(self.seen) == 0:\n    self.seen.append(x * 0)\n"
                    "  self.seen[0].add_(1)\n  return self.seen[0] * 1\n",
                    "def forward(self, x: Tensor) -> Tensor:\n"
                    "  self.by_name[str(len(self.by_name))] = 1\n"
                    "  return x * len(self.by_name)\n",
                    // By operators whose schemas don't say that they write.
                    "def forward(self, x: Tensor) -> Tensor:\n"
                    "  y = torch.batch_norm(torch.stack([x, x + 1]), None, "
                    "None, self.cache[0], self.cache[1], True, 0.5, 1e-5, "
                    "False)\n"
                    "  return self.cache[0] + y.sum()\n",
                    "def forward(self, x: Tensor) -> Tensor:\n"
                    "  y = torch.instance_norm(torch.stack([x, x + 1])"
                    ".unsqueeze(0), None, None, self.cache[0], self.cache[1], "
                    "not self.training, 0.5, 1e-5, False)\n"
                    "  return self.cache[0] + y.sum()\n",
                    // Tensors that attributes come to have, or containers hold.
                    "def forward(self, x: Tensor) -> Tensor:\n"
                    "  t = self.cache\n  self.cache = self.other\n"
                    "  self.other = t\n  self.cache.add_(1)\n"
                    "  return self.cache.sum() * x\n",
                    "def forward(self, x: Tensor) -> Tensor:\n"
                    "  self.cache = self.other\n  self.cache.add_(1)\n"
                    "  return self.other.sum() * x\n",
                    "def forward(self, x: Tensor) -> Tensor:\n"
                    "  t = self.count\n  self.count = self.third\n"
                    "  self.third = self.fourth\n  self.fourth = t\n"
                    "  self.count.add_(1)\n"
                    "  return (self.count + 3 * self.third) * x\n",
                    "def forward(self, x: Tensor) -> Tensor:\n"
                    "  parts: List[Tensor] = []\n"
                    "  parts.append(self.count)\n  parts[-1].add_(1)\n"
                    "  return self.count * x\n",
                    "def forward(self, x: Tensor) -> Tensor:\n"
                    "  parts = {'a': self.count, 'b': self.third}\n"
                    "  parts['b' if bool(x.sum() > 0) else 'a'].add_(1)\n"
                    "  return (self.count + self.third) * x\n",
                    "def forward(self, x: Tensor) -> Tensor:\n"
                    "  t = self.count if bool(x.sum() > 0) else self.third\n"
                    "  t.add_(1)\n  return (self.count + self.third) * x\n",
                    "def forward(self, x: Tensor) -> Tensor:\n"
                    "  t = self.count if bool(x.sum() > 0) else self.third\n"
                    "  torch.add(self.fourth, t, out=t)\n"
                    "  return (self.count + self.third) * x\n",
                    "def forward(self, x: Tensor) -> Tensor:\n"
                    "  self.count.set_(self.third)\n  self.count.add_(1)\n"
                    "  return (self.count + self.third) * x\n"));

TEST(ModelState, ProgramsThatWriteOnlyWhatTheyMadeHaveNone) {
  for (const char* body :
       {"  return x * self.weight\n",
        "  y = x * self.weight\n  y.add_(1)\n  y[0] = 3\n  return y\n",
        "  x.add_(1)\n  return x\n",
        "  return torch.batch_norm(x.unsqueeze(0), None, None, self.cache[0], "
        "self.cache[1], self.training, 0.5, 1e-5, False)\n",
        "  train = True if self.training else False\n"
        "  return torch.batch_norm(x.unsqueeze(0), None, None, self.cache[0], "
        "self.cache[1], train, 0.5, 1e-5, False)\n",
        "  return torch.batch_norm(torch.stack([x, x + 1]), None, None, None, "
        "None, True, 0.5, 1e-5, False)\n",
        "  parts = [x + 1, x + 2]\n  parts.append(self.count)\n"
        "  return torch.stack([parts[0], parts[1]])\n"}) {
    const Model model = StatefulModel(
        std::string("def forward(self, x: Tensor) -> Tensor:\n") + body);
    EXPECT_FALSE(ModelState(model).exists()) << body;
  }
}

}  // namespace
}  // namespace aitune::frontend
