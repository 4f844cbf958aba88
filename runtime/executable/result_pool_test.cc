#include "runtime/executable/result_pool.h"

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <memory>
#include <thread>
#include <vector>

#include "gtest/gtest.h"

namespace aitune {
namespace {

constexpr int64_t kMiB = int64_t{1} << 20;

using Results = std::vector<std::shared_ptr<char>>;

Results Take(ResultPool& pool, const std::vector<int64_t>& bytes) {
  absl::StatusOr<Results> results = pool.Acquire(bytes);
  EXPECT_TRUE(results.ok()) << results.status();
  return results.ok() ? *std::move(results) : Results(bytes.size());
}

TEST(ResultPoolTest, MemoryComesBack) {
  ResultPool pool;
  Results first = Take(pool, {8 * kMiB, 2 * kMiB});
  const char *large = first[0].get(), *small = first[1].get();
  EXPECT_EQ(pool.MemoryInBytes(), 0);
  first.clear();
  EXPECT_EQ(pool.MemoryInBytes(), 10 * kMiB);
  const Results second = Take(pool, {2 * kMiB, 8 * kMiB});
  EXPECT_EQ(second[0].get(), small);
  EXPECT_EQ(second[1].get(), large);
  EXPECT_EQ(pool.MemoryInBytes(), 0);
}

TEST(ResultPoolTest, EachResultComesBackByItself) {
  ResultPool pool;
  Results results = Take(pool, {4 * kMiB, 4 * kMiB});
  const char* const first = results[0].get();
  std::shared_ptr<char> copy = results[0];
  results[0].reset();
  EXPECT_EQ(pool.MemoryInBytes(), 0) << "a copy still holds it";
  copy.reset();
  EXPECT_EQ(pool.MemoryInBytes(), 4 * kMiB);
  EXPECT_EQ(Take(pool, {4 * kMiB})[0].get(), first);
}

TEST(ResultPoolTest, ResultsThatLiveAtOnceDoNotShare) {
  ResultPool pool;
  std::vector<Results> alive;
  for (int call = 0; call < 4; ++call) {
    alive.push_back(Take(pool, {kMiB, kMiB}));
    for (const auto& result : alive.back())
      std::memset(result.get(), call, kMiB);
  }
  for (int call = 0; call < 4; ++call)
    for (const auto& result : alive[call])
      for (int64_t i = 0; i < kMiB; ++i) ASSERT_EQ(result.get()[i], call);
}

TEST(ResultPoolTest, ResultsOutliveThePool) {
  auto pool = std::make_unique<ResultPool>();
  const Results results = Take(*pool, {4 * kMiB, kMiB});
  pool.reset();
  std::memset(results[0].get(), 1, 4 * kMiB);
  std::memset(results[1].get(), 1, kMiB);
}

TEST(ResultPoolTest, KeepsWhatOneCallNeeds) {
  ResultPool pool;
  std::vector<Results> alive;
  for (int call = 0; call < 8; ++call) alive.push_back(Take(pool, {3 * kMiB}));
  alive.clear();
  EXPECT_EQ(pool.MemoryInBytes(), 3 * kMiB);
}

TEST(ResultPoolTest, LetsGoWhatCallsNoLongerNeed) {
  ResultPool pool;
  Take(pool, {64 * kMiB});
  EXPECT_EQ(pool.MemoryInBytes(), 64 * kMiB);
  for (int call = 0; call < 8; ++call) Take(pool, {0});
  EXPECT_EQ(pool.MemoryInBytes(), 64 * kMiB) << "sizes may alternate";
  for (int call = 0; call < 100; ++call) Take(pool, {2 * kMiB});
  EXPECT_EQ(pool.MemoryInBytes(), 2 * kMiB);
  for (int call = 0; call < 100; ++call) Take(pool, {0});
  EXPECT_EQ(pool.MemoryInBytes(), 0);
}

TEST(ResultPoolTest, AlternatingSizesShareABlock) {
  ResultPool pool;
  const char* const larger = Take(pool, {8 * kMiB})[0].get();
  EXPECT_EQ(Take(pool, {15 * kMiB / 2})[0].get(), larger);
  EXPECT_EQ(Take(pool, {8 * kMiB})[0].get(), larger);
}

TEST(ResultPoolTest, LeavesSmallResultsToTheCaller) {
  ResultPool pool;
  const Results results =
      Take(pool, {0, ResultPool::kLeastBytes - 1, ResultPool::kLeastBytes});
  EXPECT_EQ(results[0], nullptr);
  EXPECT_EQ(results[1], nullptr);
  EXPECT_NE(results[2], nullptr);
}

TEST(ResultPoolTest, MemoryThatThereIsNotIsAnError) {
  ResultPool pool;
  const auto results =
      pool.Acquire({2 * kMiB, std::numeric_limits<int64_t>::max()});
  EXPECT_EQ(results.status().code(), absl::StatusCode::kResourceExhausted);
  EXPECT_NE(Take(pool, {2 * kMiB})[0], nullptr);
}

TEST(ResultPoolTest, ThreadsTakeAndGiveBack) {
  ResultPool pool;
  std::atomic<int> wrong{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      Results held;
      for (int call = 0; call < 200; ++call) {
        Results results = Take(pool, {kMiB + 64 * t, kMiB});
        for (const auto& result : results) std::memset(result.get(), t, kMiB);
        std::this_thread::yield();
        for (const auto& result : results)
          for (int64_t i = 0; i < kMiB; i += 4096)
            if (result.get()[i] != t) ++wrong;
        if (call % 3 == 0) held = std::move(results);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
  EXPECT_LE(pool.MemoryInBytes(), 2 * kMiB + 64 * 3);
}

// Of all sizes: the system's allocator keeps none of a program's.
TEST(ResultPoolTest, ResultsAreTheAllocators) {
  int live = 0;
  bool refuses = false;
  auto allocator = std::make_shared<HostAllocator>();
  allocator->allocate = [&](int64_t bytes, int64_t alignment) -> void* {
    if (refuses) return nullptr;
    ++live;
    return std::aligned_alloc(static_cast<size_t>(alignment),
                              static_cast<size_t>(bytes));
  };
  allocator->release = [&](void* memory, int64_t, int64_t) {
    --live;
    std::free(memory);
  };
  Results outlives;
  {
    ResultPool pool;
    Results before = Take(pool, {2 * kMiB}), kept = Take(pool, {2 * kMiB});
    kept.clear();
    EXPECT_EQ(pool.MemoryInBytes(), 2 * kMiB);
    pool.SetAllocator(allocator);
    EXPECT_EQ(pool.MemoryInBytes(), 0);
    Results results = Take(pool, {8, 0, 3 * kMiB});
    EXPECT_EQ(live, 2);
    EXPECT_NE(results[0], nullptr);
    EXPECT_EQ(results[1], nullptr);
    // Those of the system are not kept.
    before.clear();
    EXPECT_EQ(pool.MemoryInBytes(), 0);
    results.clear();
    EXPECT_EQ(pool.MemoryInBytes(), 8 + 3 * kMiB);
    outlives = Take(pool, {8, 3 * kMiB});
    EXPECT_EQ(live, 2) << "what was kept serves";
    refuses = true;
    EXPECT_EQ(pool.Acquire({64, 4 * kMiB}).status().code(),
              absl::StatusCode::kResourceExhausted);
    refuses = false;
  }
  EXPECT_EQ(live, 2);
  outlives.clear();
  EXPECT_EQ(live, 0);
}

}  // namespace
}  // namespace aitune
