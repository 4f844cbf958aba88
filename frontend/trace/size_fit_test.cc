#include "frontend/trace/size_fit.h"

#include "gtest/gtest.h"

namespace aitune::frontend {
namespace {

using Kind = SizeExpression::Kind;

// All sizes of these ranges, around the largest.
SizeRegion RegionOf(const std::vector<SymbolRange>& ranges) {
  SizePoint anchor;
  for (const SymbolRange& range : ranges) anchor.push_back(range.max);
  return SizeRegion(ranges, std::move(anchor));
}

SizeFitter MakeFitter(const std::vector<SymbolRange>& ranges) {
  const SizeRegion region = RegionOf(ranges);
  return SizeFitter(region, ChooseProbes(region));
}

const SizeExpression s0 = SizeExpression::Symbol(0),
                     s1 = SizeExpression::Symbol(1);

TEST(SizeFit, StaticModelsHaveOneProbe) {
  const SizeFitter fitter = MakeFitter({});
  EXPECT_EQ(fitter.probes().size(), 1);
  EXPECT_EQ(fitter.Fit(std::vector<int64_t>{7}), SizeExpression(7));
}

TEST(SizeFit, ProbesStayInRangeAndAvoidOnes) {
  for (const auto& probe : ChooseProbes(RegionOf({{2, 3}, {100, 101}}))) {
    EXPECT_GE(probe[0], 2);
    EXPECT_LE(probe[0], 3);
    EXPECT_GE(probe[1], 100);
    EXPECT_LE(probe[1], 101);
  }
  EXPECT_EQ(ChooseProbes(RegionOf({{1, 3}, {5, 9}})).back(),
            (std::vector<int64_t>{1, 5}));
}

TEST(SizeFit, ProbesMayKeepAwayFromTheLeastSizes) {
  for (const auto& probe : ChooseProbes(RegionOf({{10, 200}, {3, 5}}), 32)) {
    EXPECT_GE(probe[0], 42);
    EXPECT_GE(probe[1], 4);
  }
}

TEST(SizeFit, RecoversFormulas) {
  const SizeFitter fitter = MakeFitter({{1, 32}, {2, 512}});
  const SizeExpression kFormulas[] = {
      5,
      s0,
      s1,
      s0 * 12,
      s0 + 3,
      s0 * s1,
      s0 * s1 * 768,
      s0 * 2 + s1 * 3 + 1,
      s1 + -1,
      SizeExpression::Binary(Kind::kFloorDivide, s1, 2)};
  for (const SizeExpression& formula : kFormulas) {
    const std::optional<SizeExpression> fitted =
        fitter.Fit(fitter.Evaluate(formula));
    ASSERT_TRUE(fitted.has_value()) << formula.ToString();
    for (int64_t a = 1; a <= 32; ++a) {
      for (int64_t b = 2; b <= 512; b += 17) {
        ASSERT_EQ(fitted->Evaluate({a, b}), formula.Evaluate({a, b}))
            << formula.ToString() << " as " << fitted->ToString();
      }
    }
  }
}

TEST(SizeFit, RefusesWhatHasNoFormula) {
  const SizeFitter fitter = MakeFitter({{2, 100}});
  std::vector<int64_t> values;
  const auto probes = static_cast<int64_t>(fitter.probes().size());
  for (int64_t i = 0; i < probes; ++i)
    values.push_back(i % 2 == 0 ? 3 : 11 * i);
  EXPECT_EQ(fitter.Fit(values), std::nullopt);
  EXPECT_EQ(fitter.DependsOn(values), std::vector<int>{0});
}

// Five convolutions of stride 2, as in a ResNet: the sizes are quotients of
// quotients, found from the previous layer's size and the stride.
TEST(SizeFit, FollowsStridedLayers) {
  const SizeFitter fitter = MakeFitter({{224, 448}});
  SizeExpression size = s0;
  for (int layer = 0; layer < 5; ++layer) {
    const SizeExpression next =
        SizeExpression::Binary(Kind::kFloorDivide, size + 1, 2);
    const std::vector<SizeExpression> sources = {1, 64, size};
    const std::optional<SizeExpression> fitted =
        fitter.Fit(fitter.Evaluate(next), sources, {2});
    ASSERT_TRUE(fitted.has_value()) << layer;
    for (int64_t s = 224; s <= 448; ++s)
      ASSERT_EQ(fitted->Evaluate({s}), next.Evaluate({s})) << layer;
    size = *fitted;
  }
}

TEST(SizeFit, FindsProductsOfSources) {
  const SizeFitter fitter = MakeFitter({{8, 64}, {8, 64}});
  const SizeExpression height =
      SizeExpression::Binary(Kind::kFloorDivide, s0 + 1, 2);
  const SizeExpression width =
      SizeExpression::Binary(Kind::kFloorDivide, s1 + 1, 2);
  const auto fitted =
      fitter.Fit(fitter.Evaluate(height * width),
                 std::vector<SizeExpression>{1, 32, height, width}, {});
  ASSERT_TRUE(fitted.has_value());
  for (int64_t a = 8; a <= 64; ++a)
    ASSERT_EQ(fitted->Evaluate({a, 33}), (height * width).Evaluate({a, 33}));
}

TEST(SizeFit, MultiplesOfTwoSizes) {
  const SizeFitter fitter = MakeFitter({{4, 64}, {1, 8}});
  const SizeExpression half = SizeExpression::Binary(Kind::kFloorDivide, s0, 2);
  const SizeExpression padded = s0 + half * 2 + 3;
  const auto fitted =
      fitter.Fit(fitter.Evaluate(padded),
                 std::vector<SizeExpression>{1, s0, s1, half}, {});
  ASSERT_TRUE(fitted.has_value());
  for (int64_t s = 4; s <= 64; ++s)
    ASSERT_EQ(fitted->Evaluate({s, 2}), padded.Evaluate({s, 2}));
}

// Only multiples of 4 are left: the least divisor is the one that is meant.
TEST(SizeFit, OfDivisorsThatFitTheLeast) {
  SizeRegion region({{32, 48}}, {32});
  region.Add({SizeExpression::Binary(Kind::kModulo, s0, 4),
              SizeConstraint::Relation::kZero});
  const SizeFitter fitter(region, {{32}, {36}, {40}, {44}, {48}});
  const auto fitted = fitter.Fit({{8, 9, 10, 11, 12}});
  ASSERT_TRUE(fitted.has_value());
  EXPECT_EQ(*fitted, SizeExpression::Binary(Kind::kFloorDivide, s0, 4));
}

TEST(SizeFit, SaysWhichPointDecides) {
  const SizeFitter fitter = MakeFitter({{800, 3200}});
  const SizeExpression places =
      SizeExpression::Binary(Kind::kFloorDivide, s0 + -10, 160);
  std::vector<SizePoint> points = {{800}, {1001}, {3200}};
  std::vector<int64_t> values;
  for (const SizePoint& point : points)
    values.push_back(places.Evaluate(point));
  std::optional<SizeExpression> fitted;
  // Each point halves what is left of 160 places to begin at.
  for (int further = 0; further < 9 && !fitted; ++further) {
    SizePoint undecided;
    fitted = fitter.WithProbes(points).Fit(
        values, std::vector<SizeExpression>{1, s0}, {160}, &undecided);
    if (fitted) break;
    ASSERT_FALSE(undecided.empty());
    points.push_back(undecided);
    values.push_back(places.Evaluate(undecided));
  }
  ASSERT_TRUE(fitted.has_value());
  for (int64_t s = 800; s <= 3200; ++s)
    ASSERT_EQ(fitted->Evaluate({s}), places.Evaluate({s}));
}

TEST(SizeFit, Simplifies) {
  const SizeFitter fitter = MakeFitter({{1, 32}});
  EXPECT_EQ(
      fitter.Simplify(SizeExpression::Binary(Kind::kFloorDivide, s0 * 12, 12)),
      s0);
  const SizeExpression half = SizeExpression::Binary(Kind::kFloorDivide, s0, 2);
  EXPECT_EQ(fitter.Simplify(half), half);
  // Constant at all probes, but not over the range.
  const SizeExpression coarse =
      SizeExpression::Binary(Kind::kFloorDivide, s0, 20);
  EXPECT_EQ(fitter.Simplify(coarse), coarse);
}

}  // namespace
}  // namespace aitune::frontend
