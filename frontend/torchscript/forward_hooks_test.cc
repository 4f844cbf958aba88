#include "frontend/torchscript/forward_hooks.h"

#include <ATen/ATen.h>
#include <torch/csrc/jit/frontend/resolver.h>
#include <torch/csrc/jit/ir/irparser.h>
#include <torch/csrc/jit/serialization/export.h>
#include <torch/csrc/jit/serialization/import.h>

#include <sstream>
#include <string>

#include "frontend/torchscript/model.h"
#include "frontend/values/value_list.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace aitune::frontend {
namespace {

// Module::define has no hooks; LibTorch compiles these as other methods.
torch::jit::Module MakeModule(const std::vector<std::string>& before,
                              const std::vector<std::string>& after) {
  torch::jit::Module module("m");
  module.register_buffer("scale", at::full({2}, 10.));
  module.define(R"(
def times(self, x: Tensor):
  return x * self.scale
def forward(self, x: Tensor, y: int = 1):
  return x + y
def scaled(self, given: Tuple[Tensor, int]) -> Tuple[Tensor, int]:
  return self.times(given[0]), given[1] + 1
def looks(self, given: Tuple[Tensor, int]) -> None:
  print(given[1])
def pair(self, given: Tuple[Tensor, int], result: Tensor) -> Tuple[Tensor, Tensor]:
  return given[0], result
)");
  for (const std::string& name : before)
    module.type()->addForwardPreHook(module.type()->findMethod(name));
  for (const std::string& name : after)
    module.type()->addForwardHook(module.type()->findMethod(name));
  return module;
}

void ExpectAsCalled(torch::jit::Module module) {
  const at::Tensor x = at::ones({2});
  const c10::IValue wanted = module({x, 5});
  auto model = Model::FromModule(module);
  ASSERT_TRUE(model.ok()) << model.status();
  const auto result =
      model->RunEager(ValueList(std::vector<c10::IValue>{x, int64_t{5}}));
  ASSERT_TRUE(result.ok()) << result.status();
  if (wanted.isTensor()) {
    EXPECT_TRUE(result->toTensor().equal(wanted.toTensor()));
    return;
  }
  for (size_t i = 0; i < 2; ++i)
    EXPECT_TRUE(result->toTupleRef().elements()[i].toTensor().equal(
        wanted.toTupleRef().elements()[i].toTensor()));
}

TEST(ForwardHooks, AreCalled) {
  ExpectAsCalled(MakeModule({"scaled"}, {}));
  ExpectAsCalled(MakeModule({"scaled", "looks", "scaled"}, {}));
  ExpectAsCalled(MakeModule({"looks"}, {"pair"}));
  ExpectAsCalled(MakeModule({"scaled"}, {"pair"}));
}

// Whose first node has the argument in its blocks.
TEST(ForwardHooks, OfAProgramThatBeginsWithABranch) {
  torch::jit::Module module("m");
  module.define(R"(
def forward(self, x: Tensor, flag: bool):
  if flag:
    x = x.relu()
  else:
    x = x.neg()
  return x
def shifted(self, given: Tuple[Tensor, bool]) -> Tuple[Tensor, bool]:
  return given[0] + 1, given[1]
)");
  module.type()->addForwardPreHook(module.type()->findMethod("shifted"));
  torch::jit::Module merged = WithHooksInForward(module);
  for (const bool flag : {false, true})
    EXPECT_TRUE(merged.forward({at::ones({2}), flag})
                    .toTensor()
                    .equal(at::full({2}, flag ? 2.f : -2.f)));
}

TEST(ForwardHooks, DefaultsStay) {
  const torch::jit::Module merged =
      WithHooksInForward(MakeModule({"scaled"}, {}));
  EXPECT_TRUE(torch::jit::Module(merged)
                  .get_method("forward")({at::ones({2})})
                  .toTensor()
                  .equal(at::full({2}, 12.)));
}

// Of a saved model once, and not once more after it was loaded.
TEST(ForwardHooks, AreNotCalledTwice) {
  const torch::jit::Module merged =
      WithHooksInForward(MakeModule({"scaled"}, {"pair"}));
  EXPECT_TRUE(merged.type()->getForwardPreHooks().empty());
  std::stringstream bytes;
  merged.save(bytes);
  torch::jit::Module loaded = torch::jit::load(bytes);
  const c10::IValue result = loaded({at::ones({2})});
  EXPECT_TRUE(
      result.toTupleRef().elements()[1].toTensor().equal(at::full({2}, 12.)));
}

// A submodule's are functions of its class, which the program calls.
TEST(ForwardHooks, ThoseOfSubmodulesStayTheirs) {
  struct HookResolver : torch::jit::Resolver {
    torch::jit::Function* hook = nullptr;
    std::shared_ptr<torch::jit::SugaredValue> resolveValue(
        const std::string& name, torch::jit::GraphFunction& function,
        const torch::jit::SourceRange& place) override {
      if (name == "hook")
        return std::make_shared<torch::jit::FunctionValue>(hook);
      return torch::jit::nativeResolver()->resolveValue(name, function, place);
    }
  };
  std::stringstream bytes;
  {
    torch::jit::Module inner("inner"), outer("outer");
    inner.define("def forward(self, x: Tensor):\n  return x * 3\n");
    auto& unit = *inner._ivalue()->compilation_unit();
    const auto graph = std::make_shared<torch::jit::Graph>();
    torch::jit::parseIR(R"(
graph(%self, %given, %result):
  %one : int = prim::Constant[value=1]()
  %sum : Tensor = aten::add(%result, %one, %one)
  return (%sum))",
                        graph.get());
    graph->inputs()[0]->setType(inner.type());
    graph->inputs()[1]->setType(
        c10::TupleType::create({c10::TensorType::get()}));
    auto resolver = std::make_shared<HookResolver>();
    resolver->hook = unit.create_function(
        c10::QualifiedName(*inner.type()->name(), "hook"), graph);
    inner.type()->addForwardHook(resolver->hook);
    outer.register_module("inner", inner);
    outer.define(
        "def forward(self, x: Tensor):\n"
        "  return hook(self.inner, (x,), self.inner.forward(x))\n"
        "def twice(self, given: Tuple[Tensor]) -> Tuple[Tensor]:\n"
        "  return (given[0] * 2,)\n",
        resolver);
    outer.type()->addForwardPreHook(outer.type()->findMethod("twice"));
    WithHooksInForward(outer).save(bytes);
  }
  torch::jit::Module loaded = torch::jit::load(bytes);
  EXPECT_TRUE(loaded({at::ones({2})}).toTensor().equal(at::full({2}, 7.f)));
}

TEST(ForwardHooks, AModuleWithoutStaysItself) {
  const torch::jit::Module module = MakeModule({}, {});
  EXPECT_EQ(WithHooksInForward(module)._ivalue(), module._ivalue());
}

}  // namespace
}  // namespace aitune::frontend
