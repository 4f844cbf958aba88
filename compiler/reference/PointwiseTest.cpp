#include <cmath>
#include <limits>

#include "absl/strings/str_cat.h"
#include "compiler/reference/ReferenceTesting.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

using testing::DoubleEq;
using testing::ElementsAre;
using testing::IsNan;

namespace aitune {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
const double kNan = std::numeric_limits<double>::quiet_NaN();

/// The values of an operation of one tensor of `type`, which it keeps.
std::vector<double> unary(const std::string &operation,
                          const std::vector<double> &x,
                          const std::string &element = "f32",
                          const std::string &attributes = "") {
  const std::string type = absl::StrCat("tensor<", x.size(), "x", element, ">");
  return valuesOf(kernelOf(absl::StrCat("ait.", operation, " %a0 ", attributes,
                                        " : ", type),
                           {type}, type),
                  {x});
}

std::vector<double> binary(const std::string &operation,
                           const std::vector<double> &x,
                           const std::vector<double> &y,
                           const std::string &element = "f32") {
  const std::string type = absl::StrCat("tensor<", x.size(), "x", element, ">");
  return valuesOf(
      kernelOf(absl::StrCat("ait.", operation, " %a0, %a1 : ", type),
               {type, type}, type),
      {x, y});
}

/// Of an operation with another element type in its result.
std::vector<double> predicate(const std::string &operation,
                              const std::vector<double> &x,
                              const std::string &element,
                              const std::string &result) {
  const std::string type = absl::StrCat("tensor<", x.size(), "x", element, ">");
  const std::string to = absl::StrCat("tensor<", x.size(), "x", result, ">");
  return valuesOf(
      kernelOf(absl::StrCat("ait.", operation, " %a0 : ", type, " -> ", to),
               {type}, to),
      {x});
}

struct Known {
  const char *operation;
  double x, y;
};

class ElementaryTest : public testing::TestWithParam<Known> {};

// Closed forms and values of tables (Abramowitz and Stegun).
TEST_P(ElementaryTest, KnownValue) {
  const Known &known = GetParam();
  const std::vector<double> values = unary(known.operation, {known.x}, "f64");
  ASSERT_EQ(values.size(), 1u);
  EXPECT_NEAR(values[0], known.y, 1e-12 * std::max(1.0, std::abs(known.y)));
}

INSTANTIATE_TEST_SUITE_P(
    Values, ElementaryTest,
    testing::Values(
        Known{"exp", 1, 2.718281828459045}, Known{"exp", 0, 1},
        Known{"exp2", -3, 0.125}, Known{"expm1", 1, 1.718281828459045},
        Known{"log", 10, 2.302585092994046}, Known{"log2", 8, 3},
        Known{"log10", 1000, 3}, Known{"log1p", 1, 0.6931471805599453},
        Known{"sqrt", 2, 1.4142135623730951}, Known{"rsqrt", 4, 0.5},
        Known{"reciprocal", -8, -0.125}, Known{"sin", 1, 0.8414709848078965},
        Known{"cos", 1, 0.5403023058681398},
        Known{"tan", 1, 1.5574077246549023},
        Known{"asin", 1, 1.5707963267948966},
        Known{"acos", 0, 1.5707963267948966},
        Known{"atan", 1, 0.7853981633974483},
        Known{"sinh", 1, 1.1752011936438014},
        Known{"cosh", 1, 1.5430806348152437},
        Known{"tanh", 1, 0.7615941559557649},
        Known{"asinh", 1, 0.881373587019543},
        Known{"acosh", 2, 1.3169578969248168},
        Known{"atanh", 0.5, 0.5493061443340549},
        Known{"erf", 1, 0.8427007929497149}, Known{"sigmoid", 0, 0.5},
        Known{"sigmoid", 1, 0.7310585786300049},
        Known{"log_sigmoid", 0, -0.6931471805599453},
        Known{"silu", 1, 0.7310585786300049}, Known{"mish", 0, 0},
        Known{"mish", 1, 0.8650983882673103}, Known{"hardswish", 1, 2.0 / 3},
        Known{"hardswish", -4, 0}, Known{"hardswish", 5, 5},
        Known{"hardsigmoid", 0, 0.5}, Known{"gelu", 1, 0.8413447460685429},
        Known{"gelu", 0, 0}));

TEST(PointwiseTest, ExactFloats) {
  EXPECT_THAT(unary("abs", {-1.5, 2}), ElementsAre(1.5, 2));
  EXPECT_THAT(unary("neg", {-1.5, 2}), ElementsAre(1.5, -2));
  EXPECT_THAT(unary("sign", {-1.5, 0, 2, kNan}), ElementsAre(-1, 0, 1, 0));
  EXPECT_THAT(unary("floor", {-1.5, 1.5}), ElementsAre(-2, 1));
  EXPECT_THAT(unary("ceil", {-1.5, 1.5}), ElementsAre(-1, 2));
  EXPECT_THAT(unary("round", {0.5, 1.5, -2.5}), ElementsAre(0, 2, -2));
  EXPECT_THAT(unary("trunc", {-1.5, 1.5}), ElementsAre(-1, 1));
  EXPECT_THAT(unary("relu", {-1, 2, kNan}), ElementsAre(0, 2, IsNan()));
}

TEST(PointwiseTest, FunctionsWithNumbers) {
  EXPECT_THAT(unary("clamp", {-3, 0.5, 9, kNan}, "f32",
                    "{min = -1.0 : f64, max = 6.0 : f64}"),
              ElementsAre(-1, 0.5, 6, IsNan()));
  EXPECT_THAT(
      unary("leaky_relu", {-2, 2}, "f64", "{negative_slope = 0.25 : f64}"),
      ElementsAre(-0.5, 2));
  EXPECT_THAT(unary("elu", {-1, 2}, "f64",
                    "{alpha = 2.0 : f64, scale = 3.0 : f64, "
                    "input_scale = 1.0 : f64}"),
              ElementsAre(DoubleEq(6 * (std::exp(-1) - 1)), 6));
  EXPECT_THAT(unary("softplus", {0, 30}, "f64",
                    "{beta = 2.0 : f64, threshold = 20.0 : f64}"),
              ElementsAre(DoubleEq(std::log(2.0) / 2), 30));
  // x / 2 (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3)))
  EXPECT_THAT(unary("gelu", {1}, "f64", "{tanh_approximation}"),
              ElementsAre(testing::DoubleNear(0.8411919906082768, 1e-14)));
}

TEST(PointwiseTest, Integers) {
  EXPECT_THAT(unary("abs", {-5, 5}, "i32"), ElementsAre(5, 5));
  EXPECT_THAT(unary("neg", {-128}, "i8"), ElementsAre(-128));
  EXPECT_THAT(unary("sign", {-5, 0, 5}, "i64"), ElementsAre(-1, 0, 1));
  EXPECT_THAT(unary("relu", {-5, 5}, "i32"), ElementsAre(0, 5));
  EXPECT_THAT(unary("bitwise_not", {0, 5}, "i32"), ElementsAre(-1, -6));
  EXPECT_THAT(unary("bitwise_not", {0, 1}, "i1"), ElementsAre(1, 0));
  EXPECT_THAT(unary("floor", {7}, "i32"), ElementsAre(7));
  EXPECT_THAT(unary("ceil", {7}, "i32"), ElementsAre(7));
  EXPECT_THAT(unary("round", {7}, "i32"), ElementsAre(7));
  EXPECT_THAT(unary("trunc", {7}, "i32"), ElementsAre(7));
  EXPECT_THAT(
      unary("clamp", {-3, 3, 9}, "i32", "{min = -1.0 : f64, max = 6.0 : f64}"),
      ElementsAre(-1, 3, 6));
  EXPECT_THAT(binary("add", {100}, {100}, "i8"), ElementsAre(-56));
  EXPECT_THAT(binary("add", {200}, {100}, "ui8"), ElementsAre(44));
  EXPECT_THAT(binary("add", {1, 1}, {0, 1}, "i1"), ElementsAre(1, 1));
  EXPECT_THAT(binary("sub", {3}, {5}, "i32"), ElementsAre(-2));
  EXPECT_THAT(binary("mul", {65536}, {65536}, "i32"), ElementsAre(0));
  EXPECT_THAT(binary("mul", {1, 1}, {0, 1}, "i1"), ElementsAre(0, 1));
  EXPECT_THAT(binary("div", {-7, 7, 7}, {2, -1, 0}, "i32"),
              ElementsAre(-3, -7, 7));
  EXPECT_THAT(binary("floor_divide", {-7, 7, 6}, {2, 2, -2}, "i32"),
              ElementsAre(-4, 3, -3));
  EXPECT_THAT(binary("remainder", {-7, 7}, {3, -3}, "i32"), ElementsAre(2, -2));
  EXPECT_THAT(binary("fmod", {-7, 7}, {3, -3}, "i32"), ElementsAre(-1, 1));
  EXPECT_THAT(binary("pow", {3, 2, -1, 5}, {4, -1, -3, 0}, "i32"),
              ElementsAre(81, 0, -1, 1));
  EXPECT_THAT(binary("maximum", {3, -2}, {4, -5}, "i32"), ElementsAre(4, -2));
  EXPECT_THAT(binary("minimum", {3, -2}, {4, -5}, "i32"), ElementsAre(3, -5));
  EXPECT_THAT(binary("bitwise_and", {6}, {3}, "i32"), ElementsAre(2));
  EXPECT_THAT(binary("bitwise_or", {6}, {3}, "i32"), ElementsAre(7));
  EXPECT_THAT(binary("bitwise_xor", {6}, {3}, "i32"), ElementsAre(5));
}

TEST(PointwiseTest, FloatsOfTwoOperands) {
  EXPECT_THAT(binary("add", {1.5}, {2}), ElementsAre(3.5));
  EXPECT_THAT(binary("sub", {1.5, kInfinity}, {2, kInfinity}),
              ElementsAre(-0.5, IsNan()));
  EXPECT_THAT(binary("mul", {1.5, 0}, {2, kInfinity}), ElementsAre(3, IsNan()));
  EXPECT_THAT(binary("div", {3, 1}, {2, 0}), ElementsAre(1.5, kInfinity));
  EXPECT_THAT(binary("floor_divide", {-7, 7, 1}, {2, 2, 0}),
              ElementsAre(-4, 3, kInfinity));
  // 1 / 0.1 rounds to 10, but 0.1 is a little more than a tenth.
  EXPECT_THAT(binary("floor_divide", {1}, {0.1}, "f64"), ElementsAre(9));
  EXPECT_THAT(binary("remainder", {-7, 7}, {3, -3}), ElementsAre(2, -2));
  EXPECT_THAT(binary("fmod", {-7, 7}, {3, -3}), ElementsAre(-1, 1));
  EXPECT_THAT(binary("pow", {2, 4, 2}, {10, 0.5, -1}),
              ElementsAre(1024, 2, 0.5));
  EXPECT_THAT(binary("atan2", {1}, {1}, "f64"),
              ElementsAre(DoubleEq(0.7853981633974483)));
  EXPECT_THAT(binary("copysign", {1, -3}, {-2, kInfinity}), ElementsAre(-1, 3));
  EXPECT_THAT(binary("maximum", {1, kNan}, {2, 1}), ElementsAre(2, IsNan()));
  EXPECT_THAT(binary("minimum", {1, 1}, {2, kNan}), ElementsAre(1, IsNan()));
}

TEST(PointwiseTest, Comparisons) {
  auto compare = [](const char *operation) {
    return valuesOf(
        kernelOf(absl::StrCat("ait.", operation,
                              " %a0, %a1 : tensor<4xf32> -> tensor<4xi1>"),
                 {"tensor<4xf32>", "tensor<4xf32>"}, "tensor<4xi1>"),
        {{1, 2, 3, kNan}, {2, 2, 2, kNan}});
  };
  EXPECT_THAT(compare("eq"), ElementsAre(0, 1, 0, 0));
  EXPECT_THAT(compare("ne"), ElementsAre(1, 0, 1, 1));
  EXPECT_THAT(compare("lt"), ElementsAre(1, 0, 0, 0));
  EXPECT_THAT(compare("le"), ElementsAre(1, 1, 0, 0));
  EXPECT_THAT(compare("gt"), ElementsAre(0, 0, 1, 0));
  EXPECT_THAT(compare("ge"), ElementsAre(0, 1, 1, 0));
}

TEST(PointwiseTest, Predicates) {
  EXPECT_THAT(predicate("logical_not", {0, 2, kNan}, "f32", "i1"),
              ElementsAre(1, 0, 0));
  EXPECT_THAT(predicate("isnan", {0, kInfinity, kNan}, "f32", "i1"),
              ElementsAre(0, 0, 1));
  EXPECT_THAT(predicate("isinf", {0, -kInfinity, kNan}, "f32", "i1"),
              ElementsAre(0, 1, 0));
  EXPECT_THAT(predicate("isnan", {3}, "i32", "i1"), ElementsAre(0));
}

TEST(PointwiseTest, Conversions) {
  EXPECT_THAT(predicate("convert", {1.75, -1.75}, "f32", "i32"),
              ElementsAre(1, -1));
  EXPECT_THAT(predicate("convert", {300, -1}, "f32", "ui8"),
              ElementsAre(44, 255));
  EXPECT_THAT(predicate("convert", {0.5, 0}, "f32", "i1"), ElementsAre(1, 0));
  EXPECT_THAT(predicate("convert", {-3}, "i64", "f16"), ElementsAre(-3));
  EXPECT_THAT(predicate("convert", {200}, "ui8", "f32"), ElementsAre(200));
  EXPECT_THAT(predicate("convert", {200}, "ui8", "i8"), ElementsAre(-56));
  EXPECT_THAT(predicate("convert", {1}, "i1", "i64"), ElementsAre(1));
  EXPECT_THAT(predicate("convert", {1.5}, "bf16", "f32"), ElementsAre(1.5));
}

TEST(PointwiseTest, Where) {
  EXPECT_THAT(
      valuesOf(kernelOf("ait.where %a0, %a1, %a2 : tensor<2xi1>, tensor<2xf32>",
                        {"tensor<2xi1>", "tensor<2xf32>", "tensor<2xf32>"},
                        "tensor<2xf32>"),
               {{1, 0}, {1, 2}, {3, 4}}),
      ElementsAre(1, 4));
}

TEST(PointwiseTest, Check) {
  auto check = [](const char *attributes) {
    return valuesOf(
        kernelOf(absl::StrCat("ait.check %a0 {operator_name = \"o\"",
                              attributes, "} : tensor<4xi64>"),
                 {"tensor<4xi64>"}, "tensor<4xi64>"),
        {{-1, 0, 4, 9}});
  };
  EXPECT_THAT(check(", size = affine_map<() -> (5)>, from_end"),
              ElementsAre(4, 0, 4, 4));
  EXPECT_THAT(check(", size = affine_map<() -> (5)>"), ElementsAre(0, 0, 4, 4));
  EXPECT_THAT(check(""), ElementsAre(-1, 1, 4, 9));
}

/// How far the one element of a kernel's result may be from right.
double errorOf(const std::string &text,
               const std::vector<std::vector<double>> &arguments) {
  const std::vector<ReferenceResult> results = referenceOf(text, arguments);
  return results.empty() ? -1 : results[0].elements[0].error;
}

TEST(PointwiseErrorTest, RoundingFollowsTheType) {
  auto error = [](const char *type) {
    return errorOf(
        kernelOf(absl::StrCat("ait.add %a0, %a1 : ", type), {type, type}, type),
        {{1}, {2}});
  };
  EXPECT_GT(error("tensor<1xf32>"), 3 * 0x1p-24);
  EXPECT_LT(error("tensor<1xf32>"), 3 * 0x1p-21);
  EXPECT_LT(error("tensor<1xf64>"), 3 * 0x1p-50);
  EXPECT_GT(error("tensor<1xf16>"), 3 * 0x1p-11);
  EXPECT_LT(error("tensor<1xf16>"), 3 * 0x1p-10);
  EXPECT_GT(error("tensor<1xbf16>"), 3 * 0x1p-8);
  EXPECT_EQ(error("tensor<1xi32>"), 0);
}

TEST(PointwiseErrorTest, ExactOperationsHaveNone) {
  for (const char *operation : {"abs", "neg", "floor", "relu", "sign"})
    EXPECT_EQ(errorOf(kernelOf(absl::StrCat("ait.", operation,
                                            " %a0 : tensor<1xf32>"),
                               {"tensor<1xf32>"}, "tensor<1xf32>"),
                      {{0.3}}),
              0)
        << operation;
}

TEST(PointwiseErrorTest, CancellationKeepsTheErrorOfItsOperands) {
  // (x + y) - x
  const char *text = R"(
    func.func @kernel(%x: tensor<1xf32>, %y: tensor<1xf32>) -> tensor<1xf32> {
      %0 = ait.add %x, %y : tensor<1xf32>
      %1 = ait.sub %0, %x : tensor<1xf32>
      return %1 : tensor<1xf32>
    })";
  EXPECT_GT(errorOf(text, {{1024}, {1e-6}}), 1024 * 0x1p-24);
}

