// The check on runs of a model that are wrong on purpose, or right in a way
// that is easily taken for wrong.
#include "frontend/check/check.h"

#include <ATen/ATen.h>
#include <ATen/core/ivalue.h>
#include <torch/csrc/jit/api/module.h>

#include <cmath>

#include "frontend/check/check_testing.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace aitune::frontend {
namespace {

using ::testing::HasSubstr;

// Counts its calls in a buffer.
Model Counter() {
  torch::jit::Module module("Counter");
  module.register_attribute("training", c10::BoolType::get(), false);
  module.register_buffer("count", at::zeros({1}));
  module.define(
      "def forward(self, x: Tensor) -> Tensor:\n"
      "  self.count.add_(1)\n  return x * self.count\n");
  auto model = Model::FromModule(module);
  EXPECT_TRUE(model.ok()) << model.status();
  return *std::move(model);
}

RunFunction Eager(const Model& model) {
  return [&model](const ValueList& arguments) {
    return model.RunEager(arguments);
  };
}

constexpr char kLookUp[] =
    "def forward(self, i: Tensor):\n"
    "  return torch.arange(4).index_select(0, i)\n";

TEST(CheckAgainstEager, WhereEagerRaisesOursMustRaise) {
  const Model model = FromSource(kLookUp);
  const at::Tensor good = at::tensor({1, 2}), bad = at::tensor({1, 9});
  const CheckReport both = Check(Eager(model), model, {good, bad});
  EXPECT_TRUE(both.agrees());
  EXPECT_THAT(both.cases[1].both_raise, HasSubstr("index"));
  const CheckReport clamps = Check(
      [&](const ValueList& arguments) {
        return model.RunEager(
            ValueList({arguments.values()[0].toTensor().clamp(0, 3)}));
      },
      model, {good, bad});
  EXPECT_FALSE(clamps.agrees());
  EXPECT_TRUE(clamps.cases[0].agrees());
  EXPECT_THAT(clamps.cases[1].note, HasSubstr("eager raises, ours does not: "));
  // Nothing was compared where eager always raises.
  EXPECT_FALSE(Check(Eager(model), model, {bad}).agrees());
}

// prim::grad gives an undefined one, which compiled models give as None.
TEST(CheckAgainstEager, AnUndefinedTensorIsNone) {
  const Model model =
      FromSource("def forward(self, x: Tensor):\n  return x.grad, x + 1\n");
  const at::Tensor x = at::ones({3});
  const auto gives = [&](const c10::IValue& first) {
    return Check(
        [&](const ValueList& arguments) -> absl::StatusOr<c10::IValue> {
          return c10::ivalue::Tuple::create(
              first, arguments.values()[0].toTensor() + 1);
        },
        model, {x});
  };
  EXPECT_TRUE(gives(c10::IValue()).agrees());
  EXPECT_TRUE(gives(at::Tensor()).agrees());
  EXPECT_FALSE(gives(x).agrees());
}

TEST(CheckAgainstEager, APathInFloat16ExcusesNoOther) {
  const Model model = FromSource(
      "def forward(self, x: Tensor):\n"
      "  if x.size(0) > 4:\n    return (x.half() * 2).float()\n"
      "  return x * 2\n");
  const Model exact =
      FromSource("def forward(self, x: Tensor):\n  return x * 2\n");
  CheckOptions options;
  options.reference = [&](DataType) -> absl::StatusOr<const Model*> {
    return &exact;
  };
  const CheckReport report = Check(
      [&](const ValueList& arguments) -> absl::StatusOr<c10::IValue> {
        return c10::IValue(arguments.values()[0].toTensor() * 2.0004);
      },
      model, {at::ones({8}) + at::rand({8}), at::ones({3})}, options);
  EXPECT_TRUE(report.cases[0].agrees()) << report.cases[0].Problem();
  EXPECT_FALSE(report.cases[1].agrees());
}

TEST(CheckAgainstEager, WhatLibTorchHasNoKernelForIsNotCompared) {
  const Model model = FromSource(
      "def forward(self, x: Tensor):\n"
      "  return torch.mm(x, x)\n");
  const Model ours = FromSource(
      "def forward(self, x: Tensor):\n"
      "  return x\n");
  const CheckReport report =
      Check(Eager(ours), model, {at::ones({2, 2}, at::kBool)});
  EXPECT_TRUE(report.cases[0].skipped);
  EXPECT_THAT(report.cases[0].note, HasSubstr("LibTorch cannot run it here: "));
  EXPECT_FALSE(report.compared());
}

// Beside cases that can't be compared, NaN that is NaN in ours is no agreement.
// Draws a number of its own first.
RunFunction WithOtherDraws(const Model& model) {
  return [&model](const ValueList& arguments) {
    at::rand({1});
    return model.RunEager(arguments);
  };
}

TEST(CheckAgainstEager, ThatNothingIsFiniteIsNoComparison) {
  const Model model = FromSource(
      "def forward(self, x: Tensor):\n"
      "  return x * torch.rand([2])\n");
  const at::Tensor nan = at::full({2}, std::nan(""));
  const CheckReport report =
      Check(WithOtherDraws(model), model, {at::ones({2}), nan});
  EXPECT_TRUE(report.cases[0].skipped);
  EXPECT_FALSE(report.cases[1].skipped);
  EXPECT_FALSE(report.compared());
  EXPECT_FALSE(report.agrees());
  const Model fixed =
      FromSource("def forward(self, x: Tensor): return x * 2\n");
  EXPECT_TRUE(Check(Eager(fixed), fixed, {nan}).agrees());
}

TEST(CheckReport, ItsProblemNamesTheCase) {
  const Model model = FromSource(
      "def forward(self, x: Tensor):\n"
      "  return x + 1\n");
  const at::Tensor zeros = at::zeros({2});
  EXPECT_EQ(Check(Eager(model), model, {zeros}).Problem(), "");
  const CheckReport wrong = Check(
      [&](const ValueList& arguments) -> absl::StatusOr<c10::IValue> {
        return c10::IValue(arguments.values()[0].toTensor() + 2);
      },
      model, {zeros});
  EXPECT_THAT(wrong.Problem(), HasSubstr("case: output error 1 "));
  const Model raises = FromSource(kLookUp);
  EXPECT_THAT(Check(Eager(raises), raises, {at::tensor({1, 9})}).Problem(),
              testing::AllOf(HasSubstr("case: eager raises for it: "),
                             HasSubstr("index")));
}

// Small scores beside a large weight: they differ by less than its rounding. No
// change of the input moves them.
TEST(CheckAgainstEager, AnOrderThatRoundingsOfTheWeightsChange) {
  torch::jit::Module module("Scores");
  module.register_attribute("training", c10::BoolType::get(), false);
  const at::Tensor scores = at::rand({64}).mul(1e-8);
  const at::Tensor weights = at::cat({at::ones({8}), scores});
  module.register_buffer("weights", weights.clone());
  module.define(
      "def forward(self, x: Tensor) -> Tensor:\n"
      "  return torch.argsort(self.weights[8:] + 0 * x.sum())\n");
  auto model = Model::FromModule(module);
  ASSERT_TRUE(model.ok()) << model.status();
  const auto ordered = [&](const at::Tensor& by) {
    return [by](const ValueList&) -> absl::StatusOr<c10::IValue> {
      return by.argsort();
    };
  };
  const at::Tensor noise = at::rand({64}).sub(0.5).mul(0x1p-26);
  const CheckReport right =
      Check(ordered(scores.add(noise)), *model, {at::ones({2})});
  EXPECT_TRUE(right.agrees()) << right.Problem();
  EXPECT_TRUE(right.cases[0].ill_conditioned);
  EXPECT_TRUE(module.attr("weights").toTensor().equal(weights));
  // An order that is clear must be right.
  module.attr("weights").toTensor().copy_(at::linspace(0, 1, 72));
  const CheckReport wrong =
      Check(ordered(scores.neg()), *model, {at::ones({2})});
  EXPECT_THAT(wrong.Problem(), HasSubstr("ours differs in "));
}

// Numbers, NaN and infinity there are all a matter of rounding.
TEST(CheckAgainstEager, AnInputThatIsSingularInOneRunOfEager) {
  CheckOptions options;
  options.reference = [](DataType) -> absl::StatusOr<const Model*> {
    return absl::UnavailableError("none");
  };
  const auto check = [&](const char* program, const at::Tensor& ours) {
    const Model model = FromSource(program);
    return Check(
        [&](const ValueList&) -> absl::StatusOr<c10::IValue> { return ours; },
        model, {at::ones({8})}, options);
  };
  const at::Tensor numbers = at::arange(1, 9).to(at::kFloat);
  // Eager's own difference is 0.
  constexpr char kDifference[] =
      "def forward(self, x: Tensor):\n"
      "  return torch.arange(1, 9).to(6) / (x[0] - x[1])\n";
  const CheckReport right = check(kDifference, numbers * 0x1p22);
  EXPECT_TRUE(right.agrees()) << right.Problem();
  EXPECT_TRUE(right.cases[0].ill_conditioned);
  EXPECT_EQ(right.no_reference, "none");
  EXPECT_TRUE(check(kDifference, numbers / 0).agrees());
  // No other run is far enough from the others, or has a NaN.
  EXPECT_FALSE(check(kDifference, numbers * 1e20).agrees());
  EXPECT_THAT(check(kDifference, numbers * NAN).Problem(),
              HasSubstr("NaN or infinity differs in 8 of 8 elements"));
  // Each rounding of the input is infinite.
  constexpr char kZero[] =
      "def forward(self, x: Tensor):\n"
      "  return torch.arange(1, 9).to(6) / (x[0] * 0)\n";
  EXPECT_FALSE(check(kZero, numbers * 0x1p22).agrees());
  constexpr char kLogarithm[] =
      "def forward(self, x: Tensor):\n"
      "  return (torch.arange(8).to(6) * x[0]).log()\n";
  EXPECT_FALSE(
      check(kLogarithm, numbers.sub(1).clamp_min(1e-7).log()).agrees());
  // Other runs are finite, and all of them the same.
  constexpr char kJump[] =
      "def forward(self, x: Tensor):\n"
      "  n = torch.arange(1, 9).to(6)\n"
      "  return torch.where(x[0] == x[1], n / 0, n)\n";
  EXPECT_TRUE(check(kJump, numbers).agrees());
  EXPECT_FALSE(check(kJump, numbers * 1.1).agrees());
  // Those of one step are all the same, those of several are not.
  constexpr char kSteps[] =
      "def forward(self, x: Tensor):\n"
      "  n = torch.arange(1, 9).to(6)\n"
      "  d = (x[0] - x[1]).abs()\n"
      "  n = torch.where(d > 2.5 * 2. ** -23, n * 2, n)\n"
      "  return torch.where(d == 0, n / 0, n)\n";
  EXPECT_TRUE(check(kSteps, numbers * 1.1).agrees());
  EXPECT_FALSE(check(kSteps, numbers * 20).agrees());
}

TEST(CheckAgainstEager, RunsOfEagerThatRaiseSayNothing) {
  // Only the sign of zero and what is next to it is left of the last element.
  const Model model = FromSource(
      "def forward(self, x: Tensor):\n"
      "  assert bool(x[0] == 1.0), 'singular'\n"
      "  return x[1:3] - x[3]\n");
  const at::Tensor x = at::tensor({1.f, 2.f, 2 + 0x1p-22f, 2.f});
  const CheckReport report = Check(
      [&](const ValueList&) -> absl::StatusOr<c10::IValue> {
        return at::tensor({0x1p-22f, 0x1p-22f});
      },
      model, {x});
  EXPECT_TRUE(report.agrees()) << report.Problem();
  EXPECT_TRUE(report.cases[0].ill_conditioned);
}

TEST(CheckAgainstEager, StateIsCopiedAndPutBack) {
  const Model model = Counter();
  const at::Tensor x = at::ones({2});
  ASSERT_TRUE(model.RunEager(ValueList({x})).ok());
  const CheckReport report = Check(Eager(model), model, {x, x + 1});
  EXPECT_TRUE(report.agrees());
  EXPECT_FALSE(report.cases[0].skipped) << report.cases[0].note;
  EXPECT_EQ(model.RunEager(ValueList({x}))->toTensor()[0].item<float>(), 2);
}

TEST(CheckAgainstEager, LostStateIsSeenInTheSecondCall) {
  const Model model = Counter();
  const CheckReport report = Check(
      [](const ValueList& arguments) -> absl::StatusOr<c10::IValue> {
        return arguments.values()[0].toTensor() * 1;
      },
      model, {at::ones({2})});
  EXPECT_FALSE(report.agrees());
  ASSERT_EQ(report.cases[0].outputs.size(), 1u);
  EXPECT_THAT(report.cases[0].outputs[0].problem,
              HasSubstr("in the second call error 0.5"));
}

TEST(CheckAgainstEager, AWrongSecondCallIsSeen) {
  const Model model =
      FromSource("def forward(self, x: Tensor):\n return x + 1");
  int calls = 0;
  const CheckReport report = Check(
      [&](const ValueList& arguments) -> absl::StatusOr<c10::IValue> {
        return arguments.values()[0].toTensor() + (++calls % 2 == 1 ? 1 : 2);
      },
      model, {at::ones({2})});
  EXPECT_FALSE(report.agrees());
  EXPECT_THAT(report.cases[0].outputs[0].problem,
              HasSubstr("in the second call"));
}

TEST(CheckAgainstEager, AResultMustOutliveTheNextCall) {
  const Model model =
      FromSource("def forward(self, x: Tensor):\n return x + 1");
  at::Tensor memory = at::empty({2});
  int calls = 0;
  const CheckReport report = Check(
      [&](const ValueList& arguments) -> absl::StatusOr<c10::IValue> {
        // The first result becomes nonsense, the second is right.
        if (++calls % 2 == 0) memory.fill_(77);
        const at::Tensor result = arguments.values()[0].toTensor() + 1;
        if (calls % 2 == 0) return result;
        memory.copy_(result);
        return memory;
      },
      model, {at::ones({2})});
  EXPECT_FALSE(report.agrees());
  EXPECT_THAT(report.cases[0].note, HasSubstr("second call changed"));
}

TEST(CheckAgainstEager, InputsThatTheModelWritesAreCopies) {
  const Model model =
      FromSource("def forward(self, x: Tensor):\n x.add_(1)\n return x * 2");
  const at::Tensor x = at::ones({2});
  EXPECT_TRUE(Check(Eager(model), model, {x}).agrees());
  EXPECT_TRUE(x.equal(at::ones({2})));
}

TEST(CheckAgainstEager, ArgumentsOfOtherSizesThanEagersAreWrong) {
  const Model model =
      FromSource("def forward(self, x: Tensor):\n x.t_()\n return x + 1");
  const std::vector<at::Tensor> inputs = {at::ones({2, 3})};
  EXPECT_TRUE(Check(Eager(model), model, inputs).agrees());
  const auto leaves_them =
      [](const ValueList& arguments) -> absl::StatusOr<c10::IValue> {
    return arguments.values()[0].toTensor().t() + 1;
  };
  EXPECT_FALSE(Check(leaves_them, model, inputs).agrees());
}

TEST(CheckAgainstEager, RandomNumbersAreOfOneSeed) {
  const Model model =
      FromSource("def forward(self, x: Tensor):\n return torch.rand_like(x)");
  at::manual_seed(5);
  const at::Tensor expected = at::rand({4});
  at::manual_seed(5);
  EXPECT_TRUE(Check(Eager(model), model, {at::ones({64})}).agrees());
  EXPECT_TRUE(at::rand({4}).equal(expected)) << "they are put back";
  const CheckReport others =
      Check(WithOtherDraws(model), model, {at::ones({64})});
  EXPECT_TRUE(others.cases[0].skipped);
  EXPECT_FALSE(others.agrees());
}

// The last of equal elements in place of the first.
TEST(CheckAgainstEager, AWrongChoiceAmongEqualsIsWrong) {
  const Model model =
      FromSource("def forward(self, x: Tensor):\n return torch.argmax(x, 1)");
  const RunFunction last =
      [](const ValueList& arguments) -> absl::StatusOr<c10::IValue> {
    const at::Tensor x = arguments.values()[0].toTensor();
    return x.size(1) - 1 - x.flip({1}).argmax(1);
  };
  EXPECT_TRUE(Check(last, model, {at::randn({8, 16})}).agrees());
  at::Tensor ties = at::randn({8, 16});
  ties.slice(1, 3, 5).fill_(9);
  EXPECT_FALSE(Check(last, model, {ties}).agrees());
  EXPECT_FALSE(Check(last, model, {at::ones({8, 16})}).agrees());
}

// Sums whose last bits decide: eager wavers there too, and only there.
TEST(CheckAgainstEager, NearlyEqualScoresMayBeOrderedOtherwise) {
  const Model model = FromSource(
      "def forward(self, x: Tensor):\n"
      "  return torch.argmax(torch.stack([x.sum(1), (x * 3).sum(1) / 3]), "
      "0)\n");
  at::manual_seed(0);
  const at::Tensor x = at::randn({64, 1000});
  const RunFunction other =
      [&](const ValueList& arguments) -> absl::StatusOr<c10::IValue> {
    const at::Tensor in = arguments.values()[0].toTensor().to(at::kDouble);
    return at::stack(
               {in.sum(1).to(at::kFloat), ((in * 3).sum(1) / 3).to(at::kFloat)})
        .argmax(0);
  };
  const CheckReport report = Check(other, model, {x});
  EXPECT_TRUE(report.agrees()) << report.cases[0].outputs[0].problem;
  EXPECT_GT(report.cases[0].outputs[0].excused, 0);
}

TEST(CheckAgainstEager, AFloat32OutputOfFloat16ArithmeticIsHeldToFloat16) {
  const std::string tail =
      "(torch.softmax(torch.matmul(y, y.t()) * 0.1, 1))\n  return y.float()\n";
  const Model half =
      FromSource("def forward(self, x: Tensor):\n  y = x * 1.7\n  y = " + tail);
  const Model single = FromSource(
      "def forward(self, x: Tensor):\n  y = x.float() * 1.7\n  y = " + tail);
  const at::Tensor x = at::randn({64, 64}).to(at::kHalf);
  // One rounding at the end in place of one after each operator.
  const RunFunction exact =
      [&](const ValueList& arguments) -> absl::StatusOr<c10::IValue> {
    return single.RunEager(arguments)->toTensor().to(at::kHalf).to(at::kFloat);
  };
  EXPECT_TRUE(Check(exact, half, {x}).agrees());
  // The same errors where the arithmetic is that of float32.
  EXPECT_FALSE(Check(exact, single, {x}).agrees());
}

// Scores beyond float16 are NaN in eager, and finite where they stay in
// float32.
TEST(CheckAgainstEager, AnAttentionThatOverflowsInEagerAlone) {
  const Model model = FromSource(
      "def forward(self, q: Tensor, k: Tensor, v: Tensor, b: Tensor):\n"
      "  s = torch.matmul(q, k.transpose(-1, -2)) * 0.125 + b\n"
      "  return torch.matmul(torch.softmax(s, -1), v)\n");
  at::manual_seed(1);
  std::vector<c10::IValue> large;
  for (const auto& sizes : std::vector<std::vector<int64_t>>{
           {2, 2, 64, 64}, {2, 2, 64, 64}, {2, 2, 64, 64}, {1, 2, 64, 64}})
    large.emplace_back((at::randn(sizes) * 100).to(at::kHalf));
  const RunFunction in_float32 =
      [&](const ValueList& arguments) -> absl::StatusOr<c10::IValue> {
    std::vector<c10::IValue> wide;
    for (const c10::IValue& value : arguments.values())
      wide.emplace_back(value.toTensor().to(at::kFloat));
    return model.RunEager(ValueList(wide))->toTensor().to(at::kHalf);
  };
  CheckOptions options;
  options.reference = [&](DataType) -> absl::StatusOr<const Model*> {
    return &model;
  };
  const InputCase cases[] = {{"large", ValueList(large)}};
  for (const RunFunction& ours : {in_float32, Eager(model)}) {
    const CheckReport report = CheckAgainstEager(ours, model, cases, options);
    EXPECT_TRUE(report.agrees())
        << report.cases[0].note << report.cases[0].outputs[0].problem;
  }
}

TEST(CheckAgainstEager, ANarrowedModelIsHeldToWhatWasAskedFor) {
  const Model model = FromSource(
      "def forward(self, x: Tensor):\n return torch.matmul(x, x.t())");
  const RunFunction narrow =
      [&](const ValueList& arguments) -> absl::StatusOr<c10::IValue> {
    const at::Tensor x = arguments.values()[0].toTensor().to(at::kBFloat16);
    return at::matmul(x, x.t()).to(at::kFloat);
  };
  const std::vector<at::Tensor> inputs = {at::randn({64, 64})};
  EXPECT_FALSE(Check(narrow, model, inputs).agrees());
  CheckOptions options;
  options.narrowed_to = DataType::kBFloat16;
  EXPECT_TRUE(Check(narrow, model, inputs, options).agrees());
  const RunFunction wrong = [&](const ValueList& arguments) {
    return narrow(ValueList({arguments.values()[0].toTensor() * 1.2}));
  };
  EXPECT_FALSE(Check(wrong, model, inputs, options).agrees());
}

}  // namespace
}  // namespace aitune::frontend
