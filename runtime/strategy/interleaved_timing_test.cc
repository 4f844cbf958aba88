#include "runtime/strategy/interleaved_timing.h"

#include <sys/resource.h>

#include <cmath>
#include <cstdlib>
#include <map>
#include <numeric>
#include <random>
#include <string>

#include "absl/base/config.h"
#include "gtest/gtest.h"

namespace aitune {
namespace {

TEST(SummarizeTest, OddAndEvenCounts) {
  EXPECT_EQ(Summarize({3, 1, 2}).median, 2);
  EXPECT_EQ(Summarize({4, 1, 2, 3}).median, 2.5);
  EXPECT_EQ(Summarize({7}).median, 7);
  EXPECT_EQ(Summarize({}).rounds, 0);
}

TEST(SummarizeTest, P99MeanAndMinimum) {
  std::vector<double> times(200);
  std::iota(times.begin(), times.end(), 1);
  const TimingSummary summary = Summarize(times);
  EXPECT_EQ(summary.rounds, 200);
  EXPECT_EQ(summary.p99, 198);
  EXPECT_EQ(summary.mean, 100.5);
  EXPECT_EQ(summary.minimum, 1);
  EXPECT_EQ(Summarize({1, 2, 9}).p99, 9);
}

// The bounds contain the true median in about 95 of 100 experiments.
TEST(SummarizeTest, BoundsHoldTheConfidence) {
  std::mt19937 random(1);
  std::exponential_distribution<double> distribution(1.0);
  int inside = 0;
  for (int experiment = 0; experiment < 1000; ++experiment) {
    std::vector<double> times(51);
    for (double& time : times) time = distribution(random);
    const TimingSummary summary = Summarize(times);
    EXPECT_LE(summary.median_low, summary.median);
    EXPECT_LE(summary.median, summary.median_high);
    inside +=
        summary.median_low <= std::log(2) && std::log(2) <= summary.median_high;
  }
  EXPECT_GE(inside, 930);
  EXPECT_LE(inside, 990);
}

class TimeInterleavedTest : public testing::Test {
 protected:
  TimeInterleavedTest() {
    options_.clock = [this](const std::function<absl::Status()>& run)
        -> absl::StatusOr<double> {
      const double begin = clock_;
      if (absl::Status status = run(); !status.ok()) return status;
      return clock_ - begin;
    };
    options_.warmup_rounds = 2;
  }
  std::function<absl::Status()> Takes(double milliseconds, char name) {
    return [this, milliseconds, name] {
      clock_ += milliseconds;
      calls_ += name;
      return absl::OkStatus();
    };
  }

