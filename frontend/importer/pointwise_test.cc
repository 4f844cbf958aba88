// Pointwise operators: dtypes, broadcasting, and the formulas of composites.
#include "frontend/importer/trace_maker.h"
#include "frontend/importer/type_promotion.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace aitune::frontend {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
constexpr DataType kF32 = DataType::kFloat32;
constexpr DataType kBF16 = DataType::kBFloat16;
constexpr DataType kI64 = DataType::kInt64;
constexpr DataType kBool = DataType::kBool;

TEST(PromoteTypes, FollowsTorch) {
  EXPECT_EQ(PromoteTypes(kBool, DataType::kUInt8), DataType::kUInt8);
  EXPECT_EQ(PromoteTypes(DataType::kUInt8, DataType::kInt8), DataType::kInt16);
  EXPECT_EQ(PromoteTypes(DataType::kUInt8, DataType::kInt32), DataType::kInt32);
  EXPECT_EQ(PromoteTypes(kI64, DataType::kFloat16), DataType::kFloat16);
  EXPECT_EQ(PromoteTypes(DataType::kFloat16, kBF16), kF32);
  EXPECT_EQ(PromoteTypes(kBF16, DataType::kFloat64), DataType::kFloat64);
}

TEST(ResultTypeRule, TensorsOfRankZeroAndNumbersYield) {
  ResultTypeRule small;
  small.AddTensor(kBF16, true);
  small.AddTensor(DataType::kFloat64, false);
  small.AddNumber(kF32);
  EXPECT_EQ(small.Result(), kBF16);
  ResultTypeRule higher;
  higher.AddTensor(DataType::kInt32, true);
  higher.AddNumber(kF32);
  EXPECT_EQ(higher.Result(), kF32);
  ResultTypeRule boolean;
  boolean.AddTensor(kBool, true);
  boolean.AddTensor(DataType::kInt32, false);
  boolean.AddNumber(kI64);
  EXPECT_EQ(boolean.Result(), DataType::kInt32);
}

TEST(Pointwise, BroadcastsExplicitly) {
  TraceMaker maker;
  ValueId x = maker.Input(kF32, {3, 4}), y = maker.Input(kF32, {4});
  maker.Output(maker.Call("aten::mul.Tensor", {{"self", x}, {"other", y}}, kF32,
                          {3, 4}));
  EXPECT_EQ(maker.Import(),
            "%0 = ait.expand %arg1 : tensor<4xf32> -> tensor<3x4xf32>\n"
            "%1 = ait.mul %arg0, %0 : tensor<3x4xf32>\n"
            "func.return %1 : tensor<3x4xf32>\n");
}

TEST(Pointwise, ConvertsIntegersToTheResultsDtype) {
  TraceMaker maker;
  ValueId x = maker.Input(kI64, {4}), y = maker.Input(kI64, {4});
  maker.Output(
      maker.Call("aten::div.Tensor", {{"self", x}, {"other", y}}, kF32, {4}));
  EXPECT_EQ(maker.Import(),
            "%0 = ait.convert %arg0 : tensor<4xi64> -> tensor<4xf32>\n"
            "%1 = ait.convert %arg1 : tensor<4xi64> -> tensor<4xf32>\n"
            "%2 = ait.div %0, %1 : tensor<4xf32>\n"
            "func.return %2 : tensor<4xf32>\n");
}

TEST(Pointwise, ComparesInTheCommonDtypeNotTheResults) {
  TraceMaker maker;
  ValueId x = maker.Input(kI64, {4});
  maker.Output(
      maker.Call("aten::gt.Scalar", {{"self", x}, {"other", 0.5}}, kBool, {4}));
  EXPECT_EQ(maker.Import(),
            "%0 = ait.convert %arg0 : tensor<4xi64> -> tensor<4xf32>\n"
            "%1 = ait.full 5.000000e-01 : f32 : tensor<4xf32>\n"
            "%2 = ait.gt %0, %1 : tensor<4xf32> -> tensor<4xi1>\n"
            "func.return %2 : tensor<4xi1>\n");
}

TEST(Pointwise, NumbersThatBfloat16WouldRoundAreAppliedInFloat32) {
  auto import = [](double number) {
    TraceMaker maker;
    ValueId x = maker.Input(kBF16, {4});
    maker.Output(maker.Call("aten::mul.Scalar",
                            {{"self", x}, {"other", number}}, kBF16, {4}));
    return maker.Import();
  };
  EXPECT_THAT(import(0.1), HasSubstr("ait.mul %0, %1 : tensor<4xf32>"));
  EXPECT_THAT(import(0.1), HasSubstr("tensor<4xf32> -> tensor<4xbf16>"));
  EXPECT_THAT(import(0.125), HasSubstr("ait.mul %arg0, %0 : tensor<4xbf16>"));
}

