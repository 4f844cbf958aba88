#include "frontend/importer/size_comparison.h"

#include <gtest/gtest.h>

#include "mlir/IR/MLIRContext.h"

namespace aitune::frontend {
namespace {

using mlir::AffineExpr;
using Ranges = std::vector<std::pair<int64_t, int64_t>>;
using Bounds = std::pair<int64_t, int64_t>;

class SizeComparisonTest : public testing::Test {
 protected:
  AffineExpr Symbol(unsigned position) {
    return mlir::getAffineSymbolExpr(position, &context_);
  }

  mlir::MLIRContext context_;
};

TEST_F(SizeComparisonTest, SizesThatDifferAtFewPlaces) {
  const AffineExpr n = Symbol(0), m = Symbol(1);
  SizeComparison one(&context_, Ranges{{1, 8192}}, {});
  EXPECT_FALSE(one.AreEqual(n.floorDiv(400) + 1, n.ceilDiv(400)));
  EXPECT_FALSE(one.AreEqual(n, n + (n % 5003).floorDiv(5002)));
  EXPECT_FALSE(one.AreEqual(n * n, n * n + (n % 997).floorDiv(996)));
  SizeComparison two(&context_, Ranges{{1, 130}, {1, 130}}, {});
  const AffineExpr rare = ((n * m) % 997).floorDiv(996);
  EXPECT_FALSE(two.AreEqual(rare, mlir::getAffineConstantExpr(0, &context_)));
  EXPECT_FALSE(two.AreEqual(n, n + ((n + m) % 64).floorDiv(63)));
  SizeComparison long_ranges(&context_, Ranges{{1, 1 << 20}, {1, 1 << 20}}, {});
  EXPECT_FALSE(long_ranges.AreEqual(n, n + ((n + m) % 200).floorDiv(199)));
}

TEST_F(SizeComparisonTest, SizesThatAreEqual) {
  const AffineExpr n = Symbol(0), m = Symbol(1);
  SizeComparison sizes(&context_, Ranges{{1, int64_t{1} << 40}, {1, 1 << 20}},
                       {});
  AffineExpr halved = n, doubled = n * m;
  for (int i = 0; i < 5; ++i) {
    halved = (halved + 1).floorDiv(2);
    doubled = (doubled * 2).floorDiv(2);
  }
  EXPECT_TRUE(sizes.AreEqual(halved, n.ceilDiv(32)));
  EXPECT_FALSE(sizes.AreEqual(halved, n.floorDiv(32)));
  EXPECT_TRUE(sizes.AreEqual(doubled, n * m));
  EXPECT_TRUE(sizes.AreEqual((n * m * 6).floorDiv(3), m * n * 2));
  EXPECT_TRUE(
      sizes.AreEqual((n * (n - 1)).floorDiv(2) + n, (n * (n + 1)).floorDiv(2)));
  EXPECT_FALSE(
      sizes.AreEqual((n * (n - 1)).floorDiv(4) * 2, (n * (n - 1)).floorDiv(2)));
}

TEST_F(SizeComparisonTest, SizesThatAreEqualWhereConstraintsHold) {
  const AffineExpr n = Symbol(0), m = Symbol(1);
  const SizeExpression s0 = SizeExpression::Symbol(0),
                       s1 = SizeExpression::Symbol(1);
  const SizeConstraint multiple = {
      SizeExpression::Binary(SizeExpression::Kind::kModulo, s0, 4),
      SizeConstraint::Relation::kZero};
  const SizeConstraint same = {s0 + s1 * -1, SizeConstraint::Relation::kZero};
  SizeComparison multiples(&context_, Ranges{{1, 1 << 20}, {1, 9}}, {multiple});
  EXPECT_TRUE(multiples.AreEqual(n.floorDiv(4) * 4, n));
  EXPECT_FALSE(multiples.AreEqual(n.floorDiv(8) * 8, n));
  SizeComparison squares(&context_, Ranges{{1, 4096}, {1, 4096}}, {same});
  EXPECT_TRUE(squares.AreEqual(n * m, n * n));
  EXPECT_TRUE(squares.AreEqual((n + m).floorDiv(2), m));
  EXPECT_FALSE(squares.AreEqual((n + m).floorDiv(4), m.ceilDiv(2)));
}

TEST_F(SizeComparisonTest, BoundsAreThoseOfAllSizes) {
  const AffineExpr n = Symbol(0), m = Symbol(1);
  SizeComparison sizes(&context_, Ranges{{1, 1 << 20}, {1, 130}}, {});
  EXPECT_EQ(sizes.Bounds(n - n.floorDiv(64) * 64), Bounds(0, 63));
  EXPECT_EQ(sizes.Bounds(n - 40), Bounds(-39, (1 << 20) - 40));
  EXPECT_EQ(sizes.Bounds((n % 997).floorDiv(996)), Bounds(0, 1));
  EXPECT_EQ(sizes.Bounds(n - m), Bounds(-129, (1 << 20) - 1));
  const SizeConstraint greater = {
      SizeExpression::Symbol(0) + SizeExpression::Symbol(1) * -1,
      SizeConstraint::Relation::kNonNegative};
  SizeComparison related(&context_, Ranges{{1, 130}, {1, 130}}, {greater});
  EXPECT_EQ(related.Bounds(n - m), Bounds(0, 129));
}

// The first symbol has few sizes, and none of those that are equal.
TEST_F(SizeComparisonTest, SizesThatDifferAtFewPlacesWhereConstraintsHold) {
  const SizeExpression height = SizeExpression::Symbol(1),
                       width = SizeExpression::Symbol(2);
  const AffineExpr h = Symbol(1);
  const Ranges ranges = {{1, 8}, {1, 100000}, {1, 100000}};
  SizeComparison squares(
      &context_, ranges,
      {{height + width * -1, SizeConstraint::Relation::kZero}});
  EXPECT_FALSE(squares.AreEqual((h + 8).floorDiv(9), h.floorDiv(9) + 1));
  EXPECT_TRUE(squares.AreEqual((h + Symbol(2)).floorDiv(2), h));
  SizeComparison near(
      &context_, ranges,
      {{width + height * -1, SizeConstraint::Relation::kNonNegative},
       {height + width * -1 + 1, SizeConstraint::Relation::kNonNegative}});
  EXPECT_FALSE(near.AreEqual((h + 8).floorDiv(9), h.floorDiv(9) + 1));
  EXPECT_FALSE(near.AreEqual(h, Symbol(2)));
}

// Part n of a text of 24 a part: m - 1 parts lie before it.
TEST_F(SizeComparisonTest, BoundsWhereConstraintsLeaveFewSizes) {
  const SizeExpression length = SizeExpression::Symbol(0),
                       part = SizeExpression::Symbol(1);
  const std::vector<SizeConstraint> constraints = {
      {length + part * -24 + 24, SizeConstraint::Relation::kNonNegative},
      {part * 24 + length * -1 + -1, SizeConstraint::Relation::kNonNegative}};
  SizeComparison sizes(&context_, Ranges{{1, 300}, {1, 1024}}, constraints);
  const AffineExpr left = Symbol(0) - Symbol(1) * 24 + 24;
  EXPECT_EQ(sizes.Bounds(left), Bounds(0, 23));
  EXPECT_EQ(sizes.Bounds(Symbol(1)), Bounds(1, 13));
  EXPECT_FALSE(sizes.AreEqual(left, Symbol(0)));
}

TEST_F(SizeComparisonTest, WithoutSymbols) {
  SizeComparison none(&context_, Ranges{}, {});
  EXPECT_EQ(none.ValuesAtSamples(mlir::getAffineConstantExpr(7, &context_)),
            std::vector<int64_t>{7});
}

}  // namespace
}  // namespace aitune::frontend
