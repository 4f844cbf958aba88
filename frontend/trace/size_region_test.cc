#include "frontend/trace/size_region.h"

#include <ctime>
#include <map>

#include "frontend/trace/size_fit.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace aitune::frontend {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using Relation = SizeConstraint::Relation;

const SizeExpression s0 = SizeExpression::Symbol(0),
                     s1 = SizeExpression::Symbol(1);

SizeExpression Modulo(const SizeExpression& a, int64_t b) {
  return SizeExpression::Binary(SizeExpression::Kind::kModulo, a, b);
}

TEST(SizeRegion, WhatHoldsEverywhereChangesNothing) {
  SizeRegion region({{1, 128}}, {100});
  EXPECT_FALSE(
      region.Restrict({0}, [](auto point) { return point[0] > 0; }, {}, "it"));
  EXPECT_EQ(region.ranges()[0].min, 1);
  EXPECT_EQ(region.ranges()[0].max, 128);
  EXPECT_THAT(region.reasons(), IsEmpty());
}

TEST(SizeRegion, AnIntervalNarrowsTheRange) {
  SizeRegion region({{1, 128}}, {100});
  EXPECT_TRUE(
      region.Restrict({0}, [](auto point) { return point[0] > 20; }, {}, "it"));
  EXPECT_EQ(region.ranges()[0].min, 21);
  EXPECT_EQ(region.ranges()[0].max, 128);
  EXPECT_THAT(region.constraints(), IsEmpty());
  EXPECT_THAT(region.reasons(), ElementsAre("it"));
}

// One size is left: the axis needs no code for others.
TEST(SizeRegion, ConstraintsShortenTheRange) {
  SizeRegion region({{16, 31}, {1, 30}}, {16, 8});
  region.Add({Modulo(s0, 16), Relation::kZero});
  region.Add({Modulo(s1, 8), Relation::kZero});
  EXPECT_EQ(region.ranges()[0].max, 16);
  EXPECT_EQ(region.ranges()[1].min, 8);
  EXPECT_EQ(region.ranges()[1].max, 24);
  EXPECT_THAT(region.constraints(), SizeIs(1));
}

TEST(SizeRegion, EachPointIsAskedForOnce) {
  SizeRegion region({{1, 40}, {1, 40}}, {30, 31});
  std::map<SizePoint, int> asked;
  EXPECT_TRUE(region.Restrict(
      {0, 1},
      [&](auto point) {
        ++asked[SizePoint(point.begin(), point.end())];
        return point[0] > 20 && point[1] % 2 == 1;
      },
      {}, "it"));
  EXPECT_FALSE(asked.empty());
  for (const auto& [point, times] : asked) EXPECT_EQ(times, 1);
}

TEST(SizeRegion, ARemainderIsAConstraint) {
  const auto aligned = [](auto point) { return point[0] % 8 == 0; };
  for (const int64_t anchor : {16, 17}) {
    SizeRegion region({{1, 128}}, {anchor});
    const bool wanted = anchor % 8 == 0;
    EXPECT_TRUE(region.Restrict(
        {0}, [&](auto point) { return aligned(point) == wanted; }, {}, "it"));
    EXPECT_THAT(region.constraints(), SizeIs(1));
    for (int64_t size = 1; size <= 128; ++size)
      EXPECT_EQ(region.Contains({size}), (size % 8 == 0) == wanted) << size;
  }
}

// Of a size that was halved, rounded down or up, as in networks whose skip
// connections halve it and double it again.
TEST(SizeRegion, ARemainderOfAHalvedSizeIsAConstraint) {
  for (const int64_t added : {0, 3}) {
    const auto even = [&](auto point) {
      return (point[0] + added) / 4 % 2 == 0;
    };
    SizeRegion region({{32, 100}}, {64});
    EXPECT_TRUE(region.Restrict({0}, even, {}, "it"));
    EXPECT_THAT(region.constraints(), SizeIs(1));
    for (int64_t size = 32; size <= 100; ++size)
      EXPECT_EQ(region.Contains({size}), even(SizePoint{size})) << size;
  }
}

TEST(SizeRegion, WhatNothingSeparatesIsLeftOut) {
  SizeRegion region({{1, 128}}, {100});
  const auto odd_places = [](auto point) {
    return point[0] == 3 || (point[0] >= 90 && point[0] < 110);
  };
  EXPECT_TRUE(region.Restrict({0}, odd_places, {}, "it"));
  EXPECT_EQ(region.ranges()[0].min, 90);
  EXPECT_EQ(region.ranges()[0].max, 109);
}

