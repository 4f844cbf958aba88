#include "quant/schemes/rows.h"

#include <limits>

#include "gtest/gtest.h"

namespace aitune::quant {
namespace {

TEST(RowsTest, GreatestMagnitudeIsNanWhereOneNumberIs) {
  const float values[] = {1, -3, 2, -std::numeric_limits<float>::infinity(),
                          -std::numeric_limits<float>::quiet_NaN()};
  EXPECT_EQ(GreatestMagnitude(values, 0), 0);
  EXPECT_EQ(GreatestMagnitude(values, 3), 3);
  EXPECT_FALSE(IsFinite(GreatestMagnitude(values, 4)));
  EXPECT_NE(GreatestMagnitude(values, 5), GreatestMagnitude(values, 5));
}

TEST(RowsTest, RoundsToSixteenBitsAtTheEdges) {
  const auto half = [](float value) {
    uint16_t bits;
    StoreAs(DataType::kFloat16, &value, 1, &bits, 0);
    return bits;
  };
  EXPECT_EQ(half(65504.0f), 0x7bff);
  EXPECT_EQ(half(65519.996f), 0x7bff);
  EXPECT_EQ(half(65520.0f), 0x7c00);
  EXPECT_EQ(half(-1e30f), 0xfc00);
  EXPECT_EQ(half(0x1p-24f), 0x0001);
  EXPECT_EQ(half(0x1p-25f), 0x0000);
  EXPECT_EQ(half(0x1.8p-24f), 0x0002);
  EXPECT_EQ(half(std::numeric_limits<float>::quiet_NaN()), 0x7e00);
  for (uint32_t bits = 0; bits < 0x7c00; ++bits) {
    const uint16_t code = static_cast<uint16_t>(bits);
    RowReader reader(FloatMatrix{&code, DataType::kFloat16, 1, 1, 1});
    EXPECT_EQ(half(*reader.Row(0)), bits);
  }
  EXPECT_EQ(RoundTo(DataType::kBFloat16, 0x1.03p0f), 0x1.04p0f);
  EXPECT_EQ(RoundTo(DataType::kBFloat16, 0x1.01p0f), 1.0f);
  EXPECT_EQ(RoundTo(DataType::kFloat32, 0x1.01p0f), 0x1.01p0f);
}

}  // namespace
}  // namespace aitune::quant
