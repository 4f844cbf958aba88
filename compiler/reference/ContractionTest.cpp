#include <cmath>
#include <limits>

#include "absl/strings/str_cat.h"
#include "compiler/dialect/Ait.h"
#include "compiler/reference/ReferenceTesting.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

using testing::DoubleNear;
using testing::ElementsAre;

namespace aitune {
namespace {

TEST(MatmulTest, Plain) {
  EXPECT_THAT(valuesOf(kernelOf("ait.matmul %a0, %a1 : (tensor<2x2xf32>, "
                                "tensor<2x3xf32>) -> tensor<2x3xf32>",
                                {"tensor<2x2xf32>", "tensor<2x3xf32>"},
                                "tensor<2x3xf32>"),
                       {{1, 2, 3, 4}, {1, 2, 3, 4, 5, 6}}),
              ElementsAre(9, 12, 15, 19, 26, 33));
}

TEST(MatmulTest, Transposed) {
  EXPECT_THAT(
      valuesOf(kernelOf("ait.matmul %a0, %a1 {transpose_lhs, transpose_rhs} : "
                        "(tensor<2x2xf32>, tensor<3x2xf32>) -> "
                        "tensor<2x3xf32>",
                        {"tensor<2x2xf32>", "tensor<3x2xf32>"},
                        "tensor<2x3xf32>"),
               {{1, 3, 2, 4}, {1, 4, 2, 5, 3, 6}}),
      ElementsAre(9, 12, 15, 19, 26, 33));
}

TEST(MatmulTest, BatchesWithOneMatrixOrTheirOwn) {
  EXPECT_THAT(valuesOf(kernelOf("ait.matmul %a0, %a1 : (tensor<2x1x2xf32>, "
                                "tensor<2x1xf32>) -> tensor<2x1x1xf32>",
                                {"tensor<2x1x2xf32>", "tensor<2x1xf32>"},
                                "tensor<2x1x1xf32>"),
                       {{1, 2, 3, 4}, {1, 10}}),
              ElementsAre(21, 43));
  EXPECT_THAT(valuesOf(kernelOf("ait.matmul %a0, %a1 : (tensor<2x1x2xf32>, "
                                "tensor<2x2x1xf32>) -> tensor<2x1x1xf32>",
                                {"tensor<2x1x2xf32>", "tensor<2x2x1xf32>"},
                                "tensor<2x1x1xf32>"),
                       {{1, 2, 3, 4}, {1, 10, 100, 1000}}),
              ElementsAre(21, 4300));
}

TEST(MatmulTest, OfViewsAndOfValuesThatAreComputed) {
  // x^T relu(y) with x as columns of a larger matrix
  const char *text = R"(
    func.func @kernel(%x: tensor<2x3xf32>, %y: tensor<2x1xf32>) -> tensor<2x1xf32> {
      %0 = ait.slice %x {starts = array<i64: 0, 1>, steps = array<i64: 1, 1>} : tensor<2x3xf32> -> tensor<2x2xf32>
      %1 = ait.permute %0 {permutation = array<i64: 1, 0>} : tensor<2x2xf32> -> tensor<2x2xf32>
      %2 = ait.relu %y : tensor<2x1xf32>
      %3 = ait.matmul %1, %2 : (tensor<2x2xf32>, tensor<2x1xf32>) -> tensor<2x1xf32>
      return %3 : tensor<2x1xf32>
    })";
  EXPECT_THAT(valuesOf(text, {{9, 1, 2, 9, 3, 4}, {10, -1}}),
              ElementsAre(10, 20));
}

TEST(MatmulTest, ReshapedOperandsAreReadInPlace) {
  // [2, 3, 2] -> heads first -> [3, 2, 2] merged with the batch
  const char *text = R"(
    func.func @kernel(%x: tensor<2x6xf32>, %y: tensor<3x2x1xf32>) -> tensor<3x2x1xf32> {
      %0 = ait.reshape %x : tensor<2x6xf32> -> tensor<2x3x2xf32>
      %1 = ait.permute %0 {permutation = array<i64: 1, 0, 2>} : tensor<2x3x2xf32> -> tensor<3x2x2xf32>
      %2 = ait.matmul %1, %y : (tensor<3x2x2xf32>, tensor<3x2x1xf32>) -> tensor<3x2x1xf32>
      return %2 : tensor<3x2x1xf32>
    })";
  EXPECT_THAT(valuesOf(text, {{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12},
                              {1, 0, 0, 1, 1, 1}}),
              ElementsAre(1, 7, 4, 10, 11, 23));
}