TEST(PointwiseErrorTest, ADecisionNearItsLimitIsUncertain) {
  // x + y > x with y beyond the last digit of x
  const char *text = R"(
    func.func @kernel(%x: tensor<1xf32>, %y: tensor<1xf32>) -> tensor<1xi1> {
      %0 = ait.add %x, %y : tensor<1xf32>
      %1 = ait.gt %0, %x : tensor<1xf32> -> tensor<1xi1>
      return %1 : tensor<1xi1>
    })";
  EXPECT_EQ(errorOf(text, {{1024}, {1e-6}}), 1);
  EXPECT_EQ(errorOf(text, {{1024}, {1}}), 0);
}

/// The error of `operation` of %sum, that of `x` and `rounded` in f32, and of
/// %one.
double errorOfSum(const std::string &operation, double x, double rounded) {
  return errorOf(
      absl::StrCat(
          "func.func @kernel(%x: tensor<1xf32>, %rounded: "
          "tensor<1xf32>, %one: tensor<1xf32>) -> tensor<1xf32> {\n",
          "  %sum = ait.add %x, %rounded : tensor<1xf32>\n  %r = ", operation,
          " : tensor<1xf32>\n  return %r : tensor<1xf32>\n}\n"),
      {{x}, {rounded}, {1}});
}