// ATen's remainders and powers round numbers to the dtype of the elements, its
// quotients do not: 0.3 is 0.30078125 in bfloat16.
TEST(Pointwise, NumbersOfRemaindersAndPowersAreRounded) {
  auto import = [](const char* name, const char* argument) {
    TraceMaker maker;
    ValueId x = maker.Input(kBF16, {4});
    maker.Output(maker.Call(name, {{"self", x}, {argument, 0.3}}, kBF16, {4}));
    return maker.Import();
  };
  for (const char* name : {"aten::remainder.Scalar", "aten::fmod.Scalar"}) {
    EXPECT_THAT(import(name, "other"), HasSubstr("3.007810e-01 : bf16"));
    EXPECT_THAT(import(name, "other"), Not(HasSubstr("f32"))) << name;
  }
  const std::string power = import("aten::pow.Tensor_Scalar", "exponent");
  EXPECT_THAT(power, HasSubstr("3.007810e-01 : bf16"));
  EXPECT_THAT(power, HasSubstr("tensor<4xf32>"));
  EXPECT_THAT(import("aten::floor_divide.Scalar", "other"),
              Not(HasSubstr("3.007810e-01")));
}

TEST(Pointwise, AlphaScalesTheSecondOperand) {
  TraceMaker maker;
  ValueId x = maker.Input(kF32, {4}), y = maker.Input(kF32, {4});
  maker.Output(maker.Call(
      "aten::rsub.Tensor",
      {{"self", x}, {"other", y}, {"alpha", SizeExpression(2)}}, kF32, {4}));
  EXPECT_EQ(maker.Import(),
            "%0 = ait.full -2.000000e+00 : f32 : tensor<4xf32>\n"
            "%1 = ait.mul %arg0, %0 : tensor<4xf32>\n"
            "%2 = ait.add %arg1, %1 : tensor<4xf32>\n"
            "func.return %2 : tensor<4xf32>\n");
}

TEST(Pointwise, SumsAndProductsOfBoolsAreLogic) {
  TraceMaker maker;
  ValueId x = maker.Input(kBool, {4}), y = maker.Input(kBool, {4});
  ValueId sum = maker.Call(
      "aten::add.Tensor",
      {{"self", x}, {"other", y}, {"alpha", SizeExpression(1)}}, kBool, {4});
  maker.Output(maker.Call("aten::mul.Tensor", {{"self", sum}, {"other", y}},
                          kBool, {4}));
  EXPECT_THAT(maker.Import(),
              HasSubstr("%0 = ait.bitwise_or %arg0, %arg1 : tensor<4xi1>\n"
                        "%1 = ait.bitwise_and %0, %arg1 : tensor<4xi1>\n"));
}

TEST(Pointwise, RoundingModesOfDivision) {
  auto import = [](DataType dtype, const std::string& mode) {
    TraceMaker maker;
    ValueId x = maker.Input(dtype, {4}), y = maker.Input(dtype, {4});
    maker.Output(maker.Call(
        "aten::div.Tensor_mode",
        {{"self", x}, {"other", y}, {"rounding_mode", mode}}, dtype, {4}));
    return maker.Import();
  };
  EXPECT_THAT(import(kF32, "floor"), HasSubstr("ait.floor_divide"));
  EXPECT_THAT(import(kF32, "trunc"), HasSubstr("ait.trunc"));
  EXPECT_THAT(import(kI64, "trunc"), HasSubstr("ait.div"));
  EXPECT_THAT(import(kI64, "trunc"), Not(HasSubstr("ait.trunc")));
}

TEST(Pointwise, SimplePowersNeedNoPow) {
  auto import = [](double exponent) {
    TraceMaker maker;
    ValueId x = maker.Input(kF32, {4});
    maker.Output(maker.Call("aten::pow.Tensor_Scalar",
                            {{"self", x}, {"exponent", exponent}}, kF32, {4}));
    return maker.Import();
  };
  EXPECT_THAT(import(2), HasSubstr("%0 = ait.mul %arg0, %arg0"));
  EXPECT_THAT(import(3), HasSubstr("%1 = ait.mul %arg0, %0"));
  EXPECT_THAT(import(0.5), HasSubstr("ait.sqrt"));
  EXPECT_THAT(import(-0.5), HasSubstr("ait.rsqrt"));
  EXPECT_THAT(import(-1), HasSubstr("ait.reciprocal"));
  EXPECT_THAT(import(1.7), HasSubstr("ait.pow"));
}