TEST(MatmulTest, HalvesIntegersAndCodes) {
  EXPECT_THAT(valuesOf(kernelOf("ait.matmul %a0, %a1 : (tensor<1x2xbf16>, "
                                "tensor<2x1xbf16>) -> tensor<1x1xf32>",
                                {"tensor<1x2xbf16>", "tensor<2x1xbf16>"},
                                "tensor<1x1xf32>"),
                       {{1.5, 2}, {4, 0.25}}),
              ElementsAre(6.5));
  EXPECT_THAT(valuesOf(kernelOf("ait.matmul %a0, %a1 : (tensor<1x2xi64>, "
                                "tensor<2x1xi64>) -> tensor<1x1xi64>",
                                {"tensor<1x2xi64>", "tensor<2x1xi64>"},
                                "tensor<1x1xi64>"),
                       {{3, 2}, {4, -5}}),
              ElementsAre(2));
  EXPECT_THAT(valuesOf(kernelOf("ait.matmul %a0, %a1 : (tensor<1x2xui8>, "
                                "tensor<2x1xi8>) -> tensor<1x1xi32>",
                                {"tensor<1x2xui8>", "tensor<2x1xi8>"},
                                "tensor<1x1xi32>"),
                       {{200, 1}, {-100, 7}}),
              ElementsAre(-19993));
  EXPECT_THAT(valuesOf(kernelOf("ait.matmul %a0, %a1 : (tensor<1x2xf32>, "
                                "tensor<2x1xi8>) -> tensor<1x1xf32>",
                                {"tensor<1x2xf32>", "tensor<2x1xi8>"},
                                "tensor<1x1xf32>"),
                       {{0.5, 1}, {-100, 7}}),
              ElementsAre(-43));
}

TEST(MatmulTest, SumsOfSmallFloatsHaveTheBitsThatTensorCoresKeep) {
  // Given as codes: 1, 2 and 2, -1.5.
  const std::string text = kernelOf(
      "ait.matmul %a0, %a1 : (tensor<1x2xf8E4M3FN>, "
      "tensor<2x1xf8E4M3FN>) -> tensor<1x1xf32>",
      {"tensor<1x2xf8E4M3FN>", "tensor<2x1xf8E4M3FN>"}, "tensor<1x1xf32>");
  const auto results = referenceOf(text, {{56, 64}, {64, 188}});
  ASSERT_EQ(results.size(), 1u);
  EXPECT_EQ(results[0].elements[0].number, -1);
  EXPECT_GT(results[0].elements[0].error, 0x1p-11);
  EXPECT_LT(results[0].elements[0].error, 0x1p-7);
}

TEST(MatmulTest, Tf32RoundsOperands) {
  const std::string text =
      kernelOf("ait.matmul %a0, %a1 : (tensor<1x1xf32>, tensor<1x1xf32>) -> "
               "tensor<1x1xf32>",
               {"tensor<1x1xf32>", "tensor<1x1xf32>"}, "tensor<1x1xf32>");
  auto error = [&](bool tf32) {
    ReferenceOptions options;
    options.tf32Matmul = tf32;
    return referenceOf(text, {{1}, {1}}, {}, options)[0].elements[0].error;
  };
  EXPECT_LT(error(false), 1e-5);
  EXPECT_GT(error(true), 0x1p-11);
}

std::string convolve(const std::string &attributes, const std::string &input,
                     const std::string &filter, const std::string &result) {
  return kernelOf(absl::StrCat("ait.convolution %a0, %a1 {", attributes,
                               "} : (", input, ", ", filter, ") -> ", result),
                  {input, filter}, result);
}

constexpr char kPlain[] = "stride = array<i64: 1, 1>, padding = array<i64: 0, "
                          "0>, dilation = array<i64: 1, 1>, groups = 1 : i64";

