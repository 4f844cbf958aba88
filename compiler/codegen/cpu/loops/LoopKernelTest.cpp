// Generated kernels of rows and reductions against plain C++, over the shapes
// where schedules change: vector tails, short and long rows, dynamic sizes.
#include <algorithm>
#include <cstring>

#include "compiler/codegen/cpu/loops/LoopKernelTesting.h"

namespace aitune {
namespace testing {
namespace {

TEST_P(LoopKernelTest, LayerNormWithResidual) {
  for (int columns : {5, 16, 768, 1000}) {
    RunnableKernel kernel = compile(replaceAll(R"(
func.func private @norm(%a: tensor<6xNxf32>, %b: tensor<6xNxf32>, %w: tensor<Nxf32>, %c: tensor<Nxf32>)
    -> (tensor<6xNxf32>, tensor<6xNxf32>) attributes {ait.kind = #ait.kind<loop>} {
  %x = ait.add %a, %b : tensor<6xNxf32>
  %m = ait.mean %x {dims = array<i64: 1>} : tensor<6xNxf32> -> tensor<6x1xf32>
  %me = ait.expand %m : tensor<6x1xf32> -> tensor<6xNxf32>
  %d = ait.sub %x, %me : tensor<6xNxf32>
  %s = ait.mul %d, %d : tensor<6xNxf32>
  %v = ait.mean %s {dims = array<i64: 1>} : tensor<6xNxf32> -> tensor<6x1xf32>
  %eps = ait.full 1.0e-5 : f32 : tensor<6x1xf32>
  %ve = ait.add %v, %eps : tensor<6x1xf32>
  %r = ait.rsqrt %ve : tensor<6x1xf32>
  %re = ait.expand %r : tensor<6x1xf32> -> tensor<6xNxf32>
  %n = ait.mul %d, %re : tensor<6xNxf32>
  %we = ait.expand %w : tensor<Nxf32> -> tensor<6xNxf32>
  %nw = ait.mul %n, %we : tensor<6xNxf32>
  %ce = ait.expand %c : tensor<Nxf32> -> tensor<6xNxf32>
  %o = ait.add %nw, %ce : tensor<6xNxf32>
  return %x, %o : tensor<6xNxf32>, tensor<6xNxf32>
})",
                                               "N", std::to_string(columns)));
    Floats a = random(6 * columns, -3, 3, 1), b = random(6 * columns, -3, 3, 2);
    Floats w = random(columns, -3, 3, 3), c = random(columns, -3, 3, 4),
           x(a.size()), out(a.size());
    ASSERT_TRUE(kernel.run(
        "norm", {data(a), data(b), data(w), data(c), data(x), data(out)}, {},
        2));
    Floats sum(a.size()), expected(a.size());
    for (int row = 0; row < 6; ++row) {
      double mean = 0, variance = 0;
      for (int i = 0; i < columns; ++i)
        mean += sum[row * columns + i] =
            a[row * columns + i] + b[row * columns + i];
      mean /= columns;
      for (int i = 0; i < columns; ++i)
        variance += std::pow(sum[row * columns + i] - mean, 2);
      variance /= columns;
      for (int i = 0; i < columns; ++i)
        expected[row * columns + i] =
            static_cast<float>((sum[row * columns + i] - mean) /
                                   std::sqrt(variance + 1e-5) * w[i] +
                               c[i]);
    }
    expectNear(x, sum, 0, "sum");
    expectNear(out, expected, 1e-5f,
               "layer norm of " + std::to_string(columns));
  }
}

TEST_P(LoopKernelTest, PointwiseTails) {
  for (int size = 1; size <= 67; ++size) {
    RunnableKernel kernel = compile(replaceAll(R"(
func.func private @f(%a: tensor<Nxf32>, %b: tensor<1xf32>) -> tensor<Nxf32> attributes {ait.kind = #ait.kind<loop>} {
  %be = ait.expand %b : tensor<1xf32> -> tensor<Nxf32>
  %s = ait.mul %a, %be : tensor<Nxf32>
  %r = ait.relu %s : tensor<Nxf32>
  return %r : tensor<Nxf32>
})",
                                               "N", std::to_string(size)));
    Floats a = random(size), b = {2}, result(size + 32, 7), expected(size);
    ASSERT_TRUE(kernel.run("f", {data(a), data(b), data(result)}));
    for (int i = 0; i < size; ++i)
      expected[i] = std::max(0.0f, a[i] * 2);
    for (size_t i = size; i < result.size(); ++i)
      ASSERT_EQ(result[i], 7) << size;
    result.resize(size);
    expectNear(result, expected, 0, "relu of " + std::to_string(size));
  }
}

TEST_P(LoopKernelTest, ColumnReductionsOfChannelsLast) {
  for (int channels : {3, 16, 40, 100}) {
    RunnableKernel kernel = compile(replaceAll(R"(
func.func private @f(%a: tensor<2x7x7xCxf32>) -> (tensor<2x1x1xCxf32>, tensor<2xCxf32>) attributes {ait.kind = #ait.kind<loop>} {
  %m = ait.mean %a {dims = array<i64: 1, 2>} : tensor<2x7x7xCxf32> -> tensor<2x1x1xCxf32>
  %x = ait.amax %a {dims = array<i64: 1, 2>} : tensor<2x7x7xCxf32> -> tensor<2x1x1xCxf32>
  %r = ait.reshape %x : tensor<2x1x1xCxf32> -> tensor<2xCxf32>
  return %m, %r : tensor<2x1x1xCxf32>, tensor<2xCxf32>
})",
                                               "C", std::to_string(channels)));
    Floats a = random(2 * 49 * channels), mean(2 * channels),
           greatest(2 * channels);
    ASSERT_TRUE(kernel.run("f", {data(a), data(mean), data(greatest)}, {}, 2));
    Floats expectedMean(2 * channels), expectedGreatest(2 * channels);
    for (int n = 0; n < 2; ++n)
      for (int c = 0; c < channels; ++c) {
        double sum = 0;
        float best = -100;
        for (int p = 0; p < 49; ++p) {
          sum += a[(n * 49 + p) * channels + c];
          best = std::max(best, a[(n * 49 + p) * channels + c]);
        }
        expectedMean[n * channels + c] = static_cast<float>(sum / 49);
        expectedGreatest[n * channels + c] = best;
      }
    expectNear(mean, expectedMean, 1e-6f, "mean");
    expectNear(greatest, expectedGreatest, 0, "amax");
  }
}

