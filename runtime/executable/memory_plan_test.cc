#include "runtime/executable/memory_plan.h"

#include <random>

#include "gtest/gtest.h"

namespace aitune {
namespace {

// Buffers needed at the same step are disjoint, aligned and inside the arena.
void ExpectValid(const std::vector<BufferRequest>& requests,
                 const MemoryPlan& plan) {
  ASSERT_EQ(plan.offsets.size(), requests.size());
  EXPECT_EQ(plan.arena_bytes % kBufferAlignment, 0);
  for (size_t i = 0; i < requests.size(); ++i) {
    EXPECT_EQ(plan.offsets[i] % kBufferAlignment, 0);
    EXPECT_GE(plan.offsets[i], 0);
    EXPECT_LE(plan.offsets[i] + requests[i].bytes, plan.arena_bytes);
    for (size_t j = 0; j < i; ++j) {
      const bool together = requests[i].first_step <= requests[j].last_step &&
                            requests[j].first_step <= requests[i].last_step;
      const bool disjoint =
          plan.offsets[i] + requests[i].bytes <= plan.offsets[j] ||
          plan.offsets[j] + requests[j].bytes <= plan.offsets[i];
      if (requests[i].bytes > 0 && requests[j].bytes > 0 && together) {
        EXPECT_TRUE(disjoint) << i << " and " << j;
      }
    }
  }
}

TEST(MemoryPlanTest, EmptyAndZeroBytes) {
  EXPECT_EQ(PlanMemory({}).arena_bytes, 0);
  EXPECT_EQ(PlanMemory({{0, 0, 9}}).arena_bytes, 0);
}

TEST(MemoryPlanTest, AChainNeedsTwoBuffers) {
  // Each step reads the buffer before: three alive never, two always.
  std::vector<BufferRequest> chain;
  for (int32_t i = 0; i < 10; ++i) chain.push_back({1000, i, i + 1});
  const MemoryPlan plan = PlanMemory(chain);
  ExpectValid(chain, plan);
  EXPECT_EQ(plan.arena_bytes, 2 * 1024);
}

TEST(MemoryPlanTest, TakesTheTightestGap) {
  // What ended before step 2 leaves gaps of 10 and of 4 lines.
  const std::vector<BufferRequest> requests = {{64 * 30, 0, 2}, {64 * 10, 0, 0},
                                               {64 * 8, 0, 2},  {64 * 4, 0, 0},
                                               {64 * 3, 0, 2},  {64 * 2, 2, 2}};
  const MemoryPlan plan = PlanMemory(requests);
  ExpectValid(requests, plan);
  EXPECT_EQ(plan.offsets[5], plan.offsets[3]);
}

TEST(MemoryPlanTest, RandomLifetimesNeverOverlapAndStayNearThePeak) {
  std::mt19937 random(3);
  double worst = 0, sum = 0;
  constexpr int kRounds = 60;
  for (int round = 0; round < kRounds; ++round) {
    const int count = 1 + static_cast<int>(random() % 150);
    const int steps = 1 + static_cast<int>(random() % 100);
    std::vector<BufferRequest> requests;
    for (int i = 0; i < count; ++i) {
      const int32_t first = static_cast<int32_t>(random() % steps);
      const int32_t last = std::min<int32_t>(
          steps - 1, first + static_cast<int32_t>(random() % 8));
      requests.push_back(
          {static_cast<int64_t>(random() % 100000), first, last});
    }
    const MemoryPlan plan = PlanMemory(requests);
    ExpectValid(requests, plan);
    const int64_t peak = PeakBytes(requests);
    EXPECT_GE(plan.arena_bytes, peak);
    const double ratio =
        static_cast<double>(plan.arena_bytes) / std::max<int64_t>(peak, 1);
    worst = std::max(worst, ratio);
    sum += ratio;
  }
  EXPECT_LT(worst, 1.35);
  EXPECT_LT(sum / kRounds, 1.12);
}

TEST(PeakBytesTest, SumsWhatIsAliveAtOnce) {
  EXPECT_EQ(PeakBytes({}), 0);
  EXPECT_EQ(PeakBytes({{200, 0, 1}, {512, 1, 2}, {256, 3, 3}}), 768);
}

}  // namespace
}  // namespace aitune
