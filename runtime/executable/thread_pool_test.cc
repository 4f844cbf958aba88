#include "runtime/executable/thread_pool.h"

#include <ATen/Parallel.h>

#include <atomic>
#include <memory>
#include <mutex>
#include <set>
#include <thread>
#include <vector>

#include "gtest/gtest.h"

namespace aitune {
namespace {

// Restores LibTorch's number of threads.
class ThreadPoolTest : public ::testing::Test {
 protected:
  ThreadPoolTest() : before_(at::get_num_threads()) {}
  ~ThreadPoolTest() override { at::set_num_threads(before_); }

 private:
  int before_;
};

TEST_F(ThreadPoolTest, CoversEachUnitOnce) {
  for (int threads : {1, 2, 3, 7}) {
    at::set_num_threads(threads);
    for (int64_t grid : {0, 1, 2, 3, 5, 64, 1000, 1001}) {
      for (int64_t grain : {0, 1, 3, 500, 5000}) {
        // Not a vector of atomics: two threads on one unit are a race that
        // the thread sanitizer sees.
        std::vector<int> done(grid, 0);
        ParallelFor(grid, grain, [&](int64_t begin, int64_t end) {
          ASSERT_LT(begin, end);
          for (int64_t i = begin; i < end; ++i) ++done[i];
        });
        EXPECT_EQ(done, std::vector<int>(grid, 1))
            << grid << " units, grain " << grain << ", " << threads
            << " threads";
      }
    }
  }
}

TEST_F(ThreadPoolTest, NothingForNegativeGrids) {
  ParallelFor(-5, 1, [](int64_t, int64_t) { FAIL(); });
}

std::set<std::thread::id> ThreadsOf(int64_t grid, int64_t grain) {
  std::mutex mutex;
  std::set<std::thread::id> ids;
  ParallelFor(grid, grain, [&](int64_t, int64_t) {
    // Long enough for every thread to take a part.
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    std::lock_guard<std::mutex> lock(mutex);
    ids.insert(std::this_thread::get_id());
  });
  return ids;
}

TEST_F(ThreadPoolTest, UsesLibTorchsNumberOfThreads) {
  at::set_num_threads(3);
  EXPECT_EQ(ThreadCount(), 3);
  EXPECT_EQ(ThreadsOf(12, 1).size(), 3u);
  // A thread that LibTorch has not seen follows too.
  std::thread([] {
    EXPECT_EQ(ThreadCount(), 3);
    EXPECT_EQ(ThreadsOf(12, 1).size(), 3u);
  }).join();
  at::set_num_threads(1);
  EXPECT_EQ(ThreadsOf(12, 1).size(), 1u);
}

TEST_F(ThreadPoolTest, GivesNoThreadLessThanAGrain) {
  at::set_num_threads(4);
  EXPECT_EQ(ThreadsOf(19, 10).size(), 1u);
  EXPECT_LE(ThreadsOf(20, 10).size(), 2u);
}

TEST_F(ThreadPoolTest, NestedCallsRunInline) {
  at::set_num_threads(2);
  std::atomic<int> inner{0};
  ParallelFor(2, 1, [&](int64_t, int64_t) {
    EXPECT_EQ(ThreadCount(), 1);
    const std::thread::id self = std::this_thread::get_id();
    ParallelFor(100, 1, [&](int64_t begin, int64_t end) {
      EXPECT_EQ(std::this_thread::get_id(), self);
      EXPECT_EQ(end - begin, 100);
      ++inner;
    });
  });
  EXPECT_EQ(inner, 2);
}

TEST_F(ThreadPoolTest, OthersTakeOverTheWorkOfASlowThread) {
  at::set_num_threads(2);
  // The first unit lasts until all others but its own part are done: without
  // taking over, the first thread's share would wait for it.
  constexpr int kUnits = 64;
  std::atomic<int> done{0};
  std::atomic<int> by_other{0};
  ParallelFor(kUnits, 1, [&](int64_t begin, int64_t end) {
    if (begin == 0) {
      while (done < kUnits - end) std::this_thread::yield();
    } else {
      by_other += static_cast<int>(end - begin);
    }
    done += static_cast<int>(end - begin);
  });
  EXPECT_EQ(done, kUnits);
  EXPECT_GT(by_other, kUnits / 2);
}

TEST_F(ThreadPoolTest, ConcurrentCallersDoNotDisturbEachOther) {
  at::set_num_threads(2);
  std::vector<std::thread> callers;
  std::atomic<int> wrong{0};
  for (int caller = 0; caller < 4; ++caller) {
    callers.emplace_back([&] {
      for (int round = 0; round < 200; ++round) {
        std::vector<int> done(97, 0);
        ParallelFor(97, 1, [&](int64_t begin, int64_t end) {
          for (int64_t i = begin; i < end; ++i) ++done[i];
        });
        if (done != std::vector<int>(97, 1)) ++wrong;
      }
    });
  }
  for (std::thread& caller : callers) caller.join();
  EXPECT_EQ(wrong, 0);
}

TEST_F(ThreadPoolTest, ScopedThreadCountRestores) {
  at::set_num_threads(2);
  {
    const ScopedThreadCount scope(1);
    EXPECT_EQ(ThreadCount(), 1);
  }
  EXPECT_EQ(ThreadCount(), 2);
}

}  // namespace
}  // namespace aitune
