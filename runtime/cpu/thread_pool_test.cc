#include "runtime/cpu/thread_pool.h"

#include <ATen/Parallel.h>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <cstdlib>
#include <functional>
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
  ThreadPoolTest() : before_(at::get_num_threads()) {
    SetThreadCountSource(at::get_num_threads);
  }
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

// Calls f on a thread whose regions have not been kept from their cores yet, so
// that they get all threads.
void OnANewThread(const std::function<void()>& f) { std::thread(f).join(); }

// The threads that take part in a ParallelFor. Each unit lasts until `expected`
// of them have come, or for ten seconds.
size_t ThreadsOf(int64_t grid, int64_t grain, size_t expected) {
  std::mutex mutex;
  std::condition_variable came;
  std::set<std::thread::id> ids;
  ParallelFor(grid, grain, [&](int64_t, int64_t) {
    std::unique_lock<std::mutex> lock(mutex);
    ids.insert(std::this_thread::get_id());
    came.notify_all();
    came.wait_for(lock, std::chrono::seconds(10),
                  [&] { return ids.size() >= expected; });
  });
  return ids.size();
}

TEST_F(ThreadPoolTest, UsesLibTorchsNumberOfThreads) {
  at::set_num_threads(3);
  EXPECT_EQ(ThreadCount(), 3);
  // A thread that LibTorch has not seen follows too.
  OnANewThread([] {
    EXPECT_EQ(ThreadCount(), 3);
    EXPECT_EQ(ThreadsOf(12, 1, 3), 3u);
  });
  at::set_num_threads(1);
  EXPECT_EQ(ThreadsOf(12, 1, 1), 1u);
}

TEST_F(ThreadPoolTest, GivesNoThreadLessThanAGrain) {
  at::set_num_threads(4);
  OnANewThread([] { EXPECT_EQ(ThreadsOf(19, 10, 1), 1u); });
  OnANewThread([] { EXPECT_EQ(ThreadsOf(20, 10, 2), 2u); });
}

