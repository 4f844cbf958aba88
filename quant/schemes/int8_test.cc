#include "quant/schemes/int8.h"

#include <cmath>
#include <limits>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "quant/schemes/golden.h"
#include "quant/schemes/rows.h"

namespace aitune::quant {
namespace {

using testing::Each;
using testing::ElementsAre;

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

struct Quantized {
  std::vector<int8_t> codes;
  std::vector<float> scales;
};

Quantized Quantize(const FloatMatrix& matrix, Granularity granularity,
                   Arithmetic arithmetic = Arithmetic::kEager) {
  Quantized result;
  result.codes.resize(matrix.rows * matrix.columns);
  result.scales.resize(granularity == Granularity::kPerRow ? matrix.rows : 1);
  const absl::Status status =
      QuantizeInt8(matrix, granularity, arithmetic,
                   absl::MakeSpan(result.codes), absl::MakeSpan(result.scales));
  EXPECT_TRUE(status.ok()) << status;
  return result;
}

FloatMatrix MatrixOf(const std::vector<float>& values, int64_t rows) {
  const int64_t columns = static_cast<int64_t>(values.size()) / rows;
  return {values.data(), DataType::kFloat32, rows, columns, columns};
}

// The matrix in float32, exactly.
std::vector<float> Widened(const FloatMatrix& matrix) {
  RowReader reader(matrix);
  std::vector<float> values;
  for (int64_t row = 0; row < matrix.rows; ++row) {
    const float* of_row = reader.Row(row);
    values.insert(values.end(), of_row, of_row + matrix.columns);
  }
  return values;
}

TEST(Int8Test, BitsAreTorchaos) {
  int compared = 0;
  for (const GoldenTensor& tensor : GoldenFile().tensors) {
    for (const GoldenResult& expected : tensor.results) {
      if (expected.format != "int8") continue;
      SCOPED_TRACE(testing::Message() << tensor.name << " " << compared);
      const Quantized actual = Quantize(tensor.matrix, expected.granularity);
      EXPECT_EQ(std::string(actual.codes.begin(), actual.codes.end()),
                expected.codes);
      EXPECT_EQ(actual.scales, expected.scales);
      ++compared;
    }
  }
  EXPECT_EQ(compared, 12);
}

TEST(Int8Test, FusedArithmeticIsThatOfTheWidenedTensor) {
  for (const GoldenTensor& tensor : GoldenFile().tensors) {
    const std::vector<float> widened = Widened(tensor.matrix);
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

TEST(Int8Test, EagerScalesOfSixteenBitTensorsAreRoundedToThem) {
  const uint16_t one[] = {0x3f80, 0};  // bfloat16
  const FloatMatrix matrix{one, DataType::kBFloat16, 1, 2, 2};
  EXPECT_THAT(Quantize(matrix, Granularity::kPerRow).scales,
              ElementsAre(0x1.02p-7f));
  EXPECT_THAT(Quantize(matrix, Granularity::kPerRow, Arithmetic::kFused).scales,
              ElementsAre(1 / 127.5f));
}

TEST(Int8Test, TheWholeRangeIsUsed) {
  const std::vector<float> values = {127.5f, -127.5f, 0.5f,  1.5f,
                                     2.5f,   -0.5f,   -1.5f, -2.5f};
  const Quantized actual = Quantize(MatrixOf(values, 1), Granularity::kPerRow);
  EXPECT_THAT(actual.scales, ElementsAre(1.0f));
  EXPECT_THAT(actual.codes, ElementsAre(127, -128, 0, 2, 2, 0, -2, -2));
}

TEST(Int8Test, ZerosHaveTheSmallestScale) {
  const Quantized actual =
      Quantize(MatrixOf({0, -0.0f, 1e-9f, 0}, 2), Granularity::kPerRow);
  EXPECT_THAT(actual.scales, Each(0x1p-23f));
  EXPECT_THAT(actual.codes, Each(0));
}

TEST(Int8Test, WhatIsNotFiniteStaysInItsRow) {
  for (const float bad : {kNan, -kNan, kInfinity, -kInfinity}) {
    const std::vector<float> values = {1, 2, bad, 1, 3, -4};
    const Quantized per_row =
        Quantize(MatrixOf(values, 3), Granularity::kPerRow);
    EXPECT_FALSE(std::isfinite(per_row.scales[1])) << bad;
    EXPECT_EQ(per_row.codes[3], 0) << bad;
    EXPECT_FLOAT_EQ(per_row.scales[0], 2 / 127.5f) << bad;
    EXPECT_FLOAT_EQ(per_row.scales[2], 4 / 127.5f) << bad;
    const Quantized per_tensor =
        Quantize(MatrixOf(values, 3), Granularity::kPerTensor);
    EXPECT_FALSE(std::isfinite(per_tensor.scales[0])) << bad;
  }
}

TEST(Int8Test, StridesDoNotMatter) {
  for (const GoldenTensor& tensor : GoldenFile().tensors) {
    // Every second column of the transposed matrix.
    FloatMatrix strided = tensor.matrix;
    std::swap(strided.rows, strided.columns);
    std::swap(strided.row_stride, strided.column_stride);
    strided.rows /= 2;
    strided.row_stride *= 2;
    const std::vector<float> dense = Widened(strided);
    const std::vector<float> source = Widened(tensor.matrix);
    for (int64_t row = 0; row < strided.rows; ++row) {
      for (int64_t column = 0; column < strided.columns; ++column)
        ASSERT_EQ(dense[row * strided.columns + column],
                  source[column * tensor.matrix.columns + row * 2]);
    }
    EXPECT_EQ(
        Quantize(strided, Granularity::kPerRow, Arithmetic::kFused).codes,
        Quantize(MatrixOf(dense, strided.rows), Granularity::kPerRow).codes);
  }
}

TEST(Int8Test, ATransposedMatrixLargerThanItsPanels) {
  const int64_t rows = 37, columns = 71;
  std::vector<float> values(rows * columns);
  for (size_t i = 0; i < values.size(); ++i) values[i] = std::sin(i * i * 0.1f);
  std::vector<float> transposed(values.size());
  for (int64_t row = 0; row < rows; ++row) {
    for (int64_t column = 0; column < columns; ++column)
      transposed[column * rows + row] = values[row * columns + column];
  }
  const FloatMatrix matrix{
      transposed.data(), DataType::kFloat32, rows, columns, 1, rows};
  const Quantized expected =
      Quantize(MatrixOf(values, rows), Granularity::kPerRow);
  const Quantized actual = Quantize(matrix, Granularity::kPerRow);
  EXPECT_EQ(actual.codes, expected.codes);
  EXPECT_EQ(actual.scales, expected.scales);
}

TEST(Int8Test, AnEmptyBatchHasNoCodes) {
  const FloatMatrix empty{nullptr, DataType::kBFloat16, 0, 64, 64};
  EXPECT_TRUE(Quantize(empty, Granularity::kPerRow).codes.empty());
  const Quantized per_tensor = Quantize(empty, Granularity::kPerTensor);
  EXPECT_THAT(per_tensor.scales, ElementsAre(0x1p-23f));
}

TEST(Int8Test, RefusesWhatContradictsItself) {
  std::vector<int8_t> codes(4);
  std::vector<float> scales(2);
  const float values[4] = {};
  const auto quantize = [&](const FloatMatrix& matrix) {
    return std::string(QuantizeInt8(matrix, Granularity::kPerRow,
                                    Arithmetic::kEager, absl::MakeSpan(codes),
                                    absl::MakeSpan(scales))
                           .message());
  };
  EXPECT_EQ(quantize({values, DataType::kFloat32, 1, 4, 4}),
            "a tensor of [1, 4] has 4 int8 codes and 1 scales, but there is "
            "room for 4 and 2");
  EXPECT_EQ(quantize({values, DataType::kFloat64, 2, 2, 2}),
            "a tensor of float64 can't be quantised: give float32, bfloat16 "
            "or float16");
  EXPECT_EQ(quantize({nullptr, DataType::kFloat32, 2, 2, 2}),
            "a tensor of [2, 2] was given without its data");
  EXPECT_EQ(quantize({values, DataType::kFloat32, -2, 2, 2}),
            "a tensor of [-2, 2] can't be quantised: give sizes that there "
            "can be");
  EXPECT_EQ(quantize({values, DataType::kFloat32, int64_t{1} << 40,
                      int64_t{1} << 40, 2}),
            "a tensor of [1099511627776, 1099511627776] can't be quantised: "
            "give sizes that there can be");
}

TEST(Int8Test, DequantizesToEachDtype) {
  const int8_t codes[] = {127, -128, 3, 1, 0, -1};
  const float scales[] = {0.1f, 1.0f};
  float single[6];
  ASSERT_TRUE(
      DequantizeInt8(codes, scales, 3, DataType::kFloat32, single).ok());
  EXPECT_THAT(single, ElementsAre(127 * 0.1f, -128 * 0.1f, 3 * 0.1f, 1, 0, -1));
  uint16_t half[6];
  ASSERT_TRUE(DequantizeInt8(codes, scales, 3, DataType::kFloat16, half).ok());
  EXPECT_THAT(half, ElementsAre(0x4a5a, 0xca66, 0x34cd, 0x3c00, 0, 0xbc00));
  ASSERT_TRUE(
      DequantizeInt8(codes, {scales, 1}, 3, DataType::kBFloat16, half).ok());
  EXPECT_THAT(half, ElementsAre(0x414b, 0xc14d, 0x3e9a, 0x3dcd, 0, 0xbdcd));
}

TEST(Int8Test, RefusesToDequantizeWhatContradictsItself) {
  const int8_t codes[6] = {};
  const float scales[3] = {};
  float output[6];
  EXPECT_EQ(
      DequantizeInt8(codes, scales, 3, DataType::kFloat32, output).message(),
      "a tensor of [2, 3] has 6 int8 codes and 2 scales, but there is "
      "room for 6 and 3");
  for (const int64_t columns : {-1, 0, 4}) {
    EXPECT_EQ(DequantizeInt8(codes, scales, columns, DataType::kFloat32, output)
                  .code(),
              absl::StatusCode::kInvalidArgument);
  }
  EXPECT_FALSE(
      DequantizeInt8(codes, {scales, 2}, 3, DataType::kInt8, output).ok());
  EXPECT_FALSE(
      DequantizeInt8(codes, {scales, 2}, 3, DataType::kFloat32, nullptr).ok());
}

}  // namespace
}  // namespace aitune::quant
