#include "frontend/torchscript/accepted_sizes.h"

#include <functional>
#include <limits>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace aitune::frontend {
namespace {

using testing::ElementsAre;
using testing::Le;

std::vector<SymbolSpec> Ranges(
    const std::vector<std::pair<int64_t, int64_t>>& ranges) {
  std::vector<SymbolSpec> symbols;
  for (const auto& [min, max] : ranges) symbols.push_back({"", min, max, 0, 0});
  return symbols;
}

using Sizes = std::vector<int64_t>;

std::optional<AcceptedSizes> Find(
    const std::vector<SymbolSpec>& symbols,
    const std::function<bool(const Sizes&)>& accepts, int* asked = nullptr) {
  const auto found = FindAcceptedSizes(
      symbols, [&](const Sizes& sizes) -> absl::StatusOr<bool> {
        if (asked != nullptr) ++*asked;
        for (size_t i = 0; i < sizes.size(); ++i) {
          EXPECT_GE(sizes[i], symbols[i].min);
          EXPECT_LE(sizes[i], symbols[i].max);
        }
        return accepts(sizes);
      });
  EXPECT_TRUE(found.ok()) << found.status();
  return *found;
}

TEST(AcceptedSizes, AreHalvedTogether) {
  int asked = 0;
  const auto found = Find(
      Ranges({{1, 1000}, {5, 2000}}),
      [](const Sizes& sizes) { return sizes[0] >= 3 && sizes[1] <= 700; },
      &asked);
  ASSERT_TRUE(found.has_value());
  EXPECT_THAT(found->least, ElementsAre(4, 5));
  EXPECT_THAT(found->most, ElementsAre(700, 700));
  EXPECT_THAT(asked, Le(20));
}

// The second must be below the first, which equal sizes never are.
TEST(AcceptedSizes, AreHalvedOneAfterTheOtherWhereEqualOnesAreRefused) {
  const auto found = Find(Ranges({{1, 6}, {0, 7}}), [](const Sizes& sizes) {
    return sizes[0] > sizes[1];
  });
  ASSERT_TRUE(found.has_value());
  EXPECT_THAT(found->least, ElementsAre(2, 1));
  EXPECT_THAT(found->most, ElementsAre(6, 5));
}

TEST(AcceptedSizes, MayBeTheEndOfTheFirstRangeAlone) {
  const auto found = Find(Ranges({{1, 6}, {1, 6}}), [](const Sizes& sizes) {
    return sizes[0] == 6 && sizes[1] < 3;
  });
  ASSERT_TRUE(found.has_value());
  EXPECT_THAT(found->least, ElementsAre(6, 1));
  EXPECT_THAT(found->most, ElementsAre(6, 2));
}

TEST(AcceptedSizes, AreNotSetWhereNoneIs) {
  EXPECT_FALSE(Find(Ranges({{1, 6}, {0, 7}}), [](const Sizes&) {
                 return false;
               }).has_value());
  EXPECT_FALSE(Find({}, [](const Sizes&) { return true; }).has_value());
}

TEST(AcceptedSizes, AnErrorEndsTheSearch) {
  const auto found = FindAcceptedSizes(
      Ranges({{1, 6}}), [](const Sizes&) -> absl::StatusOr<bool> {
        return absl::InternalError("broken");
      });
  EXPECT_EQ(found.status(), absl::InternalError("broken"));
}

TEST(AcceptedSizes, AreNearASize) {
  const auto symbols = Ranges({{1, 6}, {3, 7}});
  EXPECT_THAT(SizesNear(symbols, 2), ElementsAre(2, 3));
  EXPECT_THAT(SizesNear(symbols, std::numeric_limits<int64_t>::max()),
              ElementsAre(6, 7));
}

}  // namespace
}  // namespace aitune::frontend
