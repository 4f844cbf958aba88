#include "compiler/dialect/SizeBounds.h"

#include <algorithm>
#include <vector>

#include "mlir/IR/Builders.h"
#include "mlir/IR/MLIRContext.h"
#include "gtest/gtest.h"

namespace mlir::ait {
namespace {

class SizeBoundsTest : public testing::Test {
protected:
  Attribute symbol(int64_t min, int64_t max) {
    return builder.getDictionaryAttr(
        {builder.getNamedAttr("min", builder.getI64IntegerAttr(min)),
         builder.getNamedAttr("max", builder.getI64IntegerAttr(max))});
  }

  MLIRContext context;
  Builder builder{&context};
};

/// No value at any sizes lies outside, and both ends are those of the values
/// where a symbol is there once.
TEST_F(SizeBoundsTest, HoldAllValues) {
  ArrayAttr symbols = builder.getArrayAttr({symbol(17, 130), symbol(1, 9)});
  AffineExpr s0 = builder.getAffineSymbolExpr(0),
             s1 = builder.getAffineSymbolExpr(1);
  const struct {
    AffineExpr size;
    bool isTight;
  } cases[] = {
      {s0, true},
      {s0 * 4 + s1, true},
      {s0 % 16, true},
      {s0.floorDiv(16) * 16, true},
      {s0 - s0.floorDiv(16) * 16, false},
      {s0 * -1 + s1 * 3, true},
      {(s0 + -20).floorDiv(7), true},
      {(s0 + -20).ceilDiv(7), true},
      {(s1 + -5) % 4, true},
      {s0.floorDiv(s1), true},
      {s0 % s1, false},
      {s0 * s1, true},
  };
  for (const auto &[size, isTight] : cases) {
    std::optional<SizeBounds> bounds = getSizeBounds(size, symbols);
    ASSERT_TRUE(bounds.has_value());
    std::vector<int64_t> values;
    for (int64_t a = 17; a <= 130; ++a)
      for (int64_t b = 1; b <= 9; ++b)
        values.push_back(
            cast<AffineConstantExpr>(
                size.replaceSymbols({builder.getAffineConstantExpr(a),
                                     builder.getAffineConstantExpr(b)}))
                .getValue());
    const auto [least, most] =
        std::minmax_element(values.begin(), values.end());
    EXPECT_LE(bounds->low, *least);
    EXPECT_GE(bounds->high, *most);
    if (!isTight)
      continue;
    EXPECT_EQ(bounds->low, *least);
    EXPECT_EQ(bounds->high, *most);
  }
}

TEST_F(SizeBoundsTest, AreNotGuessed) {
  ArrayAttr symbols = builder.getArrayAttr({symbol(0, 130)});
  AffineExpr s0 = builder.getAffineSymbolExpr(0);
  EXPECT_FALSE(getSizeBounds(builder.getAffineSymbolExpr(1), symbols));
  EXPECT_FALSE(getSizeBounds(s0, ArrayAttr()));
  EXPECT_FALSE(
      getSizeBounds(builder.getAffineConstantExpr(5).floorDiv(s0), symbols));
  EXPECT_FALSE(getSizeBounds(s0 * (int64_t{1} << 60), symbols));
  EXPECT_TRUE(
      getSizeBounds(builder.getAffineConstantExpr(kMostSizeBound), symbols));
  EXPECT_FALSE(getSizeBounds(builder.getAffineConstantExpr(kMostSizeBound + 1),
                             symbols));
  EXPECT_FALSE(
      getSizeBounds(s0, builder.getArrayAttr({symbol(0, kMostSizeBound + 1)})));
}

} // namespace
} // namespace mlir::ait
