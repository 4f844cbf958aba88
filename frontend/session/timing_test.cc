#include "frontend/session/timing.h"

#include <algorithm>
#include <random>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace aitune::frontend {
namespace {

TEST(Summarize, OddAndEvenCounts) {
  EXPECT_EQ(Summarize({3, 1, 2}).median, 2);
  EXPECT_EQ(Summarize({4, 1, 2, 3}).median, 2.5);
  EXPECT_EQ(Summarize({}).rounds, 0);
}

TEST(Summarize, PercentileAndIntervalOfKnownSamples) {
  std::vector<double> samples;
  for (int i = 1; i <= 1000; ++i) samples.push_back(i);
  std::shuffle(samples.begin(), samples.end(), std::mt19937(1));
  const TimingSummary summary = Summarize(samples);
  EXPECT_EQ(summary.p99, 990);
  EXPECT_EQ(summary.minimum, 1);
  EXPECT_DOUBLE_EQ(summary.mean, 500.5);
  // 500 -+ 1.96 * sqrt(1000) / 2 = 31.
  EXPECT_NEAR(summary.median_low, 469, 2);
  EXPECT_NEAR(summary.median_high, 532, 2);
}

TEST(Summarize, SlowestCallIsThePercentileOfFewSamples) {
  EXPECT_EQ(Summarize({1, 9, 2}).p99, 9);
}

TEST(MeasureInterleaved, RunsCandidatesInTurn) {
  std::string order;
  TimingOptions options;
  options.seconds = 0;
  options.min_rounds = options.max_rounds = 2;
  options.warmup = 1;
  auto candidate = [&](char name) {
    return TimedCandidate{std::string(1, name), [&order, name] {
                            order += name;
                            return absl::OkStatus();
                          }};
  };
  auto result = MeasureInterleaved({candidate('a'), candidate('b')}, options);
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_EQ(result->size(), 2u);
  EXPECT_EQ(order.substr(0, 2), "ab");  // warm-up
  EXPECT_EQ(order.substr(2, 2), "ab");
}

TEST(MeasureInterleaved, NamesTheCandidateThatFailed) {
  auto result = MeasureInterleaved(
      {{"eager", [] { return absl::InternalError("boom"); }}}, {});
  EXPECT_THAT(std::string(result.status().message()),
              testing::HasSubstr("eager: boom"));
}

}  // namespace
}  // namespace aitune::frontend