// One accumulator that takes all terms one by one is off by 1e-3 here.
TEST_P(LoopKernelTest, LongSumsStayAccurate) {
  RunnableKernel kernel = compile(R"(
#dynamic = affine_map<()[s0] -> (s0)>
func.func private @rows(%a: tensor<1000003xf32>) -> tensor<1xf32> attributes {ait.kind = #ait.kind<loop>} {
  %r = ait.sum %a {dims = array<i64: 0>} : tensor<1000003xf32> -> tensor<1xf32>
  return %r : tensor<1xf32>
}
func.func private @columns(%a: tensor<62500x16xf32>) -> tensor<1x16xf32> attributes {ait.kind = #ait.kind<loop>} {
  %r = ait.sum %a {dims = array<i64: 0>} : tensor<62500x16xf32> -> tensor<1x16xf32>
  return %r : tensor<1x16xf32>
}
func.func private @outer(%a: tensor<62500x2x8xf32>) -> tensor<1x2x1xf32> attributes {ait.kind = #ait.kind<loop>} {
  %r = ait.sum %a {dims = array<i64: 0, 2>} : tensor<62500x2x8xf32> -> tensor<1x2x1xf32>
  return %r : tensor<1x2x1xf32>
}
func.func private @dynamic(%a: tensor<?xf32, #dynamic>) -> tensor<1xf32> attributes {ait.kind = #ait.kind<loop>} {
  %r = ait.sum %a {dims = array<i64: 0>} : tensor<?xf32, #dynamic> -> tensor<1xf32>
  return %r : tensor<1xf32>
})");
  Floats a(1000003, 0.1f), one(1), two(2), sixteen(16);
  ASSERT_TRUE(kernel.run("rows", {data(a), data(one)}));
  expectNear(one, {100000.3f}, 2e-6f, "rows");
  ASSERT_TRUE(kernel.run("columns", {data(a), data(sixteen)}, {}, 2));
  expectNear(sixteen, Floats(16, 6250), 2e-6f, "columns");
  ASSERT_TRUE(kernel.run("outer", {data(a), data(two)}, {}, 2));
  expectNear(two, Floats(2, 50000), 2e-6f, "outer");
  for (int64_t size : {0, 1, 100, 8191, 8192, 8193, 1000003}) {
    ASSERT_TRUE(kernel.run("dynamic", {data(a), data(one)}, {size}));
    expectNear(one, {static_cast<float>(size * 0.1)}, 2e-6f, "dynamic");
  }
}

