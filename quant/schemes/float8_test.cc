#include "quant/schemes/float8.h"

#include <cmath>
#include <limits>
#include <vector>

#include "absl/base/casts.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "quant/schemes/golden.h"
#include "quant/schemes/rows.h"
#include "runtime/hash/sha256.h"

namespace aitune::quant {
namespace {

using testing::Each;
using testing::ElementsAre;

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kSmallestScale = 0x1p-126f;

struct Quantized {
  std::vector<uint8_t> codes;
  std::vector<float> scales;
};

Quantized Quantize(const FloatMatrix& matrix, Granularity granularity,
                   Arithmetic arithmetic = Arithmetic::kEager) {
  Quantized result;
  result.codes.resize(matrix.rows * matrix.columns);
  result.scales.resize(granularity == Granularity::kPerRow ? matrix.rows : 1);
  const absl::Status status = QuantizeFloat8(matrix, granularity, arithmetic,
                                             absl::MakeSpan(result.codes),
                                             absl::MakeSpan(result.scales));
  EXPECT_TRUE(status.ok()) << status;
  return result;
}

FloatMatrix MatrixOf(const std::vector<float>& values, int64_t rows) {
  const int64_t columns = static_cast<int64_t>(values.size()) / rows;
  return {values.data(), DataType::kFloat32, rows, columns, columns};
}

TEST(Float8Test, DecodesEveryCode) {
  for (int code = 0; code < 256; ++code) {
    const int exponent = code >> 3 & 0xf, mantissa = code & 7;
    const float magnitude = exponent == 0
                                ? std::ldexp(mantissa, -9)
                                : std::ldexp(8 + mantissa, exponent - 10);
    const float actual = DecodeFloat8E4M3Fn(static_cast<uint8_t>(code));
    EXPECT_EQ(std::signbit(actual), code >= 128) << code;
    if ((code & 0x7f) == 0x7f) {
      EXPECT_TRUE(std::isnan(actual)) << code;
    } else {
      EXPECT_EQ(std::fabs(actual), magnitude) << code;
    }
  }
}

TEST(Float8Test, EncodesEveryBFloat16AsPyTorch) {
  std::string codes;
  for (uint32_t bits = 0; bits < 65536; ++bits)
    codes.push_back(static_cast<char>(
        EncodeFloat8E4M3Fn(absl::bit_cast<float>(bits << 16))));
  EXPECT_EQ(Sha256Hex(codes), GoldenFile().cast_sha256);
}

TEST(Float8Test, EncodesToTheNearestWithTiesToEven) {
  for (int code = 0; code < 0x7e; ++code) {
    const float low = DecodeFloat8E4M3Fn(static_cast<uint8_t>(code));
    const float high = DecodeFloat8E4M3Fn(static_cast<uint8_t>(code + 1));
    const float middle = (low + high) / 2;
    EXPECT_EQ(EncodeFloat8E4M3Fn(low), code);
    EXPECT_EQ(EncodeFloat8E4M3Fn(-low), code | 0x80);
    EXPECT_EQ(EncodeFloat8E4M3Fn(middle), code + code % 2) << code;
    EXPECT_EQ(EncodeFloat8E4M3Fn(std::nextafter(middle, 0.0f)), code) << code;
    EXPECT_EQ(EncodeFloat8E4M3Fn(std::nextafter(middle, kInfinity)), code + 1)
        << code;
  }
}

TEST(Float8Test, NothingButTheQuantizerSaturates) {
  EXPECT_EQ(EncodeFloat8E4M3Fn(464.0f), 0x7e);
  EXPECT_EQ(EncodeFloat8E4M3Fn(std::nextafter(464.0f, 500.0f)), 0x7f);
  EXPECT_EQ(EncodeFloat8E4M3Fn(-3e38f), 0xff);
  EXPECT_EQ(EncodeFloat8E4M3Fn(kInfinity), 0x7f);
  EXPECT_EQ(EncodeFloat8E4M3Fn(std::copysign(kNan, -1.0f)), 0xff);
  // 2^-24 / 448 rounds to 0 in float16, so that 2^-24 / scale is beyond 464.
  const uint16_t smallest[] = {0x0001, 0x8001, 0};
  EXPECT_THAT(
      Quantize({smallest, DataType::kFloat16, 1, 3, 3}, Granularity::kPerRow)
          .codes,
      ElementsAre(0x7e, 0xfe, 0));
}

TEST(Float8Test, BitsAreTorchaosWhereItsScaleIsNormal) {
  int compared = 0, floored = 0;
  for (const GoldenTensor& tensor : GoldenFile().tensors) {
    for (const GoldenResult& expected : tensor.results) {
      if (expected.format != "float8") continue;
      const Quantized actual = Quantize(tensor.matrix, expected.granularity);
      const size_t share = actual.codes.size() / expected.scales.size();
      for (size_t i = 0; i < expected.scales.size(); ++i) {
        SCOPED_TRACE(testing::Message() << tensor.name << " row " << i);
        if (expected.scales[i] < kSmallestScale) {
          EXPECT_EQ(actual.scales[i], kSmallestScale);
          ++floored;
          continue;
        }
        EXPECT_EQ(actual.scales[i], expected.scales[i]);
        EXPECT_EQ(std::string(actual.codes.begin() + i * share,
                              actual.codes.begin() + (i + 1) * share),
                  expected.codes.substr(i * share, share));
        ++compared;
      }
    }
  }
  // Floored: the rows of zeros, and in float32 and bfloat16 of subnormals.
  EXPECT_EQ(floored, 3 * 2 + 2 + 1) << compared;
  EXPECT_EQ(compared, 3 * (10 + 3 + 1 + 1) - floored);
}

TEST(Float8Test, FusedArithmeticIsThatOfTheWidenedTensor) {
  for (const GoldenTensor& tensor : GoldenFile().tensors) {
    RowReader reader(tensor.matrix);
    std::vector<float> widened;
    for (int64_t row = 0; row < tensor.matrix.rows; ++row) {
      const float* of_row = reader.Row(row);
      widened.insert(widened.end(), of_row, of_row + tensor.matrix.columns);
    }
    for (const Granularity granularity :
         {Granularity::kPerRow, Granularity::kPerTensor}) {
      const Quantized expected =
          Quantize(MatrixOf(widened, tensor.matrix.rows), granularity);
      const Quantized actual =
          Quantize(tensor.matrix, granularity, Arithmetic::kFused);
      EXPECT_EQ(actual.codes, expected.codes) << tensor.name;
      EXPECT_EQ(actual.scales, expected.scales) << tensor.name;
    }
  }
}

TEST(Float8Test, ZerosAreZerosAndNotNan) {
  const Quantized per_row =
      Quantize(MatrixOf({0, -0.0f, 0, 0}, 2), Granularity::kPerRow);
  EXPECT_THAT(per_row.scales, Each(kSmallestScale));
  EXPECT_THAT(per_row.codes, ElementsAre(0, 0x80, 0, 0));
  const Quantized per_tensor =
      Quantize(MatrixOf({0, 0, 0, 0}, 2), Granularity::kPerTensor);
  EXPECT_THAT(per_tensor.scales, ElementsAre(kSmallestScale));
  EXPECT_THAT(per_tensor.codes, Each(0));
}

TEST(Float8Test, WhatIsNotFiniteStaysInItsRowOrTakesTheTensor) {
  for (const float bad : {kNan, kInfinity, -kInfinity}) {
    const std::vector<float> values = {1, 2, bad, 1, 3, -4};
    const Quantized per_row =
        Quantize(MatrixOf(values, 3), Granularity::kPerRow);
    EXPECT_FALSE(std::isfinite(per_row.scales[1])) << bad;
    EXPECT_FLOAT_EQ(per_row.scales[0], 2 / 448.0f) << bad;
    EXPECT_FLOAT_EQ(per_row.scales[2], 4 / 448.0f) << bad;
    const Quantized per_tensor =
        Quantize(MatrixOf(values, 3), Granularity::kPerTensor);
    EXPECT_FALSE(std::isfinite(per_tensor.scales[0])) << bad;
    // A product of the row with what is finite is not.
    EXPECT_TRUE(
        std::isnan(DecodeFloat8E4M3Fn(per_row.codes[2]) * per_row.scales[1]))
        << bad;
  }
}

TEST(Float8Test, AnEmptyBatchHasNoCodes) {
  const FloatMatrix empty{nullptr, DataType::kFloat16, 0, 64, 64};
  EXPECT_TRUE(Quantize(empty, Granularity::kPerRow).codes.empty());
  EXPECT_THAT(Quantize(empty, Granularity::kPerTensor).scales,
              ElementsAre(kSmallestScale));
}

TEST(Float8Test, RefusesTheWrongRoom) {
  std::vector<uint8_t> codes(3);
  float scale;
  const float values[4] = {};
  EXPECT_EQ(QuantizeFloat8({values, DataType::kFloat32, 2, 2, 2},
                           Granularity::kPerTensor, Arithmetic::kEager,
                           absl::MakeSpan(codes), absl::MakeSpan(&scale, 1))
                .message(),
            "a tensor of [2, 2] has 4 float8_e4m3fn codes and 1 scales, but "
            "there is room for 3 and 1");
}

TEST(Float8Test, DequantizesToEachDtype) {
  const uint8_t codes[] = {0x7e, 0xfe, 0x01, 0x38};
  const float scales[] = {0.1f, 2.0f};
  float single[4];
  ASSERT_TRUE(
      DequantizeFloat8(codes, scales, 2, DataType::kFloat32, single).ok());
  EXPECT_THAT(single, ElementsAre(448 * 0.1f, -448 * 0.1f, 0x1p-8f, 2));
  uint16_t half[4];
  ASSERT_TRUE(
      DequantizeFloat8(codes, scales, 2, DataType::kFloat16, half).ok());
  EXPECT_THAT(half, ElementsAre(0x519a, 0xd19a, 0x1c00, 0x4000));
  ASSERT_TRUE(
      DequantizeFloat8(codes, scales, 2, DataType::kBFloat16, half).ok());
  EXPECT_THAT(half, ElementsAre(0x4233, 0xc233, 0x3b80, 0x4000));
}

}  // namespace
}  // namespace aitune::quant
