// What each pointwise operation computes, against PyTorch's definitions in
// plain C++, through generated code (vector lanes and a tail).
#include <cmath>
#include <cstdint>
#include <cstring>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "compiler/codegen/cpu/testing/RunKernel.h"
#include "gtest/gtest.h"

namespace aitune {
namespace testing {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
const float kNan = std::nanf("");

/// Usual numbers, halves, signed zeros, infinities, NaN: 19 of them, so that
/// there is a tail.
const std::vector<float> kFloats = {
    0,    -0.0f, 0.5f, 1.5f, 2.5f,  -0.5f, -1.5f,     -2.5f,      3,   -3,
    0.1f, -7.3f, 10,   -10,  1e-3f, 25,    kInfinity, -kInfinity, kNan};

template <typename T> std::string name();
template <> std::string name<float>() { return "f32"; }
template <> std::string name<double>() { return "f64"; }
template <> std::string name<int64_t>() { return "i64"; }
template <> std::string name<int32_t>() { return "i32"; }
template <> std::string name<int8_t>() { return "i8"; }
template <> std::string name<uint8_t>() { return "ui8"; }
template <> std::string name<bool>() { return "i1"; }

template <typename T> std::string typeOf(size_t count) {
  return "tensor<" + std::to_string(count) + "x" + name<T>() + ">";
}

/// bool vectors have no data(); bytes stand for them.
template <typename T>
using Stored = std::conditional_t<std::is_same_v<T, bool>, uint8_t, T>;

/// ait.`op` of every element; `attributes` in braces or empty.
template <typename T, typename R>
std::vector<Stored<R>> unary(const std::string &op,
                             const std::vector<Stored<T>> &x,
                             bool typeChanges = false) {
  std::string in = typeOf<T>(x.size()), out = typeOf<R>(x.size());
  RunnableKernel kernel = RunnableKernel::compile(
      "func.func private @f(%x: " + in + ") -> " + out +
      " attributes {ait.kind = #ait.kind<loop>} {\n  %r = ait." +
      op.substr(0, op.find(' ')) + " %x" +
      (op.find(' ') == std::string::npos ? "" : op.substr(op.find(' '))) +
      " : " + in + (typeChanges ? " -> " + out : "") +
      "\n  return %r : " + out + "\n}");
  EXPECT_EQ(kernel.error(), "");
  std::vector<Stored<R>> result(x.size());
  EXPECT_TRUE(
      kernel.run("f", {const_cast<Stored<T> *>(x.data()), result.data()}));
  return result;
}

/// ait.`op` of every pair of elements.
template <typename T, typename R = T>
std::vector<Stored<R>> binary(const std::string &op,
                              const std::vector<Stored<T>> &x,
                              const std::vector<Stored<T>> &y) {
  std::string in = typeOf<T>(x.size()), out = typeOf<R>(x.size());
  bool compares = !std::is_same_v<T, R>;
  RunnableKernel kernel = RunnableKernel::compile(
      "func.func private @f(%x: " + in + ", %y: " + in + ") -> " + out +
      " attributes {ait.kind = #ait.kind<loop>} {\n  %r = ait." + op +
      " %x, %y : " + in + (compares ? " -> " + out : "") +
      "\n  return %r : " + out + "\n}");
  EXPECT_EQ(kernel.error(), "");
  std::vector<Stored<R>> result(x.size());
  EXPECT_TRUE(
      kernel.run("f", {const_cast<Stored<T> *>(x.data()),
                       const_cast<Stored<T> *>(y.data()), result.data()}));
  return result;
}

void expectSame(float actual, double expected, const std::string &what,
                double tolerance = 2e-6) {
  if (std::isnan(expected))
    EXPECT_TRUE(std::isnan(actual)) << what << " = " << actual;
  else if (std::isinf(expected))
    EXPECT_EQ(actual, expected) << what;
  else
    EXPECT_NEAR(actual, expected,
                tolerance * std::max(1.0, std::fabs(expected)))
        << what;
}

double softplus(double x) { return x > 20 ? x : std::log1p(std::exp(x)); }
double ramp(double x) {
  return std::isnan(x) ? x : std::fmin(std::fmax(x + 3, 0), 6);
}

struct UnaryCase {
  const char *op;
  std::function<double(double)> reference;
};

TEST(PointwiseTest, UnaryOfFloats) {
  const UnaryCase cases[] = {
      {"abs", [](double x) { return std::fabs(x); }},
      {"neg", [](double x) { return -x; }},
      {"sign", [](double x) { return (x > 0) - (x < 0); }},
      {"floor", [](double x) { return std::floor(x); }},
      {"ceil", [](double x) { return std::ceil(x); }},
      {"trunc", [](double x) { return std::trunc(x); }},
      {"round", [](double x) { return std::nearbyint(x); }},
      {"sqrt", [](double x) { return std::sqrt(x); }},
      {"rsqrt", [](double x) { return 1 / std::sqrt(x); }},
      {"reciprocal", [](double x) { return 1 / x; }},
      {"sin", [](double x) { return std::sin(x); }},
      {"cos", [](double x) { return std::cos(x); }},
      {"tan", [](double x) { return std::tan(x); }},
      {"asin", [](double x) { return std::asin(x); }},
      {"acos", [](double x) { return std::acos(x); }},
      {"sinh", [](double x) { return std::sinh(x); }},
      {"cosh", [](double x) { return std::cosh(x); }},
      {"asinh", [](double x) { return std::asinh(x); }},
      {"acosh", [](double x) { return std::acosh(x); }},
      {"atanh", [](double x) { return std::atanh(x); }},
      {"relu", [](double x) { return std::isnan(x) ? x : std::fmax(x, 0); }},
      {"sigmoid", [](double x) { return 1 / (1 + std::exp(-x)); }},
      {"log_sigmoid",
       [](double x) {
         return std::isnan(x)
                    ? x
                    : std::fmin(x, 0) - std::log1p(std::exp(-std::fabs(x)));
       }},
      {"silu", [](double x) { return x / (1 + std::exp(-x)); }},
      {"mish", [](double x) { return x * std::tanh(std::log1p(std::exp(x))); }},
      {"hardswish", [](double x) { return x * ramp(x) / 6; }},
      {"hardsigmoid", [](double x) { return ramp(x) / 6; }},
      {"gelu",
       [](double x) { return 0.5 * x * (1 + std::erf(x * M_SQRT1_2)); }},
      {"gelu {tanh_approximation}",
       [](double x) {
         return 0.5 * x *
                (1 +
                 std::tanh(0.7978845608028654 * (x + 0.044715 * x * x * x)));
       }},
      {"elu {alpha = 1.5, scale = 2.0, input_scale = 0.5}",
       [](double x) { return x > 0 ? 2 * x : 3 * std::expm1(0.5 * x); }},
      {"leaky_relu {negative_slope = 0.1}",
       [](double x) { return x > 0 ? x : 0.1 * x; }},
      {"softplus {beta = 2.0, threshold = 20.0}",
       [](double x) { return x * 2 > 20 ? x : softplus(2 * x) / 2; }},
      {"clamp {min = -1.0, max = 2.0}",
       [](double x) {
         return std::isnan(x) ? x : std::fmin(std::fmax(x, -1), 2);
       }},
      {"clamp {max = 2.0}",
       [](double x) { return std::isnan(x) ? x : std::fmin(x, 2); }},
  };
  for (const UnaryCase &c : cases) {
    std::vector<float> result = unary<float, float>(c.op, kFloats);
    for (size_t i = 0; i < kFloats.size(); ++i)
      expectSame(result[i], c.reference(kFloats[i]),
                 std::string(c.op) + "(" + std::to_string(kFloats[i]) + ")");
    std::vector<double> wide(kFloats.begin(), kFloats.end());
    std::vector<double> wideResult = unary<double, double>(c.op, wide);
    for (size_t i = 0; i < wide.size(); ++i) {
      double expected = c.reference(wide[i]);
      bool same = std::isnan(expected)
                      ? std::isnan(wideResult[i])
                      : wideResult[i] == expected ||
                            std::fabs(wideResult[i] - expected) <=
                                1e-12 * std::max(1.0, std::fabs(expected));
      EXPECT_TRUE(same) << c.op << " in double of " << wide[i] << ": "
                        << wideResult[i] << " instead of " << expected;
    }
  }
}

TEST(PointwiseTest, Predicates) {
  auto nan = unary<float, bool>("isnan", kFloats, true),
       infinite = unary<float, bool>("isinf", kFloats, true);
  auto none = unary<float, bool>("logical_not", kFloats, true),
       some = unary<float, bool>("convert", kFloats, true);
  for (size_t i = 0; i < kFloats.size(); ++i) {
    EXPECT_EQ(nan[i], std::isnan(kFloats[i]));
    EXPECT_EQ(infinite[i], std::isinf(kFloats[i]));
    EXPECT_EQ(none[i], kFloats[i] == 0);
    EXPECT_EQ(some[i], kFloats[i] != 0) << "NaN is true";
  }
}

/// PyTorch's remainder and floor division of floats.
double remainderOf(double a, double b) {
  double rest = std::fmod(a, b);
  return rest != 0 && (b < 0) != (rest < 0) ? rest + b : rest;
}
double floorDivideOf(double a, double b) {
  if (b == 0)
    return a / b;
  double rest = std::fmod(a, b), ratio = (a - rest) / b;
  if (rest != 0 && (b < 0) != (rest < 0))
    ratio -= 1;
  if (ratio == 0)
    return std::copysign(0, a / b);
  double rounded = std::floor(ratio);
  return ratio - rounded > 0.5 ? rounded + 1 : rounded;
}

TEST(PointwiseTest, BinaryOfFloats) {
  std::vector<float> x, y;
  for (float a : kFloats)
    for (float b : kFloats) {
      x.push_back(a);
      y.push_back(b);
    }
  struct Case {
    const char *op;
    std::function<double(double, double)> reference;
  };
  const Case cases[] = {
      {"add", [](double a, double b) { return a + b; }},
      {"sub", [](double a, double b) { return a - b; }},
      {"mul", [](double a, double b) { return a * b; }},
      {"div", [](double a, double b) { return a / b; }},
      {"fmod", [](double a, double b) { return std::fmod(a, b); }},
      {"remainder", remainderOf},
      {"floor_divide", floorDivideOf},
      {"pow", [](double a, double b) { return std::pow(a, b); }},
      {"atan2", [](double a, double b) { return std::atan2(a, b); }},
      {"copysign", [](double a, double b) { return std::copysign(a, b); }},
      {"maximum",
       [](double a, double b) {
         return std::isnan(a) || std::isnan(b) ? kNan : std::fmax(a, b);
       }},
      {"minimum",
       [](double a, double b) {
         return std::isnan(a) || std::isnan(b) ? kNan : std::fmin(a, b);
       }},
  };
  for (const Case &c : cases) {
    std::vector<float> result = binary<float>(c.op, x, y);
    for (size_t i = 0; i < x.size(); ++i) {
      double expected = c.reference(x[i], y[i]);
      if (std::fabs(expected) > 3.4e38)
        expected = std::copysign(kInfinity, expected);
      expectSame(result[i], expected,
                 std::string(c.op) + "(" + std::to_string(x[i]) + ", " +
                     std::to_string(y[i]) + ")",
                 1e-5);
    }
  }
  auto less = binary<float, bool>("lt", x, y),
       equal = binary<float, bool>("eq", x, y);
  auto unequal = binary<float, bool>("ne", x, y),
       notLess = binary<float, bool>("ge", x, y);
  for (size_t i = 0; i < x.size(); ++i) {
    EXPECT_EQ(less[i], x[i] < y[i]);
    EXPECT_EQ(equal[i], x[i] == y[i]);
    EXPECT_EQ(unequal[i], x[i] != y[i]);
    EXPECT_EQ(notLess[i], x[i] >= y[i]);
  }
}

template <typename T> void checkIntegers() {
  const T least = std::numeric_limits<T>::min(),
          greatest = std::numeric_limits<T>::max();
  std::vector<T> values = {0, 1, 2, 3, 7, 100, least, greatest};
  if (std::is_signed_v<T>)
    for (int value : {-1, -2, -3, -7, -100})
      values.push_back(static_cast<T>(value));
  std::vector<T> x, y;
  for (T a : values)
    for (T b : values) {
      x.push_back(a);
      y.push_back(b);
    }
  auto quotient = binary<T>("div", x, y),
       floored = binary<T>("floor_divide", x, y);
  auto rest = binary<T>("remainder", x, y), truncated = binary<T>("fmod", x, y),
       greater = binary<T>("maximum", x, y);
  auto power = binary<T>("pow", x, y), bits = binary<T>("bitwise_xor", x, y);
  auto less = binary<T, bool>("lt", x, y);
  for (size_t i = 0; i < x.size(); ++i) {
    std::string what =
        std::to_string(x[i]) + ", " + std::to_string(y[i]) + " as " + name<T>();
    EXPECT_EQ(greater[i], std::max(x[i], y[i])) << what;
    EXPECT_EQ(bits[i], static_cast<T>(x[i] ^ y[i])) << what;
    EXPECT_EQ(less[i], x[i] < y[i]) << what;
    if (y[i] >= 0 && y[i] <= 8) {
      T expected = 1;
      for (T n = 0; n < y[i]; ++n)
        expected = static_cast<T>(static_cast<uint64_t>(expected) *
                                  static_cast<uint64_t>(x[i]));
      EXPECT_EQ(power[i], expected) << what;
    }
    if (y[i] == 0 || (std::is_signed_v<T> && y[i] == static_cast<T>(-1)))
      continue; // 0: no meaning but no trap either; -1: below
    EXPECT_EQ(quotient[i], static_cast<T>(x[i] / y[i])) << what;
    EXPECT_EQ(truncated[i], static_cast<T>(x[i] % y[i])) << what;
    bool adjust = x[i] % y[i] != 0 && (x[i] < 0) != (y[i] < 0);
    EXPECT_EQ(floored[i], static_cast<T>(x[i] / y[i] - adjust)) << what;
    EXPECT_EQ(rest[i], static_cast<T>(x[i] % y[i] + (adjust ? y[i] : 0)))
        << what;
  }
  if (std::is_signed_v<T>) {
    auto negated = binary<T>("div", values,
                             std::vector<T>(values.size(), static_cast<T>(-1)));
    for (size_t i = 0; i < values.size(); ++i)
      EXPECT_EQ(negated[i],
                static_cast<T>(0 - static_cast<uint64_t>(values[i])));
  }
}

TEST(PointwiseTest, BinaryOfInt64) { checkIntegers<int64_t>(); }
TEST(PointwiseTest, BinaryOfInt32) { checkIntegers<int32_t>(); }
TEST(PointwiseTest, BinaryOfInt8) { checkIntegers<int8_t>(); }
TEST(PointwiseTest, BinaryOfUInt8) { checkIntegers<uint8_t>(); }

TEST(PointwiseTest, Conversions) {
  std::vector<float> x = {0, 1.9f, -1.9f, 100.5f, -100.5f, 127, -128, 2.5f};
  auto wide = unary<float, int64_t>("convert", x, true);
  auto narrow = unary<float, int8_t>("convert", x, true);
  for (size_t i = 0; i < x.size(); ++i) {
    EXPECT_EQ(wide[i], static_cast<int64_t>(x[i]));
    EXPECT_EQ(narrow[i], static_cast<int8_t>(x[i]));
  }
  std::vector<uint8_t> bytes = {0, 1, 127, 128, 255};
  auto fromBytes = unary<uint8_t, float>("convert", bytes, true);
  auto toWide = unary<uint8_t, int64_t>("convert", bytes, true);
  auto truth = unary<uint8_t, bool>("convert", bytes, true);
  std::vector<uint8_t> flags = {0, 1, 1, 0, 1};
  auto fromBool = unary<bool, float>("convert", flags, true);
  auto countsOfBool = unary<bool, int64_t>("convert", flags, true);
  for (size_t i = 0; i < bytes.size(); ++i) {
    EXPECT_EQ(fromBytes[i], bytes[i]);
    EXPECT_EQ(toWide[i], bytes[i]);
    EXPECT_EQ(truth[i], bytes[i] != 0);
    EXPECT_EQ(fromBool[i], flags[i]);
    EXPECT_EQ(countsOfBool[i], flags[i]);
  }
}

TEST(PointwiseTest, Bools) {
  std::vector<uint8_t> x = {0, 0, 1, 1, 0}, y = {0, 1, 0, 1, 1};
  auto either = binary<bool>("add", x, y), both = binary<bool>("mul", x, y),
       one = binary<bool>("bitwise_xor", x, y);
  auto greater = binary<bool>("maximum", x, y),
       inverse = unary<bool, bool>("bitwise_not", x);
  for (size_t i = 0; i < x.size(); ++i) {
    EXPECT_EQ(either[i], x[i] | y[i]);
    EXPECT_EQ(both[i], x[i] & y[i]);
    EXPECT_EQ(one[i], x[i] ^ y[i]);
    EXPECT_EQ(greater[i], x[i] | y[i]);
    EXPECT_EQ(inverse[i], !x[i]);
  }
}

TEST(PointwiseTest, WhatHasNoMeaningIsAnError) {
  RunnableKernel kernel = RunnableKernel::compile(R"(
func.func private @f(%x: tensor<4xi32>) -> tensor<4xi32> attributes {ait.kind = #ait.kind<loop>} {
  %0 = ait.exp %x : tensor<4xi32>
  return %0 : tensor<4xi32>
})");
  EXPECT_NE(kernel.error().find("has no scalar form for elements of 'i32'"),
            std::string::npos)
      << kernel.error();
}

} // namespace
} // namespace testing
} // namespace aitune
