#include "runtime/cpu/crowding.h"

#include <vector>

#include "gtest/gtest.h"

namespace aitune {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;

TEST(Crowding, AllThreadsWhileTheyGetTheirCores) {
  Crowding crowding;
  for (int region = 0; region < 100; ++region) {
    EXPECT_EQ(crowding.Threads(4), 4);
    // Waking takes most of a short region, uneven work a part of a long one.
    if (region % 2 == 0) {
      crowding.Add(microseconds(110), microseconds(100));
    } else {
      crowding.Add(milliseconds(10), milliseconds(4));
    }
  }
}

TEST(Crowding, HalvesWhileThreadsAreSwitchedOff) {
  Crowding crowding;
  auto slow_region = [&] {
    const int threads = crowding.Threads(8);
    if (threads > 1) crowding.Add(milliseconds(5), milliseconds(4));
    return threads;
  };
  std::vector<int> threads;
  for (int region = 0; region < 6; ++region) threads.push_back(slow_region());
  EXPECT_EQ(threads, (std::vector<int>{8, 4, 2, 1, 1, 1}));
}

TEST(Crowding, TriesAllThreadsAgainAndMoreRarely) {
  Crowding crowding;
  std::vector<int> trials;
  for (int region = 0; region < 300; ++region) {
    if (crowding.Threads(2) == 2) {
      trials.push_back(region);
      crowding.Add(milliseconds(5), milliseconds(4));
    }
  }
  EXPECT_EQ(trials, (std::vector<int>{0, 2, 5, 10, 19, 36, 69, 134, 199, 264}));
  // As often as at first, once they get their cores.
  while (crowding.Threads(2) == 1) {
  }
  for (int region = 0; region < 10; ++region) {
    crowding.Add(milliseconds(2), milliseconds(0));
    EXPECT_EQ(crowding.Threads(2), 2);
  }
  crowding.Add(milliseconds(5), milliseconds(4));
  EXPECT_EQ(crowding.Threads(2), 1);
  EXPECT_EQ(crowding.Threads(2), 2);
}

}  // namespace
}  // namespace aitune
