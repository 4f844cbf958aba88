#include <cmath>
#include <limits>

#include "absl/strings/str_cat.h"
#include "compiler/reference/ReferenceTesting.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

using testing::DoubleEq;
using testing::DoubleNear;
using testing::ElementsAre;
using testing::IsNan;

namespace aitune {
namespace {

const double kNan = std::numeric_limits<double>::quiet_NaN();

/// Along axis 1 of a tensor of two rows of three.
std::vector<double> reduce(const std::string &operation,
                           const std::vector<double> &x,
                           const std::string &element = "f32",
                           std::string result = "") {
  if (result.empty())
    result = element;
  const std::string from = absl::StrCat("tensor<2x3x", element, ">"),
                    to = absl::StrCat("tensor<2x1x", result, ">");
  return valuesOf(
      kernelOf(absl::StrCat("ait.", operation,
                            " %a0 {dims = array<i64: 1>} : ", from, " -> ", to),
               {from}, to),
      {x});
}

TEST(ReductionTest, Floats) {
  EXPECT_THAT(reduce("sum", {1, 2, 3, 4, 5, 6}), ElementsAre(6, 15));
  EXPECT_THAT(reduce("mean", {1, 2, 3, 4, 5, 6}), ElementsAre(2, 5));
  EXPECT_THAT(reduce("prod", {1, 2, 3, 4, 5, 6}), ElementsAre(6, 120));
  EXPECT_THAT(reduce("amax", {1, 3, 2, 4, kNan, 6}), ElementsAre(3, IsNan()));
  EXPECT_THAT(reduce("amin", {3, 1, 2, kNan, 5, 6}), ElementsAre(1, IsNan()));
  EXPECT_THAT(reduce("argmax", {1, 3, 3, 4, kNan, 6}, "f32", "i64"),
              ElementsAre(1, 1));
  EXPECT_THAT(reduce("argmin", {3, 1, 1, 4, 5, kNan}, "f32", "i64"),
              ElementsAre(1, 2));
  EXPECT_THAT(reduce("any", {0, 0, 0, 0, 2, 0}, "f32", "i1"),
              ElementsAre(0, 1));
  EXPECT_THAT(reduce("all", {1, 2, 3, 0, 2, 1}, "f32", "i1"),
              ElementsAre(1, 0));
}

TEST(ReductionTest, Integers) {
  EXPECT_THAT(reduce("sum", {1, 2, 3, 4, 5, -6}, "i32"), ElementsAre(6, 3));
  EXPECT_THAT(reduce("prod", {1, 2, 3, 4, 5, -6}, "i32"), ElementsAre(6, -120));
  EXPECT_THAT(reduce("amax", {-1, -2, -3, 4, 5, 6}, "i32"), ElementsAre(-1, 6));
  EXPECT_THAT(reduce("amin", {1, 2, 3, 4, -5, 6}, "i32"), ElementsAre(1, -5));
  EXPECT_THAT(reduce("argmax", {-1, -2, -3, 4, 5, 6}, "i32", "i64"),
              ElementsAre(0, 2));
  EXPECT_THAT(reduce("any", {0, 0, 0, 0, 1, 0}, "i1", "i1"), ElementsAre(0, 1));
  EXPECT_THAT(reduce("all", {1, 1, 1, 0, 1, 1}, "i1", "i1"), ElementsAre(1, 0));
}

TEST(ReductionTest, SeveralAxes) {
  EXPECT_THAT(valuesOf(kernelOf("ait.sum %a0 {dims = array<i64: 0, 2>} : "
                                "tensor<2x2x2xf32> -> tensor<1x2x1xf32>",
                                {"tensor<2x2x2xf32>"}, "tensor<1x2x1xf32>"),
                       {{1, 2, 3, 4, 5, 6, 7, 8}}),
              ElementsAre(14, 22));
}

TEST(ReductionTest, NoElements) {
  const std::string text =
      kernelOf("ait.sum %a0 {dims = array<i64: 1>} : tensor<1x0xf32> -> "
               "tensor<1x1xf32>",
               {"tensor<1x0xf32>"}, "tensor<1x1xf32>");
  EXPECT_THAT(valuesOf(text, {{}}), ElementsAre(0));
}

TEST(ReductionTest, Cumsum) {
  EXPECT_THAT(valuesOf(kernelOf("ait.cumsum %a0 {dim = 0 : i64} : "
                                "tensor<3x2xf32> -> tensor<3x2xf32>",
                                {"tensor<3x2xf32>"}, "tensor<3x2xf32>"),
                       {{1, 2, 3, 4, 5, 6}}),
              ElementsAre(1, 2, 4, 6, 9, 12));
  EXPECT_THAT(valuesOf(kernelOf("ait.cumsum %a0 {dim = 0 : i64} : "
                                "tensor<3xi1> -> tensor<3xi64>",
                                {"tensor<3xi1>"}, "tensor<3xi64>"),
                       {{1, 0, 1}}),
              ElementsAre(1, 1, 2));
}

TEST(ReductionTest, ErrorsOfSumsGrowWithTheirTerms) {
  auto error = [](double size) {
    return referenceOf(kernelOf("ait.sum %a0 {dims = array<i64: 0>} : "
                                "tensor<4xf32> -> tensor<1xf32>",
                                {"tensor<4xf32>"}, "tensor<1xf32>"),
                       {{size, 1, -size, 1}})[0]
        .elements[0]
        .error;
  };
  EXPECT_GT(error(1e6), 1e6 * 0x1p-24);
  EXPECT_LT(error(1e6), 1);
  EXPECT_LT(error(1), 1e-5);
}

TEST(ReductionTest, AnAlmostEqualGreatestIsUncertain) {
  const char *text = R"(
    func.func @kernel(%x: tensor<2xf32>) -> tensor<1xi64> {
      %0 = ait.exp %x : tensor<2xf32>
      %1 = ait.argmax %0 {dims = array<i64: 0>} : tensor<2xf32> -> tensor<1xi64>
      return %1 : tensor<1xi64>
    })";
  EXPECT_TRUE(
      std::isinf(referenceOf(text, {{1, 1.0000001}})[0].elements[0].error));
  EXPECT_EQ(referenceOf(text, {{1, 1.1}})[0].elements[0].error, 0);
}

constexpr char kImage[] = "tensor<1x1x3x3xf32>";

TEST(WindowTest, MaxPool) {
  EXPECT_THAT(
      valuesOf(kernelOf("ait.max_pool2d %a0 {kernel_size = array<i64: 2, 2>, "
                        "stride = array<i64: 2, 2>, padding = array<i64: 1, "
                        "1>, dilation = array<i64: 1, 1>} : "
                        "tensor<1x1x3x3xf32> -> tensor<1x1x2x2xf32>",
                        {kImage}, "tensor<1x1x2x2xf32>"),
               {{1, 2, 3, 4, 5, 6, 7, 8, 9}}),
      ElementsAre(1, 3, 7, 9));
  EXPECT_THAT(
      valuesOf(kernelOf("ait.max_pool2d %a0 {kernel_size = array<i64: 2, 2>, "
                        "stride = array<i64: 1, 1>, padding = array<i64: 0, "
                        "0>, dilation = array<i64: 2, 2>, channels_last} : "
                        "tensor<1x3x3x1xf32> -> tensor<1x1x1x1xf32>",
                        {"tensor<1x3x3x1xf32>"}, "tensor<1x1x1x1xf32>"),
               {{-1, 0, -3, 0, 0, 0, -7, 0, -9}}),
      ElementsAre(-1));
}

TEST(WindowTest, AveragePool) {
  auto pool = [](const char *attributes) {
    return valuesOf(
        kernelOf(absl::StrCat("ait.avg_pool2d %a0 {kernel_size = array<i64: 2, "
                              "2>, stride = array<i64: 2, 2>, padding = "
                              "array<i64: 1, 1>, ",
                              attributes,
                              "} : tensor<1x1x3x3xf32> -> "
                              "tensor<1x1x2x2xf32>"),
                 {kImage}, "tensor<1x1x2x2xf32>"),
        {{4, 8, 12, 16, 20, 24, 28, 32, 36}});
  };
  EXPECT_THAT(pool("count_include_pad = true"), ElementsAre(1, 5, 11, 28));
  EXPECT_THAT(pool("count_include_pad = false"), ElementsAre(4, 10, 22, 28));
  EXPECT_THAT(pool("count_include_pad = true, divisor_override = 2 : i64"),
              ElementsAre(2, 10, 22, 56));
}

TEST(WindowTest, UpsampleNearest) {
  EXPECT_THAT(
      valuesOf(kernelOf("ait.upsample_nearest2d %a0 {scale_h = 0.5 : f64, "
                        "scale_w = 0.5 : f64} : tensor<1x1x1x2xf32> -> "
                        "tensor<1x1x2x4xf32>",
                        {"tensor<1x1x1x2xf32>"}, "tensor<1x1x2x4xf32>"),
               {{1, 2}}),
      ElementsAre(1, 1, 2, 2, 1, 1, 2, 2));
  // floor(i * 2 / 3)
  EXPECT_THAT(
      valuesOf(kernelOf("ait.upsample_nearest2d %a0 {scale_h = 1.0 : f64, "
                        "scale_w = 0.6666666666666666 : f64} : "
                        "tensor<1x1x1x2xf32> -> tensor<1x1x1x3xf32>",
                        {"tensor<1x1x1x2xf32>"}, "tensor<1x1x1x3xf32>"),
               {{1, 2}}),
      ElementsAre(1, 1, 2));
}

TEST(WindowTest, UpsampleBilinear) {
  EXPECT_THAT(
      valuesOf(kernelOf("ait.upsample_bilinear2d %a0 {scale_h = 1.0 : f64, "
                        "scale_w = 0.5 : f64, align_corners = false} : "
                        "tensor<1x1x1x2xf32> -> tensor<1x1x1x4xf32>",
                        {"tensor<1x1x1x2xf32>"}, "tensor<1x1x1x4xf32>"),
               {{0, 4}}),
      ElementsAre(0, 1, 3, 4));
  EXPECT_THAT(
      valuesOf(kernelOf("ait.upsample_bilinear2d %a0 {scale_h = 0.0 : f64, "
                        "scale_w = 0.5 : f64, align_corners = true} : "
                        "tensor<1x1x1x2xf32> -> tensor<1x1x1x3xf32>",
                        {"tensor<1x1x1x2xf32>"}, "tensor<1x1x1x3xf32>"),
               {{0, 4}}),
      ElementsAre(0, 2, 4));
}

} // namespace
} // namespace aitune
