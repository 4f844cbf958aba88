#include "frontend/reduce/subset.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace aitune::reduce {
namespace {

std::vector<int> Elements(const std::vector<bool>& kept) {
  std::vector<int> elements;
  for (size_t i = 0; i < kept.size(); ++i) {
    if (kept[i]) elements.push_back(static_cast<int>(i));
  }
  return elements;
}

TEST(MinimizeSubset, FindsElementsFarApart) {
  int asked = 0;
  const auto kept = MinimizeSubset(1000, [&](const std::vector<bool>& left) {
    ++asked;
    return left[3] && left[500] && left[999];
  });
  EXPECT_THAT(Elements(kept), testing::ElementsAre(3, 500, 999));
  EXPECT_LT(asked, 100);
}

TEST(MinimizeSubset, TriesAgainWhatWentNotBefore) {
  // The last element can go only once the first has gone.
  const auto kept = MinimizeSubset(
      2, [](const std::vector<bool>& left) { return left[1] || !left[0]; });
  EXPECT_THAT(Elements(kept), testing::IsEmpty());
}

TEST(MinimizeSubset, KeepsWhatIsNeeded) {
  const auto never = [](const std::vector<bool>&) { return false; };
  EXPECT_THAT(Elements(MinimizeSubset(3, never)),
              testing::ElementsAre(0, 1, 2));
  EXPECT_THAT(MinimizeSubset(0, never), testing::IsEmpty());
}

}  // namespace
}  // namespace aitune::reduce