TEST(ConvolutionTest, Plain) {
  // Two channels of 2x2, taps 1 2 / 3 4 of the first and -1 of the second.
  EXPECT_THAT(valuesOf(convolve(kPlain, "tensor<1x2x2x2xf32>",
                                "tensor<1x2x2x2xf32>", "tensor<1x1x1x1xf32>"),
                       {{1, 2, 3, 4, 5, 6, 7, 8}, {1, 2, 3, 4, 0, 0, 0, -1}}),
              ElementsAre(1 + 4 + 9 + 16 - 8));
  // The same in the other order of the axes.
  EXPECT_THAT(valuesOf(convolve(absl::StrCat(kPlain, ", channels_last"),
                                "tensor<1x2x2x2xf32>", "tensor<1x2x2x2xf32>",
                                "tensor<1x1x1x1xf32>"),
                       {{1, 5, 2, 6, 3, 7, 4, 8}, {1, 2, 3, 4, 0, 0, 0, -1}}),
              ElementsAre(22));
}

TEST(ConvolutionTest, StridePaddingAndDilation) {
  EXPECT_THAT(
      valuesOf(convolve("stride = array<i64: 1, 2>, padding = array<i64: 0, "
                        "1>, dilation = array<i64: 1, 2>, groups = 1 : i64",
                        "tensor<1x1x1x5xf32>", "tensor<1x1x1x2xf32>",
                        "tensor<1x1x1x3xf32>"),
               {{1, 2, 3, 4, 5}, {1, 10}}),
      // Reads at -1 and 1, at 1 and 3, at 3 and 5.
      ElementsAre(20, 42, 4));
}

TEST(ConvolutionTest, Volumes) {
  const std::string attributes =
      "stride = array<i64: 2, 1, 1>, padding = array<i64: 1, 0, 0>, dilation = "
      "array<i64: 1, 1, 1>, groups = 1 : i64";
  // Reads depths -1 to 1 and 1 to 3, of columns 0 and 1.
  EXPECT_THAT(
      valuesOf(convolve(attributes, "tensor<1x1x4x1x2xf32>",
                        "tensor<1x1x3x1x2xf32>", "tensor<1x1x2x1x1xf32>"),
               {{1, 2, 3, 4, 5, 6, 7, 8}, {1, 0, 10, 0, 0, 100}}),
      ElementsAre(10 + 400, 3 + 50 + 800));
  EXPECT_THAT(
      valuesOf(convolve(absl::StrCat(attributes, ", channels_last"),
                        "tensor<1x4x1x1x2xf32>", "tensor<1x2x3x1x1xf32>",
                        "tensor<1x2x1x1x1xf32>"),
               {{1, 2, 3, 4, 5, 6, 7, 8}, {1, 10, 0, 0, 0, 100}}),
      ElementsAre(10 + 400, 3 + 50 + 800));
}

TEST(ConvolutionTest, Groups) {
  EXPECT_THAT(
      valuesOf(convolve("stride = array<i64: 1, 1>, padding = array<i64: 0, "
                        "0>, dilation = array<i64: 1, 1>, groups = 2 : i64",
                        "tensor<1x2x1x1xf32>", "tensor<4x1x1x1xf32>",
                        "tensor<1x4x1x1xf32>"),
               {{1, 10}, {1, 2, 3, 4}}),
      ElementsAre(1, 2, 30, 40));
}

constexpr char kQueries[] = "tensor<1x2x1xf64>";

std::vector<double> attend(const std::string &attributes) {
  return valuesOf(
      kernelOf(absl::StrCat("ait.attention %a0, %a1, %a2 {scale = 0.5 : f64",
                            attributes, "} : (", kQueries, ", ", kQueries, ", ",
                            kQueries, ") -> ", kQueries),
               {kQueries, kQueries, kQueries}, kQueries),
      // The first query scores 0 and 0, the second 0 and log 3.
      {{0, 2 * std::log(3.0)}, {0, 1}, {4, 8}});
}

TEST(AttentionTest, Plain) {
  EXPECT_THAT(attend(""),
              ElementsAre(DoubleNear(6, 1e-12), DoubleNear(7, 1e-12)));
}

