// Which candidates run how often, on a device whose times are written here.
#include "compiler/measure/TimeRounds.h"

#include "gtest/gtest.h"

using namespace mlir;

namespace aitune {
namespace {

/// Gives each candidate its times in turn, the last one again and again.
class FakeDevice {
public:
  explicit FakeDevice(std::vector<std::vector<double>> given)
      : given(std::move(given)), runs(this->given.size()) {}

  double run(size_t i) {
    order.push_back(i);
    const size_t number = std::min(runs[i]++, given[i].size() - 1);
    return given[i][number];
  }
  std::vector<std::vector<double>> time(int rounds, bool settles) {
    std::vector<std::vector<double>> times(given.size());
    timeRounds(rounds, settles, [&](size_t i) { return run(i); }, times);
    return times;
  }

  std::vector<std::vector<double>> given;
  std::vector<size_t> runs;
  std::vector<size_t> order;
};

TEST(Settled, WhereTheThreeFastestAgree) {
  EXPECT_FALSE(isSettled({}));
  EXPECT_FALSE(isSettled({5, 5}));
  EXPECT_TRUE(isSettled({5, 5.4, 5.2}));
  EXPECT_FALSE(isSettled({5, 5.6, 5.2}));
  EXPECT_TRUE(isSettled({50, 5.2, 70, 5, 60, 5.4}));
}

TEST(TimeRounds, RunsInTurn) {
  FakeDevice device({{4}, {2}});
  EXPECT_EQ(device.time(3, /*settles=*/true),
            (std::vector<std::vector<double>>{{4, 4, 4}, {2, 2, 2}}));
  EXPECT_EQ(device.order, (std::vector<size_t>{0, 1, 0, 1, 0, 1}));
}

TEST(TimeRounds, GoesOnWithWhatWasDisturbedUntilItsRunsAgree) {
  // The second takes 1.9 ms, but all of its first three runs lost time slices.
  FakeDevice device({{7.0, 7.1, 7.2}, {7.6, 9.3, 12, 1.9, 6, 1.9, 1.95}});
  const std::vector<std::vector<double>> times =
      device.time(3, /*settles=*/true);
  EXPECT_EQ(times[0].size(), 3u) << "its runs agree";
  EXPECT_EQ(times[1], (std::vector<double>{7.6, 9.3, 12, 1.9, 6, 1.9, 1.95}));
  EXPECT_EQ(FakeDevice(device.given).time(3, /*settles=*/false)[1].size(), 3u);
}

TEST(TimeRounds, EndsAfterTwiceTheFirstRoundsTime) {
  // No two runs are alike.
  std::vector<double> slower;
  for (double time = 1; time < 1e6; time *= 1.2)
    slower.push_back(time);
  FakeDevice device({slower});
  double first = 0, further = 0;
  const std::vector<double> times = device.time(3, /*settles=*/true)[0];
  for (size_t i = 0; i < times.size(); ++i)
    (i < 3 ? first : further) += times[i];
  EXPECT_GE(further, 2 * first);
  EXPECT_LT(further - times.back(), 2 * first);
}

TEST(TimeRounds, WhatFailsRunsNoMore) {
  FakeDevice device({{4}, {2, -1}});
  EXPECT_EQ(device.time(3, /*settles=*/true),
            (std::vector<std::vector<double>>{{4, 4, 4}, {2}}));
  EXPECT_EQ(device.runs[1], 2u);
}

} // namespace
} // namespace aitune