TEST_P(LoopKernelTest, GroupNormOfChannelsFirst) {
  RunnableKernel kernel = compile(R"(
func.func private @f(%x: tensor<2x6x5x5xf32>, %w: tensor<6xf32>) -> tensor<2x6x5x5xf32> attributes {ait.kind = #ait.kind<loop>} {
  %g = ait.reshape %x : tensor<2x6x5x5xf32> -> tensor<2x3x50xf32>
  %m = ait.mean %g {dims = array<i64: 2>} : tensor<2x3x50xf32> -> tensor<2x3x1xf32>
  %me = ait.expand %m : tensor<2x3x1xf32> -> tensor<2x3x50xf32>
  %d = ait.sub %g, %me : tensor<2x3x50xf32>
  %b = ait.reshape %d : tensor<2x3x50xf32> -> tensor<2x6x5x5xf32>
  %wr = ait.reshape %w : tensor<6xf32> -> tensor<6x1x1xf32>
  %we = ait.expand %wr : tensor<6x1x1xf32> -> tensor<2x6x5x5xf32>
  %r = ait.mul %b, %we : tensor<2x6x5x5xf32>
  return %r : tensor<2x6x5x5xf32>
})");
  Floats x = random(300), w = random(6, -2, 2, 2), result(300), expected(300);
  ASSERT_TRUE(kernel.run("f", {data(x), data(w), data(result)}, {}, 2));
  for (int group = 0; group < 6; ++group) {
    double mean = 0;
    for (int i = 0; i < 50; ++i)
      mean += x[group * 50 + i] / 50;
    for (int i = 0; i < 50; ++i)
      expected[group * 50 + i] = static_cast<float>(
          (x[group * 50 + i] - mean) * w[(group * 2 + i / 25) % 6]);
  }
  expectNear(result, expected, 1e-5f, "group norm");
}

TEST_P(LoopKernelTest, ArgmaxTakesTheFirstGreatestAndNan) {
  for (int columns : {1, 5, 16, 50, 100}) {
    RunnableKernel kernel = compile(replaceAll(R"(
func.func private @f(%x: tensor<4xNxf32>) -> (tensor<4x1xi64>, tensor<4x1xi64>) attributes {ait.kind = #ait.kind<loop>} {
  %a = ait.argmax %x {dims = array<i64: 1>} : tensor<4xNxf32> -> tensor<4x1xi64>
  %b = ait.argmin %x {dims = array<i64: 1>} : tensor<4xNxf32> -> tensor<4x1xi64>
  return %a, %b : tensor<4x1xi64>, tensor<4x1xi64>
})",
                                               "N", std::to_string(columns)));
    Floats x = random(4 * columns);
    for (float &value : x)
      value = std::round(value * 2); // many equal ones
    x[3 * columns + columns / 2] = std::nanf("");
    std::vector<int64_t> greatest(4), least(4);
    ASSERT_TRUE(kernel.run("f", {data(x), data(greatest), data(least)}));
    for (int row = 0; row < 3; ++row) {
      auto begin = x.begin() + row * columns;
      EXPECT_EQ(greatest[row], std::max_element(begin, begin + columns) - begin)
          << columns;
      EXPECT_EQ(least[row], std::min_element(begin, begin + columns) - begin)
          << columns;
    }
    EXPECT_EQ(greatest[3], columns / 2);
    EXPECT_EQ(least[3], columns / 2);
  }
}

