#include "runtime/tensor/size_expression.h"

#include <vector>

#include "gtest/gtest.h"

namespace aitune {
namespace {

using Kind = SizeExpression::Kind;

const SizeExpression s0 = SizeExpression::Symbol(0),
                     s1 = SizeExpression::Symbol(1);

TEST(SizeExpression, ConstantsFold) {
  EXPECT_EQ(SizeExpression(3) + SizeExpression(4), SizeExpression(7));
  EXPECT_EQ(SizeExpression::Binary(Kind::kCeilDivide, 7, 2), SizeExpression(4));
  EXPECT_EQ(s0 + 0, s0);
  EXPECT_EQ(s0 * 1, s0);
  EXPECT_EQ(s0 * 0, SizeExpression(0));
  EXPECT_EQ((s0 * 4) * 8, s0 * 32);
  EXPECT_EQ((s0 + 4) + 8, s0 + 12);
  EXPECT_EQ(SizeExpression::Binary(Kind::kModulo, s0, 1), SizeExpression(0));
  EXPECT_EQ(SizeExpression::Binary(Kind::kFloorDivide, s0, 1), s0);
  EXPECT_EQ(SizeExpression().constant(), 0);
}

TEST(SizeExpression, ConstantsGoRight) {
  EXPECT_EQ(SizeExpression(4) + s0, s0 + 4);
  EXPECT_NE(s0 + 4, s1 + 4);
  EXPECT_NE(s0 + 4, s0 * 4);
}

TEST(SizeExpression, DivisionRoundsAsMlirDoes) {
  const std::vector<int64_t> symbols = {-7, 2};
  EXPECT_EQ(
      SizeExpression::Binary(Kind::kFloorDivide, s0, s1).Evaluate(symbols), -4);
  EXPECT_EQ(SizeExpression::Binary(Kind::kCeilDivide, s0, s1).Evaluate(symbols),
            -3);
  EXPECT_EQ(SizeExpression::Binary(Kind::kModulo, s0, s1).Evaluate(symbols), 1);
}

TEST(SizeExpression, EvaluatesAndPrints) {
  const SizeExpression e =
      SizeExpression::Binary(Kind::kFloorDivide, s0 * 128 + s1, 2);
  const std::vector<int64_t> symbols = {3, 5};
  EXPECT_EQ(e.Evaluate(symbols), 194);
  EXPECT_EQ(e.ToString(), "((s0 * 128) + s1) floordiv 2");
  EXPECT_EQ(e.kind(), Kind::kFloorDivide);
  EXPECT_EQ(e.rhs().constant(), 2);
  EXPECT_EQ(e.lhs().rhs().symbol(), 1);
}

}  // namespace
}  // namespace aitune