TEST(SizeRegion, SeveralSymbolsNeedAForm) {
  const auto larger = [](auto point) { return point[0] > point[1]; };
  SizeRegion with({{1, 64}, {1, 64}}, {9, 5});
  EXPECT_TRUE(with.Restrict(
      {0, 1}, larger, {{s0 + s1 * -1 + -1, Relation::kNonNegative}}, "it"));
  EXPECT_TRUE(with.Contains({64, 63}));
  EXPECT_FALSE(with.Contains({63, 63}));
  // Without one a symbol is fixed.
  SizeRegion without({{1, 64}, {1, 64}}, {9, 5});
  EXPECT_TRUE(without.Restrict({0, 1}, larger, {}, "it"));
  EXPECT_TRUE(without.Contains({9, 8}));
  EXPECT_FALSE(without.Contains({9, 9}));
}

TEST(SizeRegion, OneOfSeveralSymbolsMayDecide) {
  SizeRegion region({{1, 64}, {1, 64}}, {9, 3});
  EXPECT_TRUE(region.Restrict(
      {0, 1}, [](auto point) { return point[1] == 3; }, {}, "it"));
  EXPECT_EQ(region.ranges()[0].max, 64);
  EXPECT_EQ(region.ranges()[1].min, 3);
  EXPECT_EQ(region.ranges()[1].max, 3);
}

// The height and the width of an image, not its number.
TEST(SizeRegion, SymbolsMayDecideEachForItself) {
  const auto even = [](auto point) {
    return point[1] % 2 == 0 && point[2] % 4 == 0;
  };
  SizeRegion region({{1, 4}, {8, 40}, {8, 40}}, {2, 20, 20});
  EXPECT_TRUE(region.Restrict({0, 1, 2}, even, {}, "it"));
  for (int64_t n = 1; n <= 4; ++n)
    for (int64_t h = 8; h <= 40; ++h)
      for (int64_t w = 8; w <= 40; ++w)
        EXPECT_EQ(region.Contains({n, h, w}), even(SizePoint{n, h, w}))
            << n << ", " << h << ", " << w;
}

TEST(SizeRegion, EqualSizesAreFound) {
  SizeRegion region({{1, 64}, {1, 64}}, {9, 9});
  EXPECT_TRUE(region.Restrict(
      {0, 1}, [](auto point) { return point[0] == point[1]; }, {}, "it"));
  EXPECT_TRUE(region.Contains({33, 33}));
  EXPECT_FALSE(region.Contains({33, 32}));
}

TEST(SizeRegion, IsShortenedAroundTheAnchorToBeLookedAt) {
  for (const SizePoint& anchor :
       {SizePoint{500, 300, 7}, {1, 512, 7}, {512, 1, 7}}) {
    SizeRegion region({{1, 512}, {1, 512}, {1, 9}}, anchor);
    EXPECT_TRUE(region.LooksAtAll({0}));
    EXPECT_TRUE(region.LooksAtAll({1, 2}));
    EXPECT_FALSE(region.LooksAtAll({0, 1}));
    region.Shorten({0, 1}, SizeRegion::kMostLookedAt, "it");
    EXPECT_TRUE(region.LooksAtAll({0, 1}));
    EXPECT_TRUE(region.Contains(anchor));
    for (const size_t symbol : {0, 1}) {
      const SymbolRange& range = region.ranges()[symbol];
      EXPECT_EQ(range.max - range.min, 255);
    }
    EXPECT_EQ(region.ranges()[2].max, 9);
    EXPECT_EQ(region.reasons().size(), 1u);
    bool complete = false;
    region.Points({0, 1}, size_t{1} << 16, &complete);
    EXPECT_TRUE(complete);
  }
}

TEST(SizeRegion, PointsHaveTheFewPlacesOfAValue) {
  SizeRegion region({{1, 130}, {1, 130}}, {9, 9});
  const SizeExpression product =
      SizeExpression::Symbol(0) * SizeExpression::Symbol(1);
  const SizeExpression rare = SizeExpression::Binary(
      SizeExpression::Kind::kFloorDivide,
      SizeExpression::Binary(SizeExpression::Kind::kModulo, product, 997), 996);
  const auto has_rare = [&](const std::vector<int>& symbols) {
    const std::vector<SizePoint> points = region.Points(symbols, 160, nullptr);
    return std::any_of(points.begin(), points.end(), [&](const SizePoint& p) {
      return rare.Evaluate(p) == 1;
    });
  };
  EXPECT_FALSE(has_rare({0, 1}));
  // That of a product, which has many values, none is an exception.
  region.AddCriticalPointsOf(product);
  EXPECT_FALSE(has_rare({0, 1}));
  region.AddCriticalPointsOf(rare);
  EXPECT_TRUE(has_rare({0, 1}));
  EXPECT_FALSE(has_rare({0}));
}