TEST_P(LoopKernelTest, IntegersBoolsAndMixedWidths) {
  RunnableKernel kernel = compile(R"(
func.func private @f(%m: tensor<2x33xi64>, %x: tensor<2x33xf32>, %u: tensor<2x33xui8>)
    -> (tensor<2x33xf32>, tensor<2x33xi1>, tensor<2x33xui8>, tensor<2x33xi64>, tensor<2x33xf64>) attributes {ait.kind = #ait.kind<loop>} {
  %zero = ait.full 0 : i64 : tensor<2x33xi64>
  %c = ait.ne %m, %zero : tensor<2x33xi64> -> tensor<2x33xi1>
  %low = ait.full -1.0e9 : f32 : tensor<2x33xf32>
  %w = ait.where %c, %x, %low : tensor<2x33xi1>, tensor<2x33xf32>
  %s = ait.add %u, %u : tensor<2x33xui8>
  %sum = ait.cumsum %m {dim = 1} : tensor<2x33xi64> -> tensor<2x33xi64>
  %f = ait.convert %u : tensor<2x33xui8> -> tensor<2x33xf64>
  return %w, %c, %s, %sum, %f : tensor<2x33xf32>, tensor<2x33xi1>, tensor<2x33xui8>, tensor<2x33xi64>, tensor<2x33xf64>
})");
  std::vector<int64_t> m(66), sum(66);
  std::vector<uint8_t> u(66), c(66), s(66);
  std::vector<double> f(66);
  Floats x = random(66), w(66);
  for (int i = 0; i < 66; ++i) {
    m[i] = i % 3 - 1;
    u[i] = static_cast<uint8_t>(i * 4);
  }
  ASSERT_TRUE(kernel.run("f",
                         {data(m), data(x), data(u), data(w), data(c), data(s),
                          data(sum), data(f)},
                         {}, 2));
  int64_t running = 0;
  for (int i = 0; i < 66; ++i) {
    running = (i == 33 ? 0 : running) + m[i];
    EXPECT_EQ(w[i], m[i] ? x[i] : -1e9f) << i;
    EXPECT_EQ(c[i], m[i] != 0) << i;
    EXPECT_EQ(s[i], static_cast<uint8_t>(u[i] * 2)) << i;
    EXPECT_EQ(sum[i], running) << i;
    EXPECT_EQ(f[i], static_cast<double>(u[i])) << i;
  }
}

TEST_P(LoopKernelTest, Bfloat16IsComputedInFloat32) {
  RunnableKernel kernel = compile(R"(
func.func private @f(%a: tensor<3x50xbf16>, %b: tensor<3x50xbf16>) -> (tensor<3x50xbf16>, tensor<3x1xbf16>) attributes {ait.kind = #ait.kind<loop>} {
  %x = ait.convert %a : tensor<3x50xbf16> -> tensor<3x50xf32>
  %y = ait.convert %b : tensor<3x50xbf16> -> tensor<3x50xf32>
  %s = ait.add %x, %y : tensor<3x50xf32>
  %t = ait.tanh %s : tensor<3x50xf32>
  %r = ait.convert %t : tensor<3x50xf32> -> tensor<3x50xbf16>
  %m = ait.mean %a {dims = array<i64: 1>} : tensor<3x50xbf16> -> tensor<3x1xbf16>
  return %r, %m : tensor<3x50xbf16>, tensor<3x1xbf16>
})");
  auto toHalf = [](float value) {
    uint32_t bits;
    memcpy(&bits, &value, 4);
    return static_cast<uint16_t>((bits + 0x7fff + ((bits >> 16) & 1)) >> 16);
  };
  auto toFloat = [](uint16_t half) {
    uint32_t bits = static_cast<uint32_t>(half) << 16;
    float value;
    memcpy(&value, &bits, 4);
    return value;
  };
  std::vector<uint16_t> a(150), b(150), result(150), mean(3);
  Floats x = random(150, -3, 3, 1), y = random(150, -3, 3, 2);
  for (int i = 0; i < 150; ++i) {
    a[i] = toHalf(x[i]);
    b[i] = toHalf(y[i]);
  }
  ASSERT_TRUE(
      kernel.run("f", {data(a), data(b), data(result), data(mean)}, {}, 2));
  for (int row = 0; row < 3; ++row) {
    double sum = 0;
    for (int i = row * 50; i < row * 50 + 50; ++i) {
      sum += toFloat(a[i]);
      EXPECT_NEAR(toFloat(result[i]), std::tanh(toFloat(a[i]) + toFloat(b[i])),
                  0.004)
          << i;
    }
    EXPECT_NEAR(toFloat(mean[row]), sum / 50, 0.01);
  }
}