  double clock_ = 0;
  std::string calls_;
  TimingOptions options_;
};

TEST_F(TimeInterleavedTest, RunsInTurn) {
  options_.min_rounds = options_.max_rounds = 3;
  const auto result = TimeInterleaved({Takes(1, 'a'), Takes(5, 'b')}, options_);
  ASSERT_EQ(calls_.size(), 10);
  for (size_t round = 0; round < calls_.size(); round += 2)
    EXPECT_NE(calls_[round], calls_[round + 1]) << calls_;
  EXPECT_EQ(result[0]->rounds, 3);
  EXPECT_EQ(result[0]->median, 1);
  EXPECT_EQ(result[1]->median, 5);
}

// What another one's threads still do falls on calls that don't count.
TEST_F(TimeInterleavedTest, CallsCountOnceTheMachineHasComeToRest) {
  options_.warmup_rounds = 0;
  options_.min_rounds = options_.max_rounds = 2;
  options_.milliseconds = 1e9;
  options_.settle_milliseconds = 10;
  double rests = 0;  // when the threads of the other one come to rest
  const auto disturbed = [&] {
    clock_ += clock_ < rests ? 4 : 2;
    return absl::OkStatus();
  };
  const auto spins = [&] {
    clock_ += 3;
    rests = clock_ + 9;
    return absl::OkStatus();
  };
  int slow_calls = 0;
  const auto slow = [&] {
    ++slow_calls;
    clock_ += 30;
    return absl::OkStatus();
  };
  const auto result = TimeInterleaved({disturbed, spins, slow}, options_);
  EXPECT_EQ(result[0]->mean, 2);
  EXPECT_GE(result[0]->rounds, 8);
  EXPECT_EQ(result[1]->rounds, 8);
  // Its first call in a turn may be disturbed.
  EXPECT_EQ(result[2]->rounds, 2);
  EXPECT_EQ(slow_calls, 4);
}

// Each comes after each other one, and itself, about equally often.
TEST_F(TimeInterleavedTest, NoneAlwaysFollowsTheSame) {
  options_.min_rounds = options_.max_rounds = 3000;
  options_.milliseconds = 1e9;
  ASSERT_EQ(
      TimeInterleaved({Takes(1, 'a'), Takes(1, 'b'), Takes(1, 'c')}, options_)
          .size(),
      3);
  std::map<std::string, int> pairs;
  for (size_t i = 0; i + 1 < calls_.size(); ++i) ++pairs[calls_.substr(i, 2)];
  for (const char* const different : {"ab", "ac", "ba", "bc", "ca", "cb"})
    EXPECT_NEAR(pairs[different], 9000 * 4 / 27, 150) << different;
  for (const char* const same : {"aa", "bb", "cc"})
    EXPECT_NEAR(pairs[same], 9000 / 27, 80) << same;
}

// A machine that gets slower during the measurement slows all alike.
TEST_F(TimeInterleavedTest, DriftFallsOnAllAlike) {
  options_.min_rounds = options_.max_rounds = 100;
  double speed = 1;
  const auto drifting = [&](double milliseconds) {
    return [&, milliseconds] {
      clock_ += milliseconds * speed;
      speed += 0.01;
      return absl::OkStatus();
    };
  };
  const auto result = TimeInterleaved({drifting(10), drifting(11)}, options_);
  EXPECT_NEAR(result[1]->median / result[0]->median, 1.1, 0.02);
}

TEST_F(TimeInterleavedTest, StopsWhenTheTimeIsSpent) {
  options_.milliseconds = 100;
  EXPECT_EQ((*TimeInterleaved({Takes(2, 'a')}, options_)[0]).rounds, 50);
  // At least min_rounds.
  EXPECT_EQ((*TimeInterleaved({Takes(20, 'a')}, options_)[0]).rounds, 10);
  // But a slow model stops after four times as long.
  EXPECT_EQ((*TimeInterleaved({Takes(100, 'a')}, options_)[0]).rounds, 4);
  EXPECT_EQ((*TimeInterleaved({Takes(9000, 'a')}, options_)[0]).rounds, 3);
  options_.max_rounds = 7;
  options_.min_rounds = 1;
  EXPECT_EQ((*TimeInterleaved({Takes(2, 'a')}, options_)[0]).rounds, 7);
}

TEST_F(TimeInterleavedTest, OneThatFailsIsOut) {
  options_.min_rounds = options_.max_rounds = 5;
  int left = 3;
  const auto fails = [&] {
    return left-- > 0 ? absl::OkStatus() : absl::InternalError("broken");
  };
  const auto result = TimeInterleaved({fails, Takes(1, 'b')}, options_);
  EXPECT_EQ(result[0].status(), absl::InternalError("broken"));
  EXPECT_EQ(left, -1) << "not called again";
  EXPECT_EQ(result[1]->rounds, 5);
}

TEST_F(TimeInterleavedTest, NothingToTime) {
  options_.max_rounds = 5;
  EXPECT_TRUE(TimeInterleaved({}, options_).empty());
}

TEST(TimeInterleavedRealClockTest, ReportsTimeThatPasses) {
  TimingOptions options;
  options.min_rounds = options.max_rounds = 3;
  volatile double sink = 0;
  const auto work = [&] {
    for (int i = 0; i < 1000; ++i) sink = sink + std::sqrt(i);
    return absl::OkStatus();
  };
  const auto result = TimeInterleaved({work}, options);
  EXPECT_GT(result[0]->minimum, 0);
}

constexpr size_t kMebibyte = size_t{1} << 20;

// The page faults of a call with so many results of 10 MiB at once, which glibc
// by itself gives back each time.
int64_t FaultsOfCall(size_t results) {
  rusage before, after;
  getrusage(RUSAGE_SELF, &before);
  std::vector<volatile char*> blocks(results);
  for (volatile char*& block : blocks) {
    block = static_cast<volatile char*>(std::malloc(10 * kMebibyte));
    for (size_t i = 0; i < 10 * kMebibyte; i += 4096) block[i] = 1;
  }
  for (volatile char* block : blocks) std::free(const_cast<char*>(block));
  getrusage(RUSAGE_SELF, &after);
  return after.ru_minflt - before.ru_minflt;
}

// Ends the process, with 0 where calls find their pages.
void EndByFaults(size_t results) {
  KeepFreedMemory();
  FaultsOfCall(results);
  FaultsOfCall(results);
  std::_Exit(FaultsOfCall(results) < 100 ? 0 : 1);
}

// In processes of their own, since what one frees changes the allocator.
class KeepFreedMemoryTest : public testing::Test {
 protected:
  void SetUp() override {
#if defined(ABSL_HAVE_ADDRESS_SANITIZER) || defined(ABSL_HAVE_THREAD_SANITIZER)
    GTEST_SKIP() << "the sanitizer has an allocator of its own";
#endif
    GTEST_FLAG_SET(death_test_style, "threadsafe");
  }
};

TEST_F(KeepFreedMemoryTest, ResultsOfLaterCallsFindTheirPages) {
  EXPECT_EXIT(EndByFaults(3), testing::ExitedWithCode(0), "");
}

// Many small blocks that were freed leave as much in the middle of the heap as
// a block that makes the allocator adapt.
TEST_F(KeepFreedMemoryTest, BesideMuchThatIsFreeInTheHeap) {
  EXPECT_EXIT(
      {
        std::vector<volatile char*> blocks(351);
        for (volatile char*& block : blocks) {
          block = static_cast<volatile char*>(std::malloc(kMebibyte / 10));
          *block = 1;
        }
        blocks.pop_back();  // so that the others are not at the heap's end
        for (volatile char* block : blocks) std::free(const_cast<char*>(block));
        EndByFaults(6);
      },
      testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace aitune
