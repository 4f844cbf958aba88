#include "tests/soak/memory.h"

#include <gtest/gtest.h>

#include <vector>

namespace aitune::soak {
namespace {

TEST(Memory, AProcessHasSome) { EXPECT_GT(ResidentBytes(), 1 << 20); }

TEST(Memory, PeaksAreOfQuarters) {
  const QuarterPeaks peaks = PeaksOf({5, 1, 2, 7, 3, 3, 4, 1});
  EXPECT_EQ(peaks.of[0], 5);
  EXPECT_EQ(peaks.of[1], 7);
  EXPECT_EQ(peaks.of[2], 3);
  EXPECT_EQ(peaks.of[3], 4);
  EXPECT_TRUE(PeaksOf({}).IsFlat());
}

TEST(Memory, GrowthAfterTheFirstQuarterIsSeen) {
  EXPECT_TRUE(PeaksOf({10, 100, 105, 110}).IsFlat());
  EXPECT_FALSE(PeaksOf({10, 100, 105, 111}).IsFlat());
  EXPECT_TRUE(PeaksOf({10, 100, 300, 90}).IsFlat());
}

}  // namespace
}  // namespace aitune::soak