/// A product that is computed once to reduce it and once more to subtract what
/// it was reduced to is rounded both times: the largest of a row is 0 then.
TEST_P(LoopKernelTest, ProductsAreRoundedBeforeTheyAreSubtracted) {
  RunnableKernel kernel = compile(R"(
func.func private @f(%x: tensor<20x50xf32>, %y: tensor<20x50xf32>) -> tensor<20x50xf32> attributes {ait.kind = #ait.kind<loop>} {
  %p = ait.mul %x, %y : tensor<20x50xf32>
  %m = ait.amax %p {dims = array<i64: 1>} : tensor<20x50xf32> -> tensor<20x1xf32>
  %e = ait.expand %m : tensor<20x1xf32> -> tensor<20x50xf32>
  %r = ait.sub %p, %e : tensor<20x50xf32>
  return %r : tensor<20x50xf32>
})");
  Floats x = random(1000, -3, 3, 1), y = random(1000, -3, 3, 2), result(1000);
  ASSERT_TRUE(kernel.run("f", {data(x), data(y), data(result)}, {}, 2));
  for (auto row = result.begin(); row != result.end(); row += 50)
    EXPECT_EQ(*std::max_element(row, row + 50), 0);
}

// Sizes of which MLIR's own simplification of semi-affine expressions would
// make 0, and with them the number of units.
TEST_P(LoopKernelTest, PairsOfRowsOfAnyLength) {
  RunnableKernel kernel = compile(R"(
#even = affine_map<()[s0, s1] -> (s0, (s1 - s1 mod 2) floordiv 2, 2)>
#half = affine_map<()[s0, s1] -> (s0, (s1 - s1 mod 2) floordiv 2, 1)>
func.func private @f(%a: tensor<?x?x2xf32, #even>) -> tensor<?x?x1xf32, #half> attributes {ait.kind = #ait.kind<loop>} {
  %s = ait.sum %a {dims = array<i64: 2>} : tensor<?x?x2xf32, #even> -> tensor<?x?x1xf32, #half>
  return %s : tensor<?x?x1xf32, #half>
})");
  EXPECT_GE(kernel.units("f", {3, 9}), 1);
  Floats a = random(24), result(12), expected(12);
  ASSERT_TRUE(kernel.run("f", {data(a), data(result)}, {3, 9}, 1));
  for (size_t i = 0; i < expected.size(); ++i)
    expected[i] = a[2 * i] + a[2 * i + 1];
  expectNear(result, expected, 1e-6f, "sum");
}