TEST(PointwiseErrorTest, AFunctionMayTurnBetweenTheEndsOfItsArgument) {
  // Rounded to a multiple of 1, 2 or more: whole periods.
  for (const char *function : {"sin", "cos"}) {
    const std::string text = absl::StrCat("ait.", function, " %sum");
    EXPECT_GE(errorOfSum(text, 0.25, 0x1p26), 1) << function;
    EXPECT_LE(errorOfSum(text, 0.25, 0x1p26), 3) << function;
    EXPECT_LT(errorOfSum(text, 0.25, 1), 1e-5) << function;
  }
  // A pole lies between.
  EXPECT_GT(errorOfSum("ait.tan %sum", 0.25, 0x1p26), 1e6);
  EXPECT_LT(errorOfSum("ait.tan %sum", 0.25, 0), 1e-5);
  EXPECT_GT(errorOfSum("ait.reciprocal %sum", -0x1p26, 0x1p26), 1e6);
  EXPECT_GT(errorOfSum("ait.div %one, %sum", -0x1p26, 0x1p26), 1e6);
}

TEST(PointwiseErrorTest, ARestJumpsWhereTheQuotientDoes) {
  for (const char *rest : {"remainder", "fmod"}) {
    const std::string text = absl::StrCat("ait.", rest, " %sum, %one");
    EXPECT_GE(errorOfSum(text, 0.001, 0x1p19), 1) << rest;
    EXPECT_LE(errorOfSum(text, 0.001, 0x1p19), 4) << rest;
    EXPECT_GE(errorOfSum(text, 2, 1), 1) << rest << " of a multiple";
    EXPECT_LT(errorOfSum(text, 2.25, 1), 1e-5) << rest;
  }
  EXPECT_LT(errorOfSum("ait.fmod %sum, %one", -1.5, 1.5), 1e-5)
      << "0 is no jump of fmod";
}

