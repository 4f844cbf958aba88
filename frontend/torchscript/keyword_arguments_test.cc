#include "frontend/torchscript/keyword_arguments.h"

#include <ATen/Functions.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/csrc/jit/api/module.h>

#include <string>
#include <vector>

namespace aitune::frontend {
namespace {

using testing::HasSubstr;

Model TestModel() {
  torch::jit::Module module("Named");
  module.register_attribute("training", c10::BoolType::get(), false);
  module.define(
      "def forward(self, x: Tensor, scale: float = 2.0,\n"
      "            mask: Optional[Tensor] = None, shift: int = 1):\n"
      "    y = x * scale + shift\n"
      "    if mask is not None:\n"
      "        y = y * mask\n"
      "    return y\n");
  auto model = Model::FromModule(module);
  EXPECT_TRUE(model.ok()) << model.status();
  return *std::move(model);
}

absl::StatusOr<ValueList> Call(const Model& model,
                               std::vector<c10::IValue> positional,
                               const std::vector<std::string>& names,
                               std::vector<c10::IValue> named) {
  return WithKeywordArguments(model, ValueList(std::move(positional)), names,
                              ValueList(std::move(named)));
}

TEST(KeywordArguments, AreThoseOfAPositionalCall) {
  const Model model = TestModel();
  const at::Tensor x = at::ones({2}), mask = at::tensor({0.f, 1.f});
  const auto call = Call(model, {x}, {"mask"}, {mask});
  ASSERT_TRUE(call.ok()) << call.status();
  ASSERT_EQ(call->size(), 3);  // the default of `scale` between them
  EXPECT_EQ(call->values()[1].toDouble(), 2);
  const auto result = model.RunEager(*call);
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_TRUE(result->toTensor().equal(at::tensor({0.f, 3.f})));
  // Named in another order, and all of them.
  const auto all = Call(model, {}, {"shift", "x"}, {int64_t{5}, x});
  ASSERT_TRUE(all.ok()) << all.status();
  ASSERT_EQ(all->size(), 4);
  EXPECT_TRUE(all->values()[2].isNone());
  EXPECT_EQ(all->values()[3].toInt(), 5);
  EXPECT_EQ(Call(model, {x}, {}, {})->size(), 1);
}

TEST(KeywordArguments, WrongOnesAreErrorsWithTheSignature) {
  const Model model = TestModel();
  const at::Tensor x = at::ones({2});
  const auto text = [&](std::vector<c10::IValue> positional,
                        const std::vector<std::string>& names,
                        std::vector<c10::IValue> named) {
    const auto call =
        Call(model, std::move(positional), names, std::move(named));
    EXPECT_TRUE(absl::IsInvalidArgument(call.status())) << call.status();
    return std::string(call.status().message());
  };
  EXPECT_THAT(text({x}, {"bias"}, {x}),
              testing::AllOf(HasSubstr("'bias', which there is not"),
                             HasSubstr("forward(x: Tensor")));
  EXPECT_THAT(text({x}, {"x"}, {x}), HasSubstr("'x' twice"));
  EXPECT_THAT(text({}, {"mask"}, {x}), HasSubstr("lacks the argument 'x'"));
  EXPECT_THAT(text({x}, {"mask", "shift"}, {x}),
              HasSubstr("2 names for 1 values"));
  EXPECT_THAT(text({x, 1., x, int64_t{1}, x}, {}, {}),
              HasSubstr("more than there are parameters"));
}

}  // namespace
}  // namespace aitune::frontend