TEST(AttentionTest, Causal) {
  EXPECT_THAT(attend(", is_causal"),
              ElementsAre(DoubleNear(4, 1e-12), DoubleNear(7, 1e-12)));
}

std::vector<double> attendWithMask(const std::string &mask,
                                   const std::vector<double> &values) {
  return valuesOf(
      kernelOf(absl::StrCat("ait.attention %a0, %a1, %a2, %a3 {scale = 0.5 : "
                            "f64} : (",
                            kQueries, ", ", kQueries, ", ", kQueries, ", ",
                            mask, ") -> ", kQueries),
               {kQueries, kQueries, kQueries, mask}, kQueries),
      {{0, 2 * std::log(3.0)}, {0, 1}, {4, 8}, values});
}

TEST(AttentionTest, Masks) {
  EXPECT_THAT(attendWithMask("tensor<2x2xi1>", {1, 0, 0, 1}),
              ElementsAre(4, 8));
  // One row for all queries, added: log 3 on the first key.
  EXPECT_THAT(attendWithMask("tensor<1x2xf64>", {std::log(3.0), 0}),
              ElementsAre(DoubleNear(5, 1e-12), DoubleNear(6, 1e-12)));
}

std::vector<ReferenceElement>
attendWithMaskedScore(const std::string &score, const std::string &mask,
                      const std::vector<std::vector<double>> &operands) {
  return referenceOf(
             kernelOf(absl::StrCat("ait.attention %a0, %a1, %a2, %a3 {scale = "
                                   "1.0 : f64, masked_score = ",
                                   score, " : f64} : (", kQueries, ", ",
                                   kQueries, ", ", kQueries, ", ", mask,
                                   ") -> ", kQueries),
                      {kQueries, kQueries, kQueries, mask}, kQueries),
             operands)[0]
      .elements;
}

TEST(AttentionTest, AMaskedScoreTakesTheScoresPlace) {
  const auto results = attendWithMaskedScore(
      "-3.0e38", "tensor<2x2xi1>", {{0, 1}, {0, 1}, {4, 8}, {0, 0, 1, 0}});
  EXPECT_NEAR(results[0].number, 6, 1e-12);
  EXPECT_NEAR(results[1].number, 4, 1e-12);
}

TEST(AttentionTest, AFloatingMaskMayTakeTheScoresPlace) {
  // The first query has the score -1 of its NaN key and log 3 - 1 of the other.
  const double masked = mlir::ait::kMaskedPair;
  const auto results =
      attendWithMaskedScore("-1.0", "tensor<2x2xf32>",
                            {{1, 1},
                             {std::nan(""), 0},
                             {4, 8},
                             {masked, std::log(3.0) - 1, masked, masked}});
  EXPECT_NEAR(results[0].number, 7, 1e-6);
  EXPECT_NEAR(results[1].number, 6, 1e-6);
}

TEST(AttentionTest, ARowWithoutAKeyIsUnknown) {
  const std::vector<ReferenceResult> results = referenceOf(
      kernelOf(absl::StrCat("ait.attention %a0, %a1, %a2, %a3 {scale = 1.0 : "
                            "f64} : (",
                            kQueries, ", ", kQueries, ", ", kQueries,
                            ", tensor<2x2xi1>) -> ", kQueries),
               {kQueries, kQueries, kQueries, "tensor<2x2xi1>"}, kQueries),
      {{0, 1}, {0, 1}, {4, 8}, {0, 0, 1, 1}});
  EXPECT_TRUE(std::isinf(results[0].elements[0].error));
  EXPECT_FALSE(std::isinf(results[0].elements[1].error));
}

bool isRight(const ReferenceElement &element, double number) {
  return std::abs(number - element.number) <= element.error;
}

/// Attention of one query in f16: a key that it scores 0, and one that it
/// scores `score`, whose value is 64.
ReferenceElement attendInHalf(double score, const std::string &attributes) {
  const std::string one = "tensor<1x1x1xf16>", two = "tensor<1x2x1xf16>";
  return referenceOf(
             kernelOf(absl::StrCat("ait.attention %a0, %a1, %a2 {scale = 1.0 : "
                                   "f64",
                                   attributes, "} : (", one, ", ", two, ", ",
                                   two, ") -> ", one),
                      {one, two, two}, one),
             {{1}, {0, score}, {0, 64}})[0]
      .elements[0];
}

