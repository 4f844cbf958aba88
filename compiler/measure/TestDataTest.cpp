// What the inputs that candidates are judged on hold.
#include "compiler/measure/TestData.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "gtest/gtest.h"

namespace aitune {
namespace {

std::vector<float> extremeFloats(int64_t count, bool nonFinite) {
  std::vector<float> data(count);
  TensorView view{data.data(), DataType::kFloat32, {count}};
  std::mt19937 generator(1);
  fillExtreme(view, nonFinite, generator);
  return data;
}

TEST(FillExtreme, LargeSmallAndZero) {
  const std::vector<float> data = extremeFloats(100000, false);
  auto has = [&](auto predicate) {
    // At the end too, where a long tensor repeats itself.
    return std::any_of(data.begin(), data.begin() + 1000, predicate) &&
           std::any_of(data.end() - 1000, data.end(), predicate);
  };
  EXPECT_TRUE(has([](float x) { return x == 0; }));
  EXPECT_TRUE(has([](float x) { return std::abs(x) > 500; }));
  EXPECT_TRUE(has([](float x) { return x != 0 && std::abs(x) < 1e-5f; }));
  EXPECT_TRUE(has([](float x) { return x == 0.5f; }));
  EXPECT_TRUE(std::all_of(data.begin(), data.end(),
                          [](float x) { return std::isfinite(x); }));
}

TEST(FillExtreme, FewThatAreNotFinite) {
  const std::vector<float> data = extremeFloats(1000, true);
  EXPECT_EQ(std::count_if(data.begin(), data.end(),
                          [](float x) { return std::isnan(x); }),
            1);
  EXPECT_EQ(std::count_if(data.begin(), data.end(),
                          [](float x) { return std::isinf(x); }),
            2);
  // A NaN in a handful of elements would be all that is looked at.
  const std::vector<float> few = extremeFloats(8, true);
  EXPECT_TRUE(std::all_of(few.begin(), few.end(),
                          [](float x) { return std::isfinite(x); }));
}

TEST(FillExtreme, IntegersOfEitherSign) {
  std::vector<int64_t> data(1000);
  TensorView view{data.data(), DataType::kInt64, {1000}};
  std::mt19937 generator(1);
  fillExtreme(view, true, generator);
  EXPECT_LT(*std::min_element(data.begin(), data.end()), 0);
  EXPECT_GT(*std::max_element(data.begin(), data.end()), 8);
}

TEST(FillExtreme, BoolsStayBools) {
  std::vector<uint8_t> data(1000);
  TensorView view{data.data(), DataType::kBool, {1000}};
  std::mt19937 generator(1);
  fillExtreme(view, true, generator);
  EXPECT_EQ(*std::max_element(data.begin(), data.end()), 1);
}

// Weights on a GPU are random: kernels must meet all of their codes.
TEST(CompareResults, LooksAtEachElementBesideItsSize) {
  // bf16 of 64 and of its fourth neighbour, among many ones.
  std::vector<uint16_t> expected(1000, 0x3f80), actual(1000, 0x3f80);
  expected[7] = 0x4280;
  actual[7] = 0x4284;
  TensorView e{expected.data(), DataType::kBFloat16, {1000}},
      a{actual.data(), DataType::kBFloat16, {1000}};
  EXPECT_EQ(compareResults({e}, {a}), "");
  actual[8] = 0x40c0; // 6
  EXPECT_NE(compareResults({e}, {a}), "");
}

TEST(FillRandom, CodesOfEitherSignThatAreNumbers) {
  std::vector<uint8_t> data(4000);
  const int64_t count = static_cast<int64_t>(data.size());
  std::mt19937 generator(1);
  auto seen = [&](DataType dtype, uint8_t code) {
    TensorView view{data.data(), dtype, {count}};
    fillRandom(view, generator);
    return std::count(data.begin(), data.end(), code) > 0;
  };
  for (int code = 0; code < 256; ++code) {
    EXPECT_TRUE(seen(DataType::kInt8, code)) << code;
    const bool isNan = (code & 0x7f) == 0x7f;
    EXPECT_EQ(seen(DataType::kFloat8E4M3Fn, code), !isNan) << code;
  }
}

} // namespace
} // namespace aitune
