#include "frontend/torchscript/copy_modules.h"

#include <ATen/Functions.h>
#include <torch/script.h>

#include <memory>
#include <string>
#include <vector>

#include "frontend/torchscript/model_internal.h"
#include "frontend/torchscript/optimized_program.h"
#include "frontend/torchscript/prepare.h"
#include "gtest/gtest.h"

namespace aitune::frontend {
namespace {

torch::jit::Module Nested() {
  torch::jit::Module inner("Inner"), outer("Outer");
  inner.register_buffer("weight", at::ones({3}));
  inner.define("def forward(self, x):\n  return x * self.weight\n");
  outer.register_module("first", inner);
  outer.register_module("again", inner);
  outer.define(
      "def forward(self, x):\n  return self.first.forward(x) + "
      "self.again.forward(x) * 1\n");
  outer.eval();
  return outer;
}

TEST(CopyModules, SharesTensorsAndKeepsOneSubmoduleOfTwoNames) {
  const torch::jit::Module module = Nested();
  for (const torch::jit::Module& copy :
       {torch::jit::Module(CopyObjects(module)), CopyModulesWithUnit(module)}) {
    EXPECT_NE(copy._ivalue(), module._ivalue());
    const torch::jit::Module first = copy.attr("first").toModule();
    EXPECT_NE(first._ivalue(), module.attr("first").toModule()._ivalue());
    EXPECT_EQ(first._ivalue(), copy.attr("again").toModule()._ivalue());
    EXPECT_TRUE(first.attr("weight").toTensor().is_same(
        module.attr("first").toModule().attr("weight").toTensor()));
    torch::jit::Module called = copy;
    EXPECT_TRUE(
        called.forward({at::ones({3})}).toTensor().equal(at::full({3}, 2.f)));
  }
}

// As those of a recurrent network, whose parameters are in a list, too.
TEST(CopyModules, LeavesListsOfParametersAsTheyAreWhenItIsFrozen) {
  torch::jit::Module module("Recurrent");
  const auto parameter = [&](const char* name) {
    const at::Tensor made = at::ones({3}).set_requires_grad(true);
    module.register_parameter(name, made, /*is_buffer=*/false);
    return made;
  };
  const at::Tensor weight = parameter("weight"), other = parameter("other");
  const c10::List<at::Tensor> weights({weight}), others({other});
  const c10::TypePtr list = c10::ListType::ofTensors();
  module.register_attribute("weights", list, weights);
  module.register_attribute("again", list, weights);
  module.register_attribute("pair", c10::TupleType::create({list}),
                            c10::ivalue::Tuple::create({others}));
  module.define(
      "def forward(self, x):\n"
      "  return x * self.weights[0] + self.again[0] * self.pair[0][0]\n");
  module.eval();
  const torch::jit::Module copy = CopyModulesWithUnit(module);
  EXPECT_TRUE(copy.attr("weights").is(copy.attr("again")));
  EXPECT_TRUE(copy.attr("weights").toTensorVector().at(0).is_same(weight));
  torch::jit::Module frozen = torch::jit::freeze(copy);
  EXPECT_TRUE(
      frozen.forward({at::ones({3})}).toTensor().equal(at::full({3}, 2.f)));
  std::vector<std::string> notes;
  ASSERT_TRUE(PrepareGraph(module, {}, /*for_gpu=*/false, notes).ok());
  EXPECT_TRUE(notes.empty()) << notes[0];
  EXPECT_TRUE(weights.get(0).is_same(weight));
  EXPECT_TRUE(others.get(0).is_same(other));
}

// They stay when the one that it is a copy of goes.
TEST(CopyModules, HaveFunctionsOfTheirOwn) {
  const auto resolver =
      [](const std::shared_ptr<torch::jit::CompilationUnit>& unit) {
        struct Functions : torch::jit::Resolver {
          std::shared_ptr<torch::jit::CompilationUnit> unit;
          std::shared_ptr<torch::jit::SugaredValue> resolveValue(
              const std::string& name, torch::jit::GraphFunction& function,
              const torch::jit::SourceRange& place) override {
            if (torch::jit::Function* const found = unit->find_function(name))
              return std::make_shared<torch::jit::FunctionValue>(found);
            return torch::jit::nativeResolver()->resolveValue(name, function,
                                                              place);
          }
        };
        auto made = std::make_shared<Functions>();
        made->unit = unit;
        return made;
      };
  torch::jit::Module copy("none");
  {
    auto unit = std::make_shared<torch::jit::CompilationUnit>();
    unit->define(std::nullopt, "def twice(x):\n  return x * 2\n",
                 torch::jit::nativeResolver(), nullptr);
    unit->define(std::nullopt, "def more(x):\n  return twice(x) + 1\n",
                 resolver(unit), nullptr);
    torch::jit::Module module(c10::QualifiedName("__torch__.Calls"), unit);
    module.define("def forward(self, x):\n  return more(twice(x))\n",
                  resolver(unit));
    copy = CloneProgram(module);
  }
  EXPECT_TRUE(
      copy.forward({at::ones({3})}).toTensor().equal(at::full({3}, 5.f)));
  EXPECT_EQ(copy._ivalue()->compilation_unit()->get_functions().size(), 3u);
}

// A model is traced anew for each version, and each time its weights are
// replaced.
TEST(CopyModules, KeepTheUnitOfAModelFromGrowing) {
  const std::string file = testing::TempDir() + "/nested.pt";
  Nested().save(file);
  const auto model = Model::Load(file);
  ASSERT_TRUE(model.ok()) << model.status();
  const torch::jit::Module& module = model->impl().module();
  const auto count = [&] {
    return module._ivalue()->compilation_unit()->get_functions().size();
  };
  const size_t before = count();
  std::vector<std::string> notes;
  for (int i = 0; i < 3; ++i) {
    ASSERT_TRUE(PrepareGraph(module, {}, /*for_gpu=*/false, notes).ok());
    ASSERT_TRUE(OptimizedProgram::Make(*model, {}).ok());
  }
  EXPECT_EQ(count(), before);
}

}  // namespace
}  // namespace aitune::frontend
