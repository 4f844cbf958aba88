#include "runtime/cpu/crowding.h"

#include <vector>

#include "gtest/gtest.h"

namespace aitune {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;

constexpr Crowding::Time kStart{std::chrono::hours(1)};

TEST(Crowding, NotWhileThreadsGetTheirCores) {
  Crowding crowding;
  EXPECT_FALSE(crowding.IsCrowded(kStart));
  for (int region = 0; region < 100; ++region) {
    const Crowding::Time now = kStart + milliseconds(region);
    // Waking takes most of a short region, uneven work a part of a long one.
    if (region % 2 == 0) {
      crowding.Add(now, microseconds(110), microseconds(100));
    } else {
      crowding.Add(now, milliseconds(10), milliseconds(4));
    }
    EXPECT_FALSE(crowding.IsCrowded(now));
  }
}

// The times in ms after the start at which threads are waited for, when the
// machine is busy until `busy`: then the regions wait.
std::vector<int> Trials(Crowding& crowding, int from, int busy, int end) {
  std::vector<int> trials;
  for (int now = from; now < end; ++now) {
    if (crowding.IsCrowded(kStart + milliseconds(now))) continue;
    trials.push_back(now);
    if (now < busy)
      crowding.Add(kStart + milliseconds(now), milliseconds(1),
                   microseconds(900));
  }
  return trials;
}

TEST(Crowding, TriesAgainAndMoreRarely) {
  Crowding crowding;
  EXPECT_EQ(Trials(crowding, 0, 40000, 40000),
            (std::vector<int>{0, 250, 750, 1750, 3750, 7750, 15750, 23750,
                              31750, 39750}));
}

TEST(Crowding, EndsWithTheFirstTrialWhenTheMachineIsQuietAgain) {
  Crowding crowding;
  EXPECT_EQ(Trials(crowding, 0, 400, 753),
            (std::vector<int>{0, 250, 750, 751, 752}));
  // Much later, one wait is the first again.
  EXPECT_EQ(Trials(crowding, 20000, 20001, 20252),
            (std::vector<int>{20000, 20250, 20251}));
}

}  // namespace
}  // namespace aitune
