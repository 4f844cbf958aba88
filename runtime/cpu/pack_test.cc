#include "runtime/cpu/pack.h"

#include <cmath>
#include <numeric>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/plan/plan.h"

namespace aitune {
namespace {

using ::testing::HasSubstr;

PackingProto Packing(PackingProto::Kind kind, int64_t block_n,
                     bool transposed = false, int64_t steps_together = 0) {
  PackingProto packing;
  packing.set_kind(kind);
  packing.set_block_n(block_n);
  packing.set_transposed(transposed);
  packing.set_steps_together(steps_together);
  return packing;
}

template <typename T>
struct DataTypeOf;
template <>
struct DataTypeOf<uint32_t> {
  static constexpr DataType value = DataType::kFloat32;
};
template <>
struct DataTypeOf<uint16_t> {
  static constexpr DataType value = DataType::kBFloat16;
};
template <>
struct DataTypeOf<uint8_t> {
  static constexpr DataType value = DataType::kInt8;
};

// Bits that differ from their neighbours.
template <typename T>
std::vector<T> Source(const std::vector<int64_t>& sizes) {
  std::vector<T> data(ElementCount(sizes));
  std::iota(data.begin(), data.end(), T{1});
  return data;
}

template <typename T>
std::vector<T> Packed(const PackingProto& packing, std::vector<T> data,
                      const std::vector<int64_t>& sizes) {
  const TensorView view{data.data(), DataTypeOf<T>::value, sizes};
  const auto bytes = PackedBytes(packing, view.dtype, sizes);
  EXPECT_TRUE(bytes.ok()) << bytes.status();
  std::vector<T> packed(*bytes / sizeof(T), T(0xEEEE));
  EXPECT_EQ(Pack(packing, view, packed.data()), absl::OkStatus());
  return packed;
}

int64_t Up(int64_t a, int64_t b) { return (a + b - 1) / b; }

// The formulas of pack.h, element by element.
template <typename T>
std::vector<T> MatmulReference(const std::vector<T>& data, int64_t batch,
                               int64_t k, int64_t n, int64_t block,
                               bool transposed, int64_t pair) {
  std::vector<T> packed(batch * Up(n, block) * Up(k, pair) * pair * block, 0);
  for (int64_t b = 0; b < batch; ++b) {
    for (int64_t row = 0; row < k; ++row) {
      for (int64_t column = 0; column < n; ++column) {
        const int64_t from = transposed ? (b * n + column) * k + row
                                        : (b * k + row) * n + column;
        const int64_t panel = b * Up(n, block) + column / block;
        const int64_t to =
            ((panel * Up(k, pair) + row / pair) * block + column % block) *
                pair +
            row % pair;
        packed[to] = data[from];
      }
    }
  }
  return packed;
}

template <typename T>
std::vector<T> ConvolutionReference(const std::vector<T>& data, int64_t o,
                                    int64_t i, int64_t s, int64_t block,
                                    int64_t pair) {
  std::vector<T> packed(Up(o, block) * s * Up(i, pair) * pair * block, 0);
  for (int64_t out = 0; out < o; ++out) {
    for (int64_t in = 0; in < i; ++in) {
      for (int64_t at = 0; at < s; ++at) {
        const int64_t to =
            (((out / block * s + at) * Up(i, pair) + in / pair) * block +
             out % block) *
                pair +
            in % pair;
        packed[to] = data[(out * i + in) * s + at];
      }
    }
  }
  return packed;
}

TEST(PackTest, MatmulPanelsSpelledOut) {
  // [K = 2, N = 3] in panels of 2 columns.
  EXPECT_EQ(Packed<uint32_t>(Packing(PackingProto::MATMUL_PANELS, 2),
                             {1, 2, 3, 4, 5, 6}, {2, 3}),
            (std::vector<uint32_t>{1, 2, 4, 5, 3, 0, 6, 0}));
  // [K = 3, N = 1]: rows 0 and 1 are a pair, row 2 has zeros beside it.
  EXPECT_EQ(Packed<uint16_t>(Packing(PackingProto::MATMUL_PANELS, 2, false, 2),
                             {7, 8, 9}, {3, 1}),
            (std::vector<uint16_t>{7, 8, 0, 0, 9, 0, 0, 0}));
}

TEST(PackTest, MatmulPanelsOfManyShapes) {
  for (int64_t batch : {1, 3}) {
    for (int64_t k : {1, 2, 7, 64}) {
      for (int64_t n : {1, 15, 16, 50}) {
        for (int64_t block : {1, 16, 64}) {
          for (bool transposed : {false, true}) {
            std::vector<int64_t> sizes = {k, n};
            if (transposed) std::swap(sizes[0], sizes[1]);
            if (batch > 1) sizes.insert(sizes.begin(), batch);
            SCOPED_TRACE(SizesToString(sizes) + " in " + std::to_string(block));
            EXPECT_EQ(
                Packed(Packing(PackingProto::MATMUL_PANELS, block, transposed),
                       Source<uint32_t>(sizes), sizes),
                MatmulReference(Source<uint32_t>(sizes), batch, k, n, block,
                                transposed, 1));
            EXPECT_EQ(Packed(Packing(PackingProto::MATMUL_PANELS, block,
                                     transposed, 2),
                             Source<uint16_t>(sizes), sizes),
                      MatmulReference(Source<uint16_t>(sizes), batch, k, n,
                                      block, transposed, 2));
            EXPECT_EQ(Packed(Packing(PackingProto::MATMUL_PANELS, block,
                                     transposed, 4),
                             Source<uint8_t>(sizes), sizes),
                      MatmulReference(Source<uint8_t>(sizes), batch, k, n,
                                      block, transposed, 4));
          }
        }
      }
    }
  }
}

TEST(PackTest, ConvolutionPanelsOfManyShapes) {
  for (int64_t o : {1, 16, 33}) {
    for (int64_t i : {1, 3, 8}) {
      for (const std::vector<int64_t>& window :
           std::vector<std::vector<int64_t>>{{1, 1}, {3, 2}, {5}}) {
        for (int64_t block : {8, 32}) {
          std::vector<int64_t> sizes = {o, i};
          sizes.insert(sizes.end(), window.begin(), window.end());
          SCOPED_TRACE(SizesToString(sizes) + " in " + std::to_string(block));
          EXPECT_EQ(Packed(Packing(PackingProto::CONVOLUTION_PANELS, block),
                           Source<uint32_t>(sizes), sizes),
                    ConvolutionReference(Source<uint32_t>(sizes), o, i,
                                         ElementCount(window), block, 1));
          EXPECT_EQ(
              Packed(Packing(PackingProto::CONVOLUTION_PANELS, block, false, 2),
                     Source<uint16_t>(sizes), sizes),
              ConvolutionReference(Source<uint16_t>(sizes), o, i,
                                   ElementCount(window), block, 2));
        }
      }
    }
  }
}

TEST(PackTest, DepthwisePutsChannelsLast) {
  EXPECT_EQ(Packed<uint32_t>(Packing(PackingProto::DEPTHWISE, 0),
                             {1, 2, 3, 4, 5, 6}, {3, 1, 1, 2}),
            (std::vector<uint32_t>{1, 3, 5, 2, 4, 6}));
}

// The matrices that transform the inputs (B^T) and the sums (A^T): those of the
// paper for 4; for 6 by the Toom-Cook method from the points.
const std::vector<double>& Points() {
  static const std::vector<double> points = {0, std::sqrt(0.5), -std::sqrt(0.5),
                                             std::sqrt(2.0), -std::sqrt(2.0)};
  return points;
}
std::vector<std::vector<double>> InputTransform(int tile) {
  if (tile == 4)
    return {{1, 0, -1, 0}, {0, 1, 1, 0}, {0, -1, 1, 0}, {0, 1, 0, -1}};
  // A row has the coefficients of the product of all x - p but for its own.
  std::vector<std::vector<double>> rows;
  for (size_t own = 0; own <= Points().size(); ++own) {
    std::vector<double> row(tile, 0);
    row[0] = 1;
    for (size_t i = 0; i < Points().size(); ++i) {
      if (i == own) continue;
      for (int power = tile - 1; power >= 0; --power)
        row[power] =
            (power > 0 ? row[power - 1] : 0) - Points()[i] * row[power];
    }
    rows.push_back(row);
  }
  return rows;
}
std::vector<std::vector<double>> OutputTransform(int tile) {
  if (tile == 4) return {{1, 1, 1, 0}, {0, 1, -1, -1}};
  std::vector<std::vector<double>> rows;
  for (int power = 0; power < 4; ++power) {
    std::vector<double> row;
    for (double point : Points()) row.push_back(std::pow(point, power));
    row.push_back(power == 3);
    rows.push_back(row);
  }
  return rows;
}

// Packed filters, multiplied by transformed inputs, give the convolution.
TEST(PackTest, WinogradFiltersConvolve) {
  for (const auto kind :
       {PackingProto::WINOGRAD_2X2, PackingProto::WINOGRAD_4X4}) {
    const int tile = kind == PackingProto::WINOGRAD_2X2 ? 4 : 6;
    const int outputs = 19, inputs = 5, block = 16;
    std::vector<float> filters(outputs * inputs * 9);
    for (size_t i = 0; i < filters.size(); ++i)
      filters[i] = float(int(i * 37 % 101) - 50) / 50;
    const std::vector<int64_t> sizes = {outputs, inputs, 3, 3};
    const TensorView view{filters.data(), DataType::kFloat32, sizes};
    const auto bytes = PackedBytes(Packing(kind, block), view.dtype, sizes);
    ASSERT_TRUE(bytes.ok()) << bytes.status();
    ASSERT_EQ(*bytes, 2 * tile * tile * inputs * block * 4);
    std::vector<float> packed(*bytes / 4, NAN);
    ASSERT_EQ(Pack(Packing(kind, block), view, packed.data()),
              absl::OkStatus());
    const auto bt = InputTransform(tile), at = OutputTransform(tile);
    std::vector<double> image(tile * tile);
    for (int i = 0; i < tile * tile; ++i) image[i] = (i * 29 % 31) - 15;
    for (int o = 0; o < 2 * block; ++o) {
      for (int i = 0; i < inputs; ++i) {
        std::vector<double> product(tile * tile, 0);
        for (int y = 0; y < tile; ++y)
          for (int x = 0; x < tile; ++x) {
            double transformed = 0;
            for (int a = 0; a < tile; ++a)
              for (int b = 0; b < tile; ++b)
                transformed += bt[y][a] * image[a * tile + b] * bt[x][b];
            product[y * tile + x] =
                transformed *
                packed[(((o / block) * tile * tile + y * tile + x) * inputs +
                        i) *
                           block +
                       o % block];
          }
        for (int y = 0; y < tile - 2; ++y)
          for (int x = 0; x < tile - 2; ++x) {
            double result = 0, expected = 0;
            for (int a = 0; a < tile; ++a)
              for (int b = 0; b < tile; ++b)
                result += at[y][a] * product[a * tile + b] * at[x][b];
            for (int a = 0; a < 3 && o < outputs; ++a)
              for (int b = 0; b < 3; ++b)
                expected += image[(y + a) * tile + x + b] *
                            filters[(o * inputs + i) * 9 + a * 3 + b];
            EXPECT_NEAR(result, expected, 1e-4) << tile << " " << o << " " << i;
          }
      }
    }
  }
}

TEST(PackTest, NoneCopiesAndEmptyIsEmpty) {
  EXPECT_EQ(Packed<uint16_t>(PackingProto(), {1, 2, 3}, {3}),
            (std::vector<uint16_t>{1, 2, 3}));
  EXPECT_TRUE(
      Packed<uint32_t>(Packing(PackingProto::MATMUL_PANELS, 16), {}, {0, 5})
          .empty());
}

TEST(PackTest, RefusesWhatDoesNotFit) {
  auto error = [](const PackingProto& packing, DataType dtype,
                  const std::vector<int64_t>& sizes) {
    return std::string(PackedBytes(packing, dtype, sizes).status().message());
  };
  const DataType f32 = DataType::kFloat32;
  EXPECT_THAT(error(Packing(PackingProto::MATMUL_PANELS, 16), f32, {4}),
              HasSubstr("rank 2"));
  EXPECT_THAT(error(Packing(PackingProto::MATMUL_PANELS, 0), f32, {4, 4}),
              HasSubstr("block_n = 0"));
  for (int64_t steps_together : {-1, 65})
    EXPECT_THAT(
        error(Packing(PackingProto::MATMUL_PANELS, 16, false, steps_together),
              f32, {4, 4}),
        HasSubstr("steps_together = " + std::to_string(steps_together)));
  EXPECT_THAT(error(Packing(PackingProto::CONVOLUTION_PANELS, 16), f32, {4, 4}),
              HasSubstr("rank 3"));
  EXPECT_THAT(error(Packing(PackingProto::DEPTHWISE, 0), f32, {4, 2, 3, 3}),
              HasSubstr("[C, 1, ...]"));
  EXPECT_THAT(error(Packing(PackingProto::WINOGRAD_2X2, 16), f32, {4, 2, 5, 5}),
              HasSubstr("[O, I, 3, 3] of float32"));
  EXPECT_THAT(error(Packing(PackingProto::WINOGRAD_4X4, 16),
                    DataType::kBFloat16, {4, 2, 3, 3}),
              HasSubstr("not [4, 2, 3, 3] of bfloat16"));
  EXPECT_THAT(error(Packing(PackingProto::WINOGRAD_4X4, 0), f32, {4, 2, 3, 3}),
              HasSubstr("block_n = 0"));
  EXPECT_THAT(
      error(Packing(static_cast<PackingProto::Kind>(77), 1), f32, {4, 4}),
      HasSubstr("unknown"));
  EXPECT_THAT(error(Packing(PackingProto::MATMUL_PANELS, 1 << 20), f32,
                    {int64_t{1} << 50, 1 << 8}),
              HasSubstr("too large"));
}

}  // namespace
}  // namespace aitune