TEST(PointwiseErrorTest, WhatIsAsGoodAsZeroMayBeZero) {
  // -90 / (1 + exp(90)) = -7.4e-38, a normal number, but exp(90) overflows.
  for (const char *operation : {"silu", "mish"}) {
    const std::string text =
        kernelOf(absl::StrCat("ait.", operation, " %a0 : tensor<1xf32>"),
                 {"tensor<1xf32>"}, "tensor<1xf32>");
    EXPECT_GT(errorOf(text, {{-90}}), 7.4e-38) << operation;
    EXPECT_LT(errorOf(text, {{-90}}), 1e-34) << operation;
  }
}

TEST(PointwiseErrorTest, WhatOverflowsIsUnknown) {
  const std::string text =
      kernelOf("ait.mul %a0, %a1 : tensor<1xf16>",
               {"tensor<1xf16>", "tensor<1xf16>"}, "tensor<1xf16>");
  EXPECT_EQ(errorOf(text, {{1000}, {1000}}), kInfinity);
  EXPECT_LT(errorOf(text, {{100}, {100}}), 100);
}

// Below the normal numbers of f16 the digits are fewer: 82 is the nearest of
// the multiples of 2^-24.
TEST(ConvertTest, SubnormalNumbersAreRounded) {
  const std::string text =
      kernelOf("ait.convert %a0 : tensor<1xf32> -> tensor<1xf16>",
               {"tensor<1xf32>"}, "tensor<1xf16>");
  EXPECT_GE(errorOf(text, {{81.875 * 0x1p-24}}), 0.125 * 0x1p-24);
  EXPECT_EQ(errorOf(text, {{82 * 0x1p-24}}), 0);
  EXPECT_EQ(errorOf(text, {{1.5}}), 0);
}

} // namespace
} // namespace aitune
