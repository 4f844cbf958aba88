#include "frontend/check/verification.h"

#include <ATen/ATen.h>
#include <ATen/core/Dict.h>
#include <ATen/core/ivalue.h>

#include <cmath>
#include <functional>
#include <limits>
#include <vector>

#include "frontend/values/pytree.h"
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

TEST(CompareTensors, TakesTensorsOfAllLayouts) {
  const at::Tensor dense = at::randn({4, 6});
  const auto nested = [](const at::Tensor& tensor, int64_t rows) {
    return at::_nested_tensor_from_tensor_list(
        {tensor, tensor.slice(0, 0, rows)});
  };
  using Maker = std::function<at::Tensor(const at::Tensor&)>;
  for (const Maker& make : std::vector<Maker>{
           [](const at::Tensor& x) { return x.to_sparse(); },
           [](const at::Tensor& x) { return x.to_sparse_csr(); },
           [](const at::Tensor& x) {
             return at::quantize_per_tensor(x, 0.01, 3, at::kQInt8);
           },
           [](const at::Tensor& x) { return at::complex(x, x + 1).conj(); },
           [&](const at::Tensor& x) { return nested(x, 2); }}) {
    const at::Tensor eager = make(dense);
    EXPECT_TRUE(CompareTensors(make(dense), eager, nullptr).agrees);
    EXPECT_TRUE(CompareTensors(make(dense), eager, &eager).agrees);
    EXPECT_FALSE(CompareTensors(make(dense + 0.1), eager, nullptr).agrees);
    EXPECT_FALSE(CompareTensors(make(dense * kNan), eager, nullptr).agrees);
  }
  // Complex numbers are rounded as others are.
  const at::Tensor z = at::complex(dense, dense + 1);
  EXPECT_TRUE(CompareTensors(z * (1 + 1e-6), z, nullptr).agrees);
  EXPECT_THAT(CompareTensors(dense, dense.to_sparse(), nullptr).problem,
              HasSubstr("layout Strided, eager Sparse"));
  EXPECT_THAT(
      CompareTensors(nested(dense, 3), nested(dense, 2), nullptr).problem,
      HasSubstr("shape [[4,6],[3,6]], eager [[4,6],[2,6]]"));
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
  EXPECT_TRUE(CompareTensors(eager * 1.01, eager, nullptr, {0.1}).agrees);
  EXPECT_FALSE(CompareTensors(eager * 1.01, eager, nullptr, {0.001}).agrees);
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

TEST(CompareTensors, NanOfAQuantizedModelMayBeInAllRows) {
  const at::Tensor eager = at::tensor({1.0f, 2.0f, 3.0f, float(kNan)}),
                   all = at::full({4}, kNan);
  ComparisonOptions quantized;
  quantized.bound.emplace();
  EXPECT_TRUE(CompareTensors(all, eager, nullptr, quantized).agrees);
  EXPECT_FALSE(CompareTensors(all, eager, nullptr).agrees);
  // Not where eager has none, nor a number where it has.
  EXPECT_FALSE(CompareTensors(all, at::ones({4}), nullptr, quantized).agrees);
  EXPECT_FALSE(CompareTensors(at::ones({4}), eager, nullptr, quantized).agrees);
}

TEST(CompareTensors, WhichNonFiniteNumberAQuantizedModelGivesIsNotFixed) {
  const at::Tensor eager = at::tensor({1.0f, 2.0f, float(kInf), float(-kInf)}),
                   ours = at::tensor({1.0f, 2.0f, float(kNan), float(kInf)});
  ComparisonOptions quantized;
  quantized.bound.emplace();
  EXPECT_TRUE(CompareTensors(ours, eager, nullptr, quantized).agrees);
  EXPECT_FALSE(CompareTensors(ours, eager, nullptr).agrees);
  EXPECT_FALSE(CompareTensors(at::tensor({1.0f, 2.0f, 3.0f, float(kInf)}),
                              eager, nullptr, quantized)
                   .agrees);
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

TEST(CompareTensors, IntegersMayDifferOnlyWhereTheReferenceDoes) {
  const at::Tensor reference = at::arange(10);
  at::Tensor eager = reference.clone(), ours = reference.clone();
  eager[3].fill_(7);
  EXPECT_FALSE(CompareTensors(ours, eager, nullptr).agrees);
  EXPECT_TRUE(CompareTensors(ours, eager, &reference).agrees);
  // As many elements, but others.
  ours[3].fill_(7);
  ours[5].fill_(7);
  const Comparison result = CompareTensors(ours, eager, &reference);
  EXPECT_FALSE(result.agrees);
  EXPECT_EQ(result.differing, 1);
  EXPECT_THAT(result.problem, HasSubstr("first at [5]: 7, eager 5"));
}

TEST(CompareTensors, IntegersMayBeNearerToTheReferenceThanEager) {
  const at::Tensor reference = at::arange(100);
  at::Tensor eager = reference.clone();
  for (int64_t place : {3, 20, 41, 60, 77, 98}) eager[place] += 1;
  const auto agrees = [&](std::vector<int64_t> places, int64_t step) {
    at::Tensor ours = reference.clone();
    for (int64_t place : places) ours[place] += step;
    return CompareTensors(ours, eager, &reference, {}).agrees;
  };
  EXPECT_TRUE(agrees({}, 0));
  EXPECT_TRUE(agrees({5, 50, 99}, -1)) << "three of eager's six";
  EXPECT_FALSE(agrees({5, 50, 60, 99}, -1)) << "four of eager's six";
  EXPECT_FALSE(agrees({5}, 2)) << "farther off than eager";
  eager = reference.clone();
  for (int64_t place : {3, 20, 41}) eager[place] += 1;
  EXPECT_FALSE(agrees({5}, -1)) << "eager's errors are few";
}

// 1024 elements near 1e6, and 1024 near 1: off by half, one of the latter is
// far off, but small beside the root mean square.
TEST(CompareTensors, OneElementFarOffIsSeenBesideLargeOnes) {
  const at::Tensor exact =
      at::cat({at::randn({4, 256}) * 1e6, at::randn({4, 256})}).to(at::kDouble);
  const at::Tensor eager = exact.to(at::kFloat);
  at::Tensor ours = (exact * (1 + 1e-6)).to(at::kFloat);
  EXPECT_TRUE(CompareTensors(ours, eager, nullptr).agrees);
  ours[6][17].add_(0.5);
  for (const at::Tensor* reference : {(const at::Tensor*)nullptr, &exact}) {
    const Comparison result = CompareTensors(ours, eager, reference);
    EXPECT_FALSE(result.agrees);
    EXPECT_LT(result.max_error, 1e-4) << "the whole hides it";
    EXPECT_THAT(result.problem, HasSubstr("far off in 1 of 8 neighbourhoods"));
    EXPECT_THAT(result.problem, HasSubstr("the worst at [6,17]"));
  }
  // Eager is as far off there in another run: nothing is known about it.
  Comparison result = CompareTensors(ours, eager, &exact);
  at::Tensor other = eager.clone();
  other[5][17].sub_(0.5);
  Excuse(CompareTensors(other, eager, &exact), true, result);
  EXPECT_FALSE(result.agrees) << "another neighbourhood";
  other[6][90].sub_(0.5);
  Excuse(CompareTensors(other, eager, &exact), true, result);
  EXPECT_TRUE(result.agrees) << result.problem;
}

// What instructions that round to bfloat16 take for 0.
TEST(CompareTensors, NumbersBelowTheSmallestNormalOneMayBeLost) {
  at::Tensor exact = at::zeros({4, 256}, at::kDouble);
  exact[0].fill_(0.25);
  exact[2][17] = 2.2e-39;
  for (const at::ScalarType dtype : {at::kFloat, at::kBFloat16}) {
    const at::Tensor eager = exact.to(dtype);
    ASSERT_NE(eager[2][17].item<float>(), 0);
    at::Tensor ours = eager.clone();
    ours[2][17] = 0;
    const Comparison lost = CompareTensors(ours, eager, &exact);
    EXPECT_TRUE(lost.agrees) << lost.problem;
    ours[2][18] = 3e-37;
    EXPECT_FALSE(CompareTensors(ours, eager, &exact).agrees);
  }
  // Of float16 nothing is lost.
  exact[2][17] = 6e-8;
  const at::Tensor eager = exact.to(at::kHalf);
  at::Tensor ours = eager.clone();
  ours[2][17] = 0;
  EXPECT_FALSE(CompareTensors(ours, eager, &exact).agrees);
}

TEST(CompareTensors, OneElementFarOffIsSeenInLowPrecision) {
  const at::Tensor exact =
      at::cat({at::randn({4, 256}) * 1000, at::randn({4, 256})});
  const at::Tensor eager = (exact * (1 + 1e-3)).to(at::kHalf);
  at::Tensor ours = (exact * (1 - 1e-3)).to(at::kHalf);
  EXPECT_TRUE(CompareTensors(ours, eager, &exact).agrees);
  ours[6][17].add_(0.5);
  EXPECT_FALSE(CompareTensors(ours, eager, &exact).agrees);
}

// What a correct compiler gives must pass however its roundings fall.
TEST(CompareTensors, RoundingsOfSingleElementsAreNoErrors) {
  at::manual_seed(3);
  for (int run = 0; run < 20; ++run) {
    const at::Tensor x = at::randn({64, 512}, at::kDouble),
                     w = at::randn({512, 512}, at::kDouble);
    // Elements that are small by cancellation, and zeros beside them.
    const at::Tensor exact = at::relu(x.matmul(w));
    const auto rounded = [&](double unit) {
      return exact + exact.gt(0).to(at::kDouble) *
                         at::randn(exact.sizes(), at::kDouble) * unit * 22;
    };
    for (const auto& [dtype, unit] : {std::pair(at::kFloat, 0x1p-24),
                                      {at::kHalf, 0x1p-11},
                                      {at::kBFloat16, 0x1p-8}}) {
      const Comparison result = CompareTensors(rounded(unit).to(dtype),
                                               rounded(unit).to(dtype), &exact);
      EXPECT_TRUE(result.agrees) << dtype << " " << result.problem;
    }
  }
}

TEST(CompareTensors, EqualToTheBitIsNeverWrong) {
  const at::Tensor reference = at::randn({256});
  at::Tensor eager = (reference * 1.5).to(at::kHalf);
  eager[3].fill_(kNan);
  eager[4].fill_(kInf);
  EXPECT_TRUE(CompareTensors(eager.clone(), eager, &reference).agrees);
}

// Scores that overflow in float16 make eager's rows NaN: where it is not
// finite it has no distance to the reference, which is not a distance of 0.
TEST(CompareTensors, WhereEagerAloneIsNotFiniteTheToleranceDecides) {
  const at::Tensor reference = at::rand({4, 64}) + 1;
  const at::Tensor eager = at::full({4, 64}, kNan).to(at::kHalf);
  const Comparison near =
      CompareTensors((reference * 1.004).to(at::kHalf), eager, &reference);
  EXPECT_TRUE(near.agrees) << near.problem;
  const Comparison far =
      CompareTensors((reference * 1.04).to(at::kHalf), eager, &reference);
  EXPECT_FALSE(far.agrees);
  EXPECT_THAT(far.problem, HasSubstr("where eager alone is not finite"));
}

TEST(CompareTensors, TheNarrowestArithmeticDecides) {
  const at::Tensor reference = at::randn({256}, at::kDouble);
  const at::Tensor eager = (reference * 1.002).to(at::kFloat);
  const at::Tensor ours = (reference * 0.997).to(at::kFloat);
  EXPECT_FALSE(CompareTensors(ours, eager, nullptr).agrees);
  ComparisonOptions options;
  options.arithmetic = DataType::kFloat16;
  EXPECT_TRUE(CompareTensors(ours, eager, nullptr, options).agrees);
  EXPECT_TRUE(CompareTensors(ours, eager, &reference, options).agrees);
  EXPECT_FALSE(CompareTensors((reference * 0.98).to(at::kFloat), eager,
                              &reference, options)
                   .agrees);
  // A wider one changes nothing.
  options.arithmetic = DataType::kFloat64;
  EXPECT_TRUE(
      CompareTensors((eager * (1 + 1e-5)), eager, nullptr, options).agrees);
}

TEST(CompareTensors, OverflowMayBeRefusedWhereTheReferenceIsFinite) {
  const at::Tensor reference = at::ones({4});
  const at::Tensor overflow = at::full({4}, kInf);
  ComparisonOptions options;
  options.arithmetic = DataType::kFloat16;
  EXPECT_TRUE(CompareTensors(overflow, overflow, &reference, options).agrees);
  options.finite_as_reference = true;
  EXPECT_FALSE(CompareTensors(overflow, overflow, &reference, options).agrees);
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

TEST(CompareResults, EachTensorHasItsArithmetic) {
  const auto pair = [](double factor) -> c10::IValue {
    return c10::ivalue::Tuple::create(
        {at::full({3}, factor), 5, at::full({3}, factor)});
  };
  const std::optional<DataType> arithmetic[] = {DataType::kFloat16,
                                                DataType::kFloat32};
  const auto results =
      CompareResults(pair(1.005), pair(1), nullptr, {}, arithmetic);
  ASSERT_EQ(results.size(), 3u);
  EXPECT_TRUE(results[0].agrees) << results[0].problem;
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

TEST(CompareTensors, OursIsAsOneOfEagerAndTheReference) {
  const float infinity = std::numeric_limits<float>::infinity();
  const at::Tensor eager = at::tensor({std::nanf(""), 1.f});
  const auto agrees = [&](float ours, double reference) {
    const at::Tensor exact =
        at::tensor({reference, 1.0}, at::TensorOptions(at::kDouble));
    return CompareTensors(at::tensor({ours, 1.f}), eager, &exact).agrees;
  };
  EXPECT_TRUE(agrees(infinity, infinity));
  EXPECT_TRUE(agrees(std::nanf(""), infinity));
  EXPECT_FALSE(agrees(0, infinity));
  EXPECT_FALSE(agrees(-infinity, infinity));
  // Beyond the range of float32.
  EXPECT_TRUE(agrees(infinity, 1e60));
  EXPECT_TRUE(agrees(std::numeric_limits<float>::max(), 1e60));
  EXPECT_FALSE(agrees(0, 1e60));
}

}  // namespace
}  // namespace aitune::frontend