TEST_P(LoopKernelTest, LargeDomainInManyUnits) {
  RunnableKernel kernel = compile(R"(
#map = affine_map<()[s0] -> (s0, 1000)>
func.func private @f(%a: tensor<?x1000xf32, #map>, %b: tensor<1000xf32>) -> tensor<?x1000xf32, #map> attributes {ait.kind = #ait.kind<loop>} {
  %be = ait.expand %b : tensor<1000xf32> -> tensor<?x1000xf32, #map>
  %s = ait.add %a, %be : tensor<?x1000xf32, #map>
  %r = ait.gelu %s : tensor<?x1000xf32, #map>
  return %r : tensor<?x1000xf32, #map>
})");
  EXPECT_GT(kernel.units("f", {300}), 16);
  Floats a = random(300000), b = random(1000, -3, 3, 2), result(a.size()),
         expected(a.size());
  ASSERT_TRUE(kernel.run("f", {data(a), data(b), data(result)}, {300}, 7));
  for (size_t i = 0; i < a.size(); ++i) {
    double x = a[i] + b[i % 1000];
    expected[i] = static_cast<float>(0.5 * x * (1 + std::erf(x * M_SQRT1_2)));
  }
  expectNear(result, expected, 1e-6f, "gelu");
}

TEST_P(LoopKernelTest, CumulativeSumsOfAnyAxis) {
  RunnableKernel kernel = compile(R"(
#map = affine_map<()[s0] -> (3, s0, 21)>
func.func private @last(%x: tensor<3x?x21xf32, #map>) -> (tensor<3x?x21xf32, #map>, tensor<3x?x21xf32, #map>) attributes {ait.kind = #ait.kind<loop>} {
  %n = ait.neg %x : tensor<3x?x21xf32, #map>
  %s = ait.cumsum %n {dim = 2} : tensor<3x?x21xf32, #map> -> tensor<3x?x21xf32, #map>
  %f = ait.flip %s {dims = array<i64: 2>} : tensor<3x?x21xf32, #map> -> tensor<3x?x21xf32, #map>
  %r = ait.add %s, %n : tensor<3x?x21xf32, #map>
  return %r, %f : tensor<3x?x21xf32, #map>, tensor<3x?x21xf32, #map>
}
func.func private @middle(%x: tensor<3x?x21xf32, #map>) -> tensor<3x?x21xf32, #map> attributes {ait.kind = #ait.kind<loop>} {
  %s = ait.cumsum %x {dim = 1} : tensor<3x?x21xf32, #map> -> tensor<3x?x21xf32, #map>
  return %s : tensor<3x?x21xf32, #map>
})");
  int length = 13;
  Floats x = random(3 * length * 21), sum(x.size()), flipped(x.size()),
         middle(x.size());
  ASSERT_TRUE(
      kernel.run("last", {data(x), data(sum), data(flipped)}, {length}, 4));
  ASSERT_TRUE(kernel.run("middle", {data(x), data(middle)}, {length}, 4));
  Floats expectedSum(x.size()), expectedFlipped(x.size()),
      expectedMiddle(x.size());
  for (int n = 0; n < 3; ++n)
    for (int t = 0; t < length; ++t) {
      float running = 0;
      for (int i = 0; i < 21; ++i) {
        int at = (n * length + t) * 21 + i;
        running -= x[at];
        expectedSum[at] = running - x[at];
        expectedFlipped[(n * length + t) * 21 + 20 - i] = running;
        expectedMiddle[at] = (t ? expectedMiddle[at - 21] : 0) + x[at];
      }
    }
  expectNear(sum, expectedSum, 1e-5f, "along the last axis");
  expectNear(flipped, expectedFlipped, 1e-5f, "read backwards");
  expectNear(middle, expectedMiddle, 1e-5f, "along the middle axis");
}

INSTANTIATE_TEST_SUITE_P(Targets, LoopKernelTest, allTargets(),
                         [](const auto &info) {
                           return std::string(info.param);
                         });

TEST(LoopKernelErrorTest, UnknownOperationIsNamed) {
  RunnableKernel kernel = RunnableKernel::compile(R"(
func.func private @f(%x: tensor<4x4xf32>) -> tensor<4x4xf32> attributes {ait.kind = #ait.kind<loop>} {
  %0 = ait.matmul %x, %x : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  return %0 : tensor<4x4xf32>
})");
  EXPECT_NE(kernel.error().find("ait.matmul"), std::string::npos)
      << kernel.error();
}

} // namespace
} // namespace testing
} // namespace aitune
