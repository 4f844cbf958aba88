#include "runtime/tensor/size_constraint.h"

#include "gtest/gtest.h"

namespace aitune {
namespace {

using Kind = SizeExpression::Kind;
using Relation = SizeConstraint::Relation;

TEST(SizeConstraintTest, HoldsOnBothSidesOfItsBoundary) {
  const SizeExpression s0 = SizeExpression::Symbol(0);
  const SizeConstraint above = {s0 + -21, Relation::kNonNegative};
  EXPECT_FALSE(above.Holds({20}));
  EXPECT_TRUE(above.Holds({21}));
  const SizeExpression remainder = SizeExpression::Binary(Kind::kModulo, s0, 8);
  const SizeConstraint even = {remainder, Relation::kZero};
  const SizeConstraint odd = {remainder, Relation::kNonZero};
  for (int64_t size = 1; size < 30; ++size) {
    EXPECT_EQ(even.Holds({size}), size % 8 == 0);
    EXPECT_NE(even.Holds({size}), odd.Holds({size}));
  }
}

TEST(SizeConstraintTest, Text) {
  const SizeExpression s1 = SizeExpression::Symbol(1);
  EXPECT_EQ((SizeConstraint{s1 + -21, Relation::kNonNegative}).ToString(),
            "s1 + -21 >= 0");
  EXPECT_EQ((SizeConstraint{s1, Relation::kZero}).ToString(), "s1 == 0");
  EXPECT_EQ((SizeConstraint{s1, Relation::kNonZero}).ToString(), "s1 != 0");
}

TEST(SizeConstraintTest, SubstitutionReplacesEachSymbol) {
  const SizeExpression sum =
      SizeExpression::Symbol(0) * 3 + SizeExpression::Symbol(2);
  const SizeExpression replaced = Substitute(
      sum, {SizeExpression(5), SizeExpression(0), SizeExpression::Symbol(0)});
  EXPECT_EQ(replaced.Evaluate({7}), 22);
  EXPECT_EQ(SymbolsOf(sum), (std::vector<int>{0, 2}));
  EXPECT_EQ(SymbolsOf(replaced), (std::vector<int>{0}));
  EXPECT_TRUE(SymbolsOf(SizeExpression(4)).empty());
}

}  // namespace
}  // namespace aitune