TEST_F(ThreadPoolTest, NestedCallsRunInline) {
  at::set_num_threads(2);
  std::atomic<int> inner{0};
  OnANewThread([&] {
    ParallelFor(2, 1, [&](int64_t, int64_t) {
      EXPECT_EQ(ThreadCount(), 1);
      const std::thread::id self = std::this_thread::get_id();
      ParallelFor(100, 1, [&](int64_t begin, int64_t end) {
        EXPECT_EQ(std::this_thread::get_id(), self);
        EXPECT_EQ(end - begin, 100);
        ++inner;
      });
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
  OnANewThread([&] {
    ParallelFor(kUnits, 1, [&](int64_t begin, int64_t end) {
      if (begin == 0) {
        while (done < kUnits - end) std::this_thread::yield();
      } else {
        by_other += static_cast<int>(end - begin);
      }
      done += static_cast<int>(end - begin);
    });
  });
  EXPECT_EQ(done, kUnits);
  EXPECT_GT(by_other, kUnits / 2);
}

TEST_F(ThreadPoolTest, RegionsCoverEachUnitOfEachTaskOnce) {
  for (int threads : {1, 2, 3, 7}) {
    at::set_num_threads(threads);
    std::vector<int> done(1001, 0);
    int tasks = 0;
    ParallelRegion([&] {
      for (int round = 0; round < 300; ++round) {
        for (int64_t grid : {1, 2, 5, 1001}) {
          // What a task leaves out, does twice or does while the next one is
          // shared shows in the counts, or to the thread sanitizer.
          ParallelFor(grid, 1, [&](int64_t begin, int64_t end) {
            for (int64_t i = begin; i < end; ++i) done[1001 - grid + i] += 1;
          });
          ++tasks;
        }
      }
    });
    EXPECT_EQ(tasks, 1200);
    EXPECT_EQ(done[0], 300);
    EXPECT_EQ(done[999], 900);
    EXPECT_EQ(done[1000], 1200);
  }
}

// Steps of one part a thread and of many in turn, with more threads than cores:
// AITUNE_STRESS_STEPS of them, by default what takes well under a second.
TEST_F(ThreadPoolTest, ShortAndLongStepsAlternate) {
  const char* const wanted = std::getenv("AITUNE_STRESS_STEPS");
  const int64_t steps = wanted != nullptr ? std::atoll(wanted) : 20000;
  constexpr int64_t kUnits = 64;
  for (int threads : {2, 4}) {
    at::set_num_threads(threads);
    std::vector<int> done(kUnits);
    int64_t wrong = 0;
    int64_t step = 0;
    auto region = [&] {
      for (int i = 0; i < 1000 && step < steps / 2; ++i, ++step) {
        const int64_t grid = step % 2 == 0 ? threads : kUnits;
        std::fill(done.begin(), done.end(), 0);
        ParallelFor(grid, 1, [&](int64_t begin, int64_t end) {
          for (int64_t unit = begin; unit < end; ++unit) ++done[unit];
        });
        wrong += std::count(done.begin(), done.begin() + grid, 1) != grid;
      }
    };
    while (step < steps / 2) OnANewThread([&] { ParallelRegion(region); });
    EXPECT_EQ(wrong, 0) << "of " << steps / 2 << " steps";
  }
}

TEST_F(ThreadPoolTest, RegionsKeepSleepingThreadsAndNestedCallsApart) {
  at::set_num_threads(3);
  std::atomic<int> units{0}, nested{0};
  auto region = [&] {
    for (int round = 0; round < 3; ++round) {
      // Longer than threads spin.
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
      ParallelFor(12, 1, [&](int64_t begin, int64_t end) {
        std::this_thread::sleep_for(std::chrono::milliseconds(2));
        units += static_cast<int>(end - begin);
        ParallelFor(5, 1, [&](int64_t b, int64_t e) {
          nested += static_cast<int>(e - b);
        });
      });
    }
    ParallelRegion([&] {
      ParallelFor(7, 1, [&](int64_t begin, int64_t end) {
        units += static_cast<int>(end - begin);
      });
    });
  };
  OnANewThread([&] { ParallelRegion(region); });
  EXPECT_EQ(units, 43);
  EXPECT_EQ(nested, 5 * 36);
}

TEST_F(ThreadPoolTest, RegionsShareWorkAmongAllThreads) {
  at::set_num_threads(3);
  size_t threads = 0;
  OnANewThread([&] { ParallelRegion([&] { threads = ThreadsOf(12, 1, 3); }); });
  EXPECT_EQ(threads, 3u);
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

// A region that waits for threads which have no core, as they do that sleep.
void FindTheCoresCrowded() {
  ParallelFor(2, 1, [](int64_t, int64_t) {
    std::this_thread::sleep_for(std::chrono::milliseconds(3));
  });
}

TEST_F(ThreadPoolTest, CoversEachUnitOnceOnCrowdedCores) {
  for (int threads : {2, 3, 7}) {
    at::set_num_threads(threads);
    std::vector<int> done(1001, 0);
    OnANewThread([&] {
      FindTheCoresCrowded();
      for (int round = 0; round < 3; ++round) {
        ParallelRegion([&] {
          for (int64_t grid : {1, 2, 5, 1001}) {
            for (bool is_long : {false, true}) {
              ParallelFor(grid, 1, [&](int64_t begin, int64_t end) {
                if (is_long)
                  std::this_thread::sleep_for(std::chrono::microseconds(200));
                for (int64_t i = begin; i < end; ++i)
                  done[1001 - grid + i] += 1;
              });
            }
          }
        });
      }
    });
    EXPECT_EQ(done[0], 6);
    EXPECT_EQ(done[995], 6);
    EXPECT_EQ(done[996], 12);
    EXPECT_EQ(done[999], 18);
    EXPECT_EQ(done[1000], 24);
  }
}

TEST_F(ThreadPoolTest, LongStepsGetHelpersOnCrowdedCores) {
  at::set_num_threads(3);
  OnANewThread([&] {
    FindTheCoresCrowded();
    std::mutex mutex;
    std::set<std::thread::id> ids;
    std::atomic<int> nested{0};
    ParallelFor(60, 1, [&](int64_t begin, int64_t end) {
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
      EXPECT_EQ(ThreadCount(), 1);
      const std::thread::id self = std::this_thread::get_id();
      ParallelFor(end - begin, 1, [&](int64_t from, int64_t to) {
        EXPECT_EQ(std::this_thread::get_id(), self);
        nested += static_cast<int>(to - from);
      });
      const std::lock_guard<std::mutex> lock(mutex);
      ids.insert(self);
    });
    EXPECT_EQ(ids.size(), 3u);
    EXPECT_EQ(nested, 60);
  });
}

TEST_F(ThreadPoolTest, ShortStepsWakeNobodyOnCrowdedCores) {
  at::set_num_threads(2);
  int by_others = 0;
  OnANewThread([&] {
    FindTheCoresCrowded();
    const std::thread::id self = std::this_thread::get_id();
    ParallelRegion([&] {
      // Longer than threads need to start and spin.
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
      for (int step = 0; step < 1000; ++step) {
        std::atomic<bool> other{false};
        ParallelFor(16, 1, [&](int64_t, int64_t) {
          if (std::this_thread::get_id() != self) other = true;
        });
        by_others += other;
      }
    });
  });
  // A step looks long if the thread loses its core in the middle of it.
  EXPECT_LT(by_others, 100);
}

TEST_F(ThreadPoolTest, LibrariesGetHalfOfTheThreadsOnCrowdedCores) {
  at::set_num_threads(4);
  OnANewThread([&] {
    EXPECT_EQ(LibraryThreadCount(), 4);
    FindTheCoresCrowded();
    EXPECT_EQ(LibraryThreadCount(), 2);
    EXPECT_EQ(ThreadCount(), 4);
  });
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