TEST(AttentionTest, AWeightThatHalfPrecisionDoesNotHaveMayBeZero) {
  // e^-18 is less than half of the least number of f16, 2^-24.
  const ReferenceElement lost = attendInHalf(-18, "");
  EXPECT_NEAR(lost.number, 64 * std::exp(-18), 1e-12);
  EXPECT_TRUE(isRight(lost, 0));
  EXPECT_TRUE(isRight(lost, 64 * std::exp(-18)));
  EXPECT_FALSE(isRight(lost, 3 * 64 * std::exp(-18)));
  EXPECT_FALSE(isRight(lost, 1e-3));
  // e^-13 is subnormal: it has few digits, but is not 0.
  const ReferenceElement rounded = attendInHalf(-13, "");
  EXPECT_TRUE(isRight(rounded, 64 * std::ldexp(38, -24)));
  EXPECT_FALSE(isRight(rounded, 0));
  EXPECT_FALSE(isRight(rounded, 64 * std::ldexp(36, -24)));
  // A normal one has all its digits.
  const ReferenceElement normal = attendInHalf(-3, "");
  EXPECT_TRUE(isRight(normal, normal.number * (1 + 0x1p-11)));
  EXPECT_FALSE(isRight(normal, normal.number * (1 + 0x1p-7)));
  // What is masked has no weight at all.
  EXPECT_LE(attendInHalf(0, ", is_causal").error, 0x1p-24);
}

TEST(MatmulTest, TensorCoresCutOffWhatIsBelowTheGreatestTerm) {
  constexpr int kTerms = 2048;
  auto multiply = [&](const std::string &type) {
    const std::string left = absl::StrCat("tensor<1x", kTerms, "x", type, ">"),
                      right = absl::StrCat("tensor<", kTerms, "x1x", type, ">");
    std::vector<double> numbers(kTerms, 0x1p-8);
    numbers[0] = 8;
    return referenceOf(
               kernelOf(absl::StrCat("ait.matmul %a0, %a1 : (", left, ", ",
                                     right, ") -> tensor<1x1xf32>"),
                        {left, right}, "tensor<1x1xf32>"),
               {numbers, numbers})[0]
        .elements[0];
  };
  for (const char *type : {"f16", "bf16"}) {
    const ReferenceElement element = multiply(type);
    // What an H200 loses at most.
    EXPECT_TRUE(isRight(element, element.number * (1 - 640 * 0x1p-24))) << type;
    // The greatest term rounded to 12 bits, or a quarter of the others lost.
    EXPECT_FALSE(isRight(element, element.number - 0x1p-6)) << type;
    EXPECT_FALSE(isRight(element, element.number - kTerms / 4 * 0x1p-16))
        << type;
  }
  const ReferenceElement exact = multiply("f32");
  EXPECT_FALSE(isRight(exact, exact.number * (1 - 640 * 0x1p-24)));
}

TEST(MatmulTest, SubnormalHalvesAreAlignedAsTheLeastNormalOne) {
  auto multiply = [](double small) {
    return referenceOf(kernelOf("ait.matmul %a0, %a1 : (tensor<1x2xf16>, "
                                "tensor<2x1xf16>) -> tensor<1x1xf32>",
                                {"tensor<1x2xf16>", "tensor<2x1xf16>"},
                                "tensor<1x1xf32>"),
                       {{small, 0}, {1024, 0}})[0]
        .elements[0];
  };
  const double kLeast = 0x1p-24;
  EXPECT_TRUE(isRight(multiply(kLeast), 0x1p-14 + 0x1p-28));
  EXPECT_FALSE(isRight(multiply(kLeast), 0x1p-14 + 0x1p-24));
  EXPECT_FALSE(isRight(multiply(0x1p-14), 0x1p-4 + 0x1p-24));
}

} // namespace
} // namespace aitune
