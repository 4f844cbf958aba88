#include <ATen/ATen.h>
#include <ATen/core/Dict.h>
#include <ATen/core/ivalue.h>
#include <torch/csrc/jit/api/module.h>

#include <memory>
#include <string>
#include <vector>

#include "frontend/check/verification.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace aitune::frontend {
namespace {

using ::testing::HasSubstr;
using Object = c10::ivalue::Object;

Comparison Compare(const c10::IValue& ours, const c10::IValue& eager) {
  const std::vector<Comparison> results = CompareResults(ours, eager, nullptr);
  EXPECT_EQ(results.size(), 1u);
  return results.at(0);
}

// What a program returns that gives one of its submodules.
torch::jit::Module Scale(float factor, int64_t steps) {
  torch::jit::Module module("Scale");
  module.register_buffer("factor", at::full({2}, factor));
  module.register_attribute("steps", c10::IntType::get(), steps);
  return module;
}

TEST(CompareResults, ObjectsAreComparedByTheirAttributes) {
  const c10::IValue one = Scale(1, 3)._ivalue();
  EXPECT_TRUE(Compare(one, one).agrees);
  EXPECT_TRUE(Compare(one, Scale(1, 3)._ivalue()).agrees);
  // Of another class, by LibTorch's name for it.
  EXPECT_TRUE(Compare(one, Scale(1, 3).clone()._ivalue()).agrees);
  EXPECT_TRUE(Compare(one, Scale(1 + 1e-6f, 3)._ivalue()).agrees);
  const Comparison factor = Compare(one, Scale(2, 3)._ivalue());
  EXPECT_FALSE(factor.agrees);
  EXPECT_THAT(factor.problem, HasSubstr("differs in its attribute factor: "));
  EXPECT_GT(factor.max_error, 0.1);
  EXPECT_THAT(Compare(one, Scale(1, 4)._ivalue()).problem,
              HasSubstr("differs in its attribute steps: "));
  EXPECT_THAT(Compare(one, torch::jit::Module("Other")._ivalue()).problem,
              HasSubstr("is an object of the class __torch__.Scale, eager's of "
                        "__torch__.Other"));
}

TEST(CompareResults, ObjectsMayReferToEachOther) {
  const auto unit = std::make_shared<torch::jit::CompilationUnit>();
  const auto type = c10::ClassType::create("__torch__.Node", unit);
  type->addAttribute("next", c10::OptionalType::create(type));
  type->addAttribute("x", c10::TensorType::get());
  unit->register_type(type);
  const auto ring = [&](float x) {
    auto first = Object::create(c10::StrongTypePtr(unit, type), 2),
         second = Object::create(c10::StrongTypePtr(unit, type), 2);
    first->setSlot(0, second);
    first->setSlot(1, at::ones({1}));
    second->setSlot(0, first);
    second->setSlot(1, at::full({1}, x));
    return first;
  };
  const auto ours = ring(1), same = ring(1), other = ring(2);
  EXPECT_TRUE(Compare(ours, same).agrees);
  EXPECT_THAT(Compare(ours, other).problem,
              HasSubstr("differs in its attribute next: differs in its "
                        "attribute x: "));
  for (const auto& first : {ours, same, other})
    first->setSlot(0, c10::IValue());
}

TEST(CompareResults, KeysThatAreTensorsAreCompared) {
  const auto dict = [](float key) {
    c10::impl::GenericDict made(c10::TensorType::get(), c10::TensorType::get());
    made.insert(at::full({2}, key), at::ones({3}));
    return made;
  };
  EXPECT_TRUE(AllAgree(CompareResults(dict(1), dict(1), nullptr)));
  const std::vector<Comparison> results =
      CompareResults(dict(1), dict(2), nullptr);
  ASSERT_EQ(results.size(), 2u);
  EXPECT_EQ(results[0].output, ".keys()[0]");
  EXPECT_FALSE(results[0].agrees);
  EXPECT_TRUE(results[1].agrees);
}

}  // namespace
}  // namespace aitune::frontend