TEST(Pointwise, WholePowersOfIntegersByMultiplication) {
  TraceMaker maker;
  ValueId x = maker.Input(kI64, {4});
  maker.Output(maker.Call("aten::pow.Tensor_Scalar",
                          {{"self", x}, {"exponent", SizeExpression(5)}}, kI64,
                          {4}));
  EXPECT_EQ(maker.Import(),
            "%0 = ait.mul %arg0, %arg0 : tensor<4xi64>\n"
            "%1 = ait.mul %0, %0 : tensor<4xi64>\n"
            "%2 = ait.mul %arg0, %1 : tensor<4xi64>\n"
            "func.return %2 : tensor<4xi64>\n");
}

TEST(Pointwise, ClampWithTensorBounds) {
  TraceMaker maker;
  ValueId x = maker.Input(kF32, {3, 4}), low = maker.Input(kF32, {4});
  maker.Output(maker.Call("aten::clamp.Tensor",
                          {{"self", x}, {"min", low}, {"max", NoneArgument()}},
                          kF32, {3, 4}));
  EXPECT_THAT(maker.Import(),
              HasSubstr("ait.maximum %arg0, %0 : tensor<3x4xf32>"));
}

TEST(Pointwise, MaskedFillBroadcastsTheMask) {
  TraceMaker maker;
  ValueId x = maker.Input(kF32, {3, 4}), mask = maker.Input(kBool, {4});
  maker.Output(maker.Call("aten::masked_fill.Scalar",
                          {{"self", x}, {"mask", mask}, {"value", -1e9}}, kF32,
                          {3, 4}));
  EXPECT_EQ(maker.Import(),
            "%0 = ait.full -1.000000e+09 : f32 : tensor<3x4xf32>\n"
            "%1 = ait.expand %arg1 : tensor<4xi1> -> tensor<3x4xi1>\n"
            "%2 = ait.where %1, %0, %arg0 : tensor<3x4xi1>, tensor<3x4xf32>\n"
            "func.return %2 : tensor<3x4xf32>\n");
}

TEST(Pointwise, ANumberThatDependsOnSizesIsCounted) {
  TraceMaker maker;
  SizeExpression n = maker.Symbol(1, 8);
  ValueId x = maker.Input(kF32, {n});
  maker.Output(
      maker.Call("aten::div.Scalar", {{"self", x}, {"other", n}}, kF32, {n}));
  std::string text = maker.Import();
  EXPECT_THAT(
      text,
      HasSubstr(
          "ait.full 1 : i64 : tensor<?xi64, affine_map<()[s0] -> (s0)>>"));
  EXPECT_THAT(text, HasSubstr("ait.sum"));
  EXPECT_EQ(maker.Reason(), "");
}

TEST(Pointwise, IdentitiesVanish) {
  TraceMaker maker;
  ValueId x = maker.Input(kF32, {4});
  x = maker.Call("aten::contiguous",
                 {{"self", x}, {"memory_format", SizeExpression(0)}}, kF32,
                 {4});
  x = maker.Call("aten::dropout", {{"input", x}, {"p", 0.1}, {"train", false}},
                 kF32, {4});
  maker.Output(maker.Call("aten::to.dtype",
                          {{"self", x}, {"dtype", ScalarTypeArgument{kBF16}}},
                          kBF16, {4}));
  EXPECT_EQ(
      maker.Import(),
      "%0 = ait.convert %arg0 {ait.rounds} : tensor<4xf32> -> tensor<4xbf16>\n"
      "func.return %0 : tensor<4xbf16>\n");
}

TEST(Pointwise, ANumberThatWeighsIsNotRounded) {
  TraceMaker maker;
  const ValueId x = maker.Input(kBF16, {4}), y = maker.Input(kBF16, {4});
  maker.Output(maker.Call("aten::lerp.Scalar",
                          {{"self", x}, {"end", y}, {"weight", 0.999}}, kBF16,
                          {4}));
  EXPECT_THAT(maker.Import(), HasSubstr("ait.full 9.990000e-01 : f32"));
}

}  // namespace
}  // namespace aitune::frontend
