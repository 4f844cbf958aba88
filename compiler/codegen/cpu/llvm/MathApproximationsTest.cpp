// The generated transcendentals against double precision, over the full range
// of f32: powers of ten up to overflow, denormals, infinities, NaN.
#include <cfenv>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <functional>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "compiler/codegen/cpu/testing/RunKernel.h"
#include "gtest/gtest.h"

namespace aitune {
namespace testing {
namespace {

/// Every bit pattern at a stride that is prime, then the special ones, then
/// many of the usual size.
const std::vector<float> &arguments() {
  static const std::vector<float> values = [] {
    std::vector<float> result;
    for (uint64_t bits = 0; bits < (uint64_t(1) << 32); bits += 20011) {
      uint32_t pattern = static_cast<uint32_t>(bits);
      float value;
      memcpy(&value, &pattern, 4);
      result.push_back(value);
    }
    float infinity = std::numeric_limits<float>::infinity();
    for (float value : {0.0f,
                        -0.0f,
                        1.0f,
                        -1.0f,
                        0.5f,
                        infinity,
                        -infinity,
                        std::nanf(""),
                        88.72283f,
                        88.72284f,
                        -87.33655f,
                        -103.97f,
                        -103.98f,
                        -104.5f,
                        0.625f,
                        0.9218749f,
                        0.921875f,
                        0.70710677f,
                        1.4142135f,
                        std::numeric_limits<float>::max(),
                        std::numeric_limits<float>::denorm_min()})
      result.push_back(value);
    std::mt19937 generator(7);
    std::uniform_real_distribution<float> usual(-12, 12), nearOne(0.9f, 1.1f);
    for (int i = 0; i < 200000; ++i) {
      result.push_back(usual(generator));
      result.push_back(nearOne(generator));
    }
    return result;
  }();
  return values;
}

/// The distance of `actual` from `expected` in units of the last place there.
double unitsInLastPlace(float actual, double expected) {
  float rounded = static_cast<float>(expected);
  if (std::isnan(expected) || std::isinf(rounded))
    return (std::isnan(expected) ? std::isnan(actual) : actual == rounded) ||
                   // The neighbour of infinity.
                   (std::isinf(rounded) && !std::isinf(expected) &&
                    std::fabs(actual) == std::numeric_limits<float>::max())
               ? 0
               : 1e30;
  if (!std::isfinite(actual))
    return std::fabs(expected) > 3.4028233e38 ? 1 : 1e30;
  if (expected == 0 && std::signbit(actual) != std::signbit(expected))
    return 1e30;
  double unit = std::max(
      std::ldexp(1.0, std::ilogb(rounded == 0 ? 1e-45f : rounded) - 23),
      1.401298464324817e-45);
  return std::fabs(static_cast<double>(actual) - expected) / unit;
}

struct Case {
  const char *op;
  double (*reference)(double);
  double tolerance; // units in the last place
  std::string config = "";
  std::string suffix = ""; // the end of the test's name
};

double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }
double log1pOf(double x) { return std::log1p(x); }

class MathTest : public ::testing::TestWithParam<Case> {};

TEST_P(MathTest, IsWithinUnitsInTheLastPlace) {
  const Case &c = GetParam();
  const std::vector<float> &x = arguments();
  std::string type = "tensor<" + std::to_string(x.size()) + "xf32>";
  RunnableKernel kernel = RunnableKernel::compile(
      "func.func private @f(%x: " + type + ") -> " + type +
      " attributes {ait.kind = #ait.kind<loop>, ait.config = {" + c.config +
      "}} {\n  %r = ait." + c.op + " %x : " + type + "\n  return %r : " + type +
      "\n}");
  ASSERT_EQ(kernel.error(), "");
  std::vector<float> result(x.size());
  ASSERT_TRUE(kernel.run("f", {const_cast<float *>(x.data()), result.data()}));
  double worst = 0;
  float where = 0, got = 0;
  for (size_t i = 0; i < x.size(); ++i) {
    double distance = unitsInLastPlace(result[i], c.reference(x[i]));
    if (distance > worst) {
      worst = distance;
      where = x[i];
      got = result[i];
    }
  }
  RecordProperty("worst", std::to_string(worst));
  EXPECT_LE(worst, c.tolerance) << c.op << "(" << where << ") = " << got
                                << " instead of " << c.reference(where);
}

INSTANTIATE_TEST_SUITE_P(
    Functions, MathTest,
    ::testing::Values(Case{"exp", std::exp, 1.5}, Case{"exp2", std::exp2, 2},
                      Case{"expm1", std::expm1, 3}, Case{"log", std::log, 1.5},
                      Case{"log2", std::log2, 3}, Case{"log10", std::log10, 3},
                      Case{"log1p", log1pOf, 3}, Case{"tanh", std::tanh, 3},
                      Case{"erf", std::erf, 1.5},
                      // Registers narrower than the widest.
                      Case{"exp", std::exp, 1.5, "lanes = 8 : i64", "Of8"},
                      Case{"exp", std::exp, 1.5, "lanes = 4 : i64", "Of4"},
                      Case{"erf", std::erf, 1.5, "lanes = 8 : i64", "Of8"},
                      // What glibc promises of libmvec.
                      Case{"sin", std::sin, 4}, Case{"cos", std::cos, 4},
                      Case{"tan", std::tan, 4}, Case{"asin", std::asin, 4},
                      Case{"acos", std::acos, 4}, Case{"atan", std::atan, 4},
                      Case{"sinh", std::sinh, 4}, Case{"cosh", std::cosh, 4},
                      Case{"asinh", std::asinh, 4},
                      Case{"acosh", std::acosh, 4},
                      Case{"atanh", std::atanh, 4}),
    [](const auto &info) { return info.param.op + info.param.suffix; });

/// A CPU takes some hundred cycles for a result that is too small for a normal
/// number, and a mask of minus infinity would give many.
TEST(MathApproximations, WhatRoundsToZeroIsNotComputed) {
  const float infinity = std::numeric_limits<float>::infinity();
  std::vector<float> x(64, -infinity);
  x[3] = 1;
  x[20] = -150.5f;
  x[40] = std::numeric_limits<float>::lowest();
  for (const std::string op : {"exp", "exp2"}) {
    RunnableKernel kernel = RunnableKernel::compile(
        "func.func private @f(%x: tensor<64xf32>) -> tensor<64xf32> attributes "
        "{ait.kind = #ait.kind<loop>, ait.config = {}} {\n  %r = ait." +
        op + " %x : tensor<64xf32>\n  return %r : tensor<64xf32>\n}");
    ASSERT_EQ(kernel.error(), "");
    std::vector<float> result(x.size(), 7);
    std::feclearexcept(FE_ALL_EXCEPT);
    ASSERT_TRUE(kernel.run("f", {x.data(), result.data()}));
    EXPECT_FALSE(std::fetestexcept(FE_UNDERFLOW)) << op;
    for (size_t i = 0; i < x.size(); ++i)
      if (i == 3)
        EXPECT_NEAR(result[i], op == "exp" ? std::exp(1) : 2, 1e-6);
      else
        EXPECT_EQ(result[i], 0) << op << "(" << x[i] << ")";
  }
}

/// x and y of all pairs of special and usual numbers.
std::pair<std::vector<float>, std::vector<float>> pairs() {
  const float infinity = std::numeric_limits<float>::infinity();
  std::vector<float> numbers = {0.0f,
                                1.0f,
                                0.5f,
                                2.0f,
                                2.5f,
                                3.0f,
                                16777216.0f,
                                16777217.0f,
                                infinity,
                                std::nanf(""),
                                std::numeric_limits<float>::max(),
                                std::numeric_limits<float>::min(),
                                std::numeric_limits<float>::denorm_min()};
  std::mt19937 generator(11);
  std::lognormal_distribution<float> usual(0, 2);
  for (int i = 0; i < 300; ++i)
    numbers.push_back(usual(generator));
  for (size_t i = 0, count = numbers.size(); i < count; ++i)
    numbers.push_back(-numbers[i]);
  std::pair<std::vector<float>, std::vector<float>> result;
  for (float x : numbers)
    for (float y : numbers) {
      result.first.push_back(x);
      result.second.push_back(y);
    }
  return result;
}

struct PairCase {
  const char *op;
  double (*reference)(double, double);
};

class PairMathTest : public ::testing::TestWithParam<PairCase> {};

TEST_P(PairMathTest, IsWithinUnitsInTheLastPlace) {
  const auto [x, y] = pairs();
  const std::string type = "tensor<" + std::to_string(x.size()) + "xf32>";
  RunnableKernel kernel = RunnableKernel::compile(
      "func.func private @f(%x: " + type + ", %y: " + type + ") -> " + type +
      " attributes {ait.kind = #ait.kind<loop>} {\n  %r = ait." +
      GetParam().op + " %x, %y : " + type + "\n  return %r : " + type + "\n}");
  ASSERT_EQ(kernel.error(), "");
  std::vector<float> result(x.size());
  ASSERT_TRUE(kernel.run("f", {const_cast<float *>(x.data()),
                               const_cast<float *>(y.data()), result.data()}));
  for (size_t i = 0; i < x.size(); ++i) {
    const double expected = GetParam().reference(x[i], y[i]);
    ASSERT_LE(unitsInLastPlace(result[i], expected), 4)
        << GetParam().op << "(" << x[i] << ", " << y[i] << ") = " << result[i]
        << " instead of " << expected;
  }
}

INSTANTIATE_TEST_SUITE_P(Functions, PairMathTest,
                         ::testing::Values(PairCase{"pow", std::pow},
                                           PairCase{"atan2", std::atan2}),
                         [](const auto &info) {
                           return std::string(info.param.op);
                         });

TEST(SigmoidTest, IsAccurateWhereItIsNormal) {
  std::vector<float> x, result;
  for (int i = -8000; i <= 8000; ++i)
    x.push_back(static_cast<float>(i) / 100);
  result.resize(x.size());
  std::string type = "tensor<" + std::to_string(x.size()) + "xf32>";
  RunnableKernel kernel = RunnableKernel::compile(
      "func.func private @f(%x: " + type + ") -> " + type +
      " attributes {ait.kind = #ait.kind<loop>} {\n  %r = ait.sigmoid %x : " +
      type + "\n  return %r : " + type + "\n}");
  ASSERT_EQ(kernel.error(), "");
  ASSERT_TRUE(kernel.run("f", {x.data(), result.data()}));
  for (size_t i = 0; i < x.size(); ++i)
    EXPECT_LE(unitsInLastPlace(result[i], sigmoid(x[i])), 4) << x[i];
}

/// LLVM computes what it knows while it compiles: the mean of no elements. A
/// result that it takes for poison is never written.
TEST(MathOfConstantsTest, NanIsWritten) {
  for (const char *op : {"exp", "expm1", "tanh", "log", "erf", "gelu"}) {
    RunnableKernel kernel = RunnableKernel::compile(
        std::string("func.func private @f(%x: tensor<0x4xf32>) -> "
                    "tensor<1x1xf32> attributes {ait.kind = #ait.kind<loop>} {"
                    "\n  %m = ait.mean %x {dims = array<i64: 0, 1>} : "
                    "tensor<0x4xf32> -> tensor<1x1xf32>\n  %r = ait.") +
        op + " %m : tensor<1x1xf32>\n  return %r : tensor<1x1xf32>\n}");
    ASSERT_EQ(kernel.error(), "") << op;
    float none = 0, result = 1;
    ASSERT_TRUE(kernel.run("f", {&none, &result})) << op;
    EXPECT_TRUE(std::isnan(result)) << op << " gives " << result;
  }
}

TEST(MathOfConstantsTest, RemaindersOfNanAreWritten) {
  RunnableKernel kernel = RunnableKernel::compile(R"(
func.func private @f(%x: tensor<4xf32>) -> tensor<4xf32>
    attributes {ait.kind = #ait.kind<loop>} {
  %zero = ait.full 0.0 : f32 : tensor<4xf32>
  %nan = ait.full 0x7FC00000 : f32 : tensor<4xf32>
  %b = ait.gt %x, %zero : tensor<4xf32> -> tensor<4xi1>
  %c = ait.convert %b : tensor<4xi1> -> tensor<4xf32>
  %r = ait.remainder %c, %nan : tensor<4xf32>
  return %r : tensor<4xf32>
})");
  ASSERT_EQ(kernel.error(), "");
  float x[4] = {-1, 1, 0, 2}, result[4] = {5, 5, 5, 5};
  ASSERT_TRUE(kernel.run("f", {x, result}));
  for (float r : result)
    EXPECT_TRUE(std::isnan(r)) << r;
}

} // namespace
} // namespace testing
} // namespace aitune
