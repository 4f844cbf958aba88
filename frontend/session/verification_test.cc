#include "frontend/session/verification.h"

#include <ATen/ATen.h>
#include <ATen/core/Dict.h>
#include <ATen/core/ivalue.h>

#include <cmath>
#include <limits>

#include "frontend/session/pytree.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace aitune::frontend {
namespace {

using testing::HasSubstr;
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInf = std::numeric_limits<double>::infinity();

TEST(CompareTensors, AcceptsRoundingAndRefusesMore) {
  at::Tensor eager = at::randn({64});
  EXPECT_TRUE(CompareTensors(eager * (1 + 1e-6), eager, nullptr).agrees);
  at::Tensor wrong = eager.clone();
  wrong[7].add_(0.01);
  Comparison result = CompareTensors(wrong, eager, nullptr);
  EXPECT_FALSE(result.agrees);
  EXPECT_GT(result.max_error, 1e-3);
  EXPECT_THAT(result.problem, HasSubstr("exceeds 0.0001"));
}

TEST(CompareTensors, ErrorIsRelativeToTheScaleOfTheOutput) {
  // A cancelled element may be off by the scale's rounding ...
  at::Tensor eager = at::tensor({1000.0f, -1000.0f, 1e-4f});
  at::Tensor ours = at::tensor({1000.0f, -1000.0f, 3e-4f});
  EXPECT_TRUE(CompareTensors(ours, eager, nullptr).agrees);
  // ... but a tensor of small values must be right.
  EXPECT_FALSE(
      CompareTensors(ours.slice(0, 2), eager.slice(0, 2), nullptr).agrees);
}

TEST(CompareTensors, GivenToleranceReplacesTheDefault) {
  at::Tensor eager = at::ones({4});
  EXPECT_TRUE(CompareTensors(eager * 1.01, eager, nullptr, 0.1).agrees);
  EXPECT_FALSE(CompareTensors(eager * 1.01, eager, nullptr, 0.001).agrees);
}

TEST(CompareTensors, NanAndInfinityMustBeTheSame) {
  at::Tensor eager = at::tensor({1.0, kNan, kInf, -kInf});
  EXPECT_TRUE(CompareTensors(eager.clone(), eager, nullptr).agrees);
  for (auto [index, value] : {std::pair<int, double>{0, kNan},
                              {1, 1.0},
                              {1, kInf},
                              {2, -kInf},
                              {3, kNan}}) {
    at::Tensor ours = eager.clone();
    ours[index].fill_(value);
    Comparison result = CompareTensors(ours, eager, nullptr);
    EXPECT_FALSE(result.agrees) << index << " " << value;
    EXPECT_THAT(result.problem,
                HasSubstr("first at [" + std::to_string(index) + "]"));
    EXPECT_EQ(result.max_error, kInf);
  }
}

TEST(CompareTensors, OverflowOfEagerAloneNeedNotBeRepeated) {
  at::Tensor reference = at::tensor({60000.0f});
  at::Tensor eager = at::tensor({kInf}).to(at::kHalf);
  EXPECT_TRUE(
      CompareTensors(reference.to(at::kHalf), eager, &reference).agrees);
  EXPECT_FALSE(CompareTensors(reference.to(at::kHalf), eager, nullptr).agrees);
}

TEST(CompareTensors, LowPrecisionIsMeasuredByEagersOwnDistance) {
  at::Tensor reference = at::randn({256});
  at::Tensor eager = (reference * 1.05).to(at::kBFloat16);
  // As far as eager, on the other side: right.
  Comparison close =
      CompareTensors((reference * 0.95).to(at::kBFloat16), eager, &reference);
  EXPECT_TRUE(close.agrees) << close.problem;
  EXPECT_NEAR(*close.eager_reference_error, 0.05, 0.01);
  // Three times as far: wrong, though eager is not exact either.
  EXPECT_FALSE(
      CompareTensors((reference * 0.84).to(at::kBFloat16), eager, &reference)
          .agrees);
}

TEST(CompareTensors, RootMeanSquareIsOfAllErrorsToTheExactReference) {
  // Halves of 2048 and above have no fractions: eager is off by 0.25 each.
  at::Tensor reference = at::full({100}, 2048.25, at::kDouble);
  at::Tensor eager = at::full({100}, 2048, at::kHalf);
  at::Tensor ours = eager.clone();
  ours[7].fill_(2058);
  Comparison result = CompareTensors(ours, eager, &reference);
  EXPECT_NEAR(*result.eager_reference_rms, 0.25 / 2048.25, 1e-9);
  EXPECT_NEAR(*result.our_reference_rms,
              std::sqrt((99 * 0.25 * 0.25 + 9.75 * 9.75) / 100) / 2048.25,
              1e-9);
  EXPECT_FALSE(CompareTensors(ours, eager, nullptr).our_reference_rms);
}

TEST(CompareTensors, ReferenceExcusesAnIllConditionedFloat32Model) {
  at::Tensor reference = at::randn({256}, at::kDouble);
  at::Tensor eager = (reference * 1.001).to(at::kFloat);
  at::Tensor ours = (reference * 0.999).to(at::kFloat);
  EXPECT_FALSE(CompareTensors(ours, eager, nullptr).agrees);
  EXPECT_TRUE(CompareTensors(ours, eager, &reference).agrees);
}

TEST(CompareTensors, IntegersAreAsNearToTheReferenceAsEager) {
  const at::Tensor reference = at::arange(10);
  at::Tensor eager = reference.clone(), ours = reference.clone();
  eager[3].fill_(7);
  ours[5].fill_(7);
  EXPECT_FALSE(CompareTensors(ours, eager, nullptr).agrees);
  EXPECT_TRUE(CompareTensors(ours, eager, &reference).agrees);
  ours.slice(0, 0, 3).fill_(7);
  EXPECT_FALSE(CompareTensors(ours, eager, &reference).agrees);
  EXPECT_FALSE(CompareTensors(ours, reference, &reference).agrees);
}

TEST(Excuse, IntegersDifferWhereEagersRunsDo) {
  const at::Tensor eager = at::arange(10), once = eager.clone();
  at::Tensor ours = eager.clone();
  once[3].fill_(7);
  ours.slice(0, 0, 3).fill_(7);
  Comparison result = CompareTensors(ours, eager, nullptr);
  ASSERT_FALSE(result.agrees);
  Excuse(CompareTensors(eager, eager, nullptr), result);
  Excuse(CompareTensors(once, eager, nullptr), result);
  EXPECT_FALSE(result.agrees);  // 3 of ours against 1
  once[4].fill_(7);
  Excuse(CompareTensors(once, eager, nullptr), result);
  EXPECT_TRUE(result.agrees);
  EXPECT_EQ(result.problem, "");
}

TEST(Excuse, TakesTheWorstOfEagersRunsAndNoMore) {
  at::Tensor reference = at::randn({256}, at::kDouble);
  at::Tensor eager = (reference * 1.0001).to(at::kFloat);
  at::Tensor ours = (reference * 1.004).to(at::kFloat);
  const auto run = [&](double factor, const at::Tensor* truth) {
    return CompareTensors((reference * factor).to(at::kFloat), eager, truth);
  };
  Comparison result = CompareTensors(ours, eager, &reference);
  ASSERT_FALSE(result.agrees);
  const std::string problem = result.problem;
  Excuse(run(1.00005, &reference), result);  // nearer than the run known
  EXPECT_EQ(result.problem, problem);
  Excuse(run(1.0008, &reference), result);  // less than a quarter of ours
  EXPECT_FALSE(result.agrees);
  EXPECT_THAT(result.problem, HasSubstr("eager's is 0.0008"));
  Excuse(run(0.9988, &reference), result);
  EXPECT_TRUE(result.agrees);
  EXPECT_EQ(result.problem, "");

  // Without a reference, by eager's distance to itself: ours is off by 0.0019.
  Comparison plain = CompareTensors(ours, eager, nullptr);
  Excuse(run(1.0008, nullptr), plain);
  EXPECT_FALSE(plain.agrees);
  Excuse(run(1.0012, nullptr), plain);
  EXPECT_TRUE(plain.agrees);

  // NaNs are no matter of rounding.
  Comparison nan = CompareTensors(at::full_like(ours, NAN), eager, &reference);
  Excuse(nan, nan);
  EXPECT_FALSE(nan.agrees);
}

TEST(CompareTensors, IntegersAndBoolsMustBeEqual) {
  at::Tensor eager = at::arange(6).view({2, 3});
  EXPECT_TRUE(CompareTensors(eager.clone(), eager, nullptr).agrees);
  at::Tensor ours = eager.clone();
  ours[1][2].fill_(7);
  Comparison result = CompareTensors(ours, eager, nullptr);
  EXPECT_FALSE(result.agrees);
  EXPECT_THAT(result.problem,
              HasSubstr("1 of 6 elements, first at [1,2]: 7, eager 5"));
  EXPECT_FALSE(CompareTensors(eager.gt(2), eager.gt(3), nullptr).agrees);
}

TEST(CompareTensors, ShapeAndDtypeMustBeTheSame) {
  EXPECT_THAT(CompareTensors(at::ones({2, 1}), at::ones({2}), nullptr).problem,
              HasSubstr("shape [2,1], eager [2]"));
  EXPECT_THAT(CompareTensors(at::ones({2}), at::ones({2}, at::kDouble), nullptr)
                  .problem,
              HasSubstr("dtype Float, eager Double"));
}

TEST(CompareTensors, EmptyTensorsAgree) {
  EXPECT_TRUE(CompareTensors(at::ones({0}), at::ones({0}), nullptr).agrees);
}

c10::IValue Nested(double second, int64_t count) {
  c10::Dict<std::string, at::Tensor> dict;
  dict.insert("x", at::full({2}, second));
  return c10::ivalue::Tuple::create({at::ones({3}), dict, count});
}

TEST(CompareResults, NamesTheLeafThatDiffers) {
  auto results = CompareResults(Nested(2, 5), Nested(3, 5), nullptr);
  ASSERT_EQ(results.size(), 3u);
  EXPECT_TRUE(results[0].agrees);
  EXPECT_FALSE(results[1].agrees);
  EXPECT_EQ(results[1].output, "[1]['x']");
  EXPECT_TRUE(results[2].agrees);
  results = CompareResults(Nested(3, 4), Nested(3, 5), nullptr);
  EXPECT_TRUE(results[1].agrees);
  EXPECT_FALSE(results[2].agrees);
}

TEST(CompareResults, StructureMustBeTheSame) {
  auto results = CompareResults(at::ones({3}), Nested(3, 5), nullptr);
  ASSERT_EQ(results.size(), 1u);
  EXPECT_FALSE(results[0].agrees);
  EXPECT_THAT(results[0].problem, HasSubstr("1 leaves, eager's has 3"));
}

TEST(MapTensors, KeepsNestingAndNumbersTensors) {
  c10::IValue mapped = MapTensors(
      Nested(3, 5),
      [](const at::Tensor& tensor, int index) { return tensor + 10 * index; });
  auto results = CompareResults(mapped, Nested(13, 5), nullptr);
  ASSERT_EQ(results.size(), 3u);
  for (const Comparison& result : results) EXPECT_TRUE(result.agrees);
}

}  // namespace
}  // namespace aitune::frontend