TEST(SizeRegion, ConstraintsOnConstantsSayNothing) {
  SizeRegion region({{1, 64}}, {9});
  region.Add({SizeExpression(0), Relation::kZero});
  EXPECT_TRUE(region.constraints().empty());
}

TEST(SizeRegion, LongRangesAreLookedAtAroundTheAnchor) {
  SizeRegion region({{1, int64_t{1} << 40}}, {1000});
  EXPECT_TRUE(region.Restrict(
      {0}, [](auto point) { return point[0] < 5000; }, {}, "it"));
  EXPECT_EQ(region.ranges()[0].min, 1);
  EXPECT_EQ(region.ranges()[0].max, 4999);
}

TEST(SizeRegion, ConstraintsOnOtherSymbolsProveNothing) {
  SizeRegion region({{1, 64}, {1, 64}}, {9, 9});
  region.Add({s0 + s1 * -1, Relation::kZero});
  // With s1 at its anchor s0 could only be 9; it may be anything.
  EXPECT_TRUE(
      region.Restrict({0}, [](auto point) { return point[0] < 30; }, {}, "it"));
  EXPECT_EQ(region.ranges()[0].max, 29);
}

TEST(SizeRegion, ProbesArePointsOfIt) {
  SizeRegion region({{1, 128}}, {64});
  region.Add({Modulo(s0, 8), Relation::kZero});
  const std::vector<SizePoint> probes = ChooseProbes(region);
  EXPECT_GE(probes.size(), 4);
  for (const SizePoint& probe : probes) EXPECT_TRUE(region.Contains(probe));
  SizeRegion equal({{1, 64}, {1, 64}}, {9, 9});
  equal.Add({s0 + s1 * -1, Relation::kZero});
  const std::vector<SizePoint> together = ChooseProbes(equal);
  EXPECT_GE(together.size(), 4);
  for (const SizePoint& probe : together) EXPECT_EQ(probe[0], probe[1]);
}

TEST(SizeRegion, DecisionsThatTakeLongLeaveTheAnchorAlone) {
  SizeRegion region({{1, 200}, {1, 200}}, {30, 31});
  int asked = 0;
  EXPECT_TRUE(region.Restrict(
      {0, 1},
      [&](auto) {
        ++asked;
        const clock_t begun = clock();
        while (clock() - begun < CLOCKS_PER_SEC / 500) {
        }
        return true;
      },
      {}, "it"));
  EXPECT_LT(asked, 40000);
  EXPECT_EQ(region.ranges()[0].max, 30);
  EXPECT_EQ(region.ranges()[1].min, 31);
  EXPECT_THAT(region.reasons(),
              ElementsAre("it", testing::HasSubstr("were not looked at")));
  // Nor do those of another part of it.
  SizeRegion part({{1, 200}}, {30});
  part.ShareTime(region);
  EXPECT_TRUE(part.Restrict({0}, [](auto) { return true; }, {}, "this"));
  EXPECT_EQ(part.ranges()[0].max, 30);
}

TEST(SizeRegion, PointsHaveCriticalSizesAndNeighbours) {
  SizeRegion region({{1, 100000}}, {1000});
  region.AddCriticalSize(777);
  bool complete = true;
  const std::vector<SizePoint> points = region.Points({0}, 100, &complete);
  EXPECT_FALSE(complete);
  for (const int64_t size : {1, 776, 777, 778, 1000, 4096, 100000})
    EXPECT_THAT(points, testing::Contains(SizePoint{size}));
}

// As of an axis beside one of no elements.
TEST(SizeRegion, TheLongestRangeHasPoints) {
  const SizeRegion region({{1, INT64_MAX}}, {int64_t{1} << 62});
  EXPECT_THAT(region.Points({0}, 100, nullptr),
              testing::Contains(SizePoint{int64_t{1} << 61}));
}

}  // namespace
}  // namespace aitune::frontend
