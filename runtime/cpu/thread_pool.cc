#include "runtime/cpu/thread_pool.h"

#include <algorithm>
#include <atomic>
#include <chrono>

#include "runtime/cpu/crowding.h"
#include "runtime/cpu/work_sharing.h"

#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
#include <sanitizer/tsan_interface.h>
#define AITUNE_TSAN 1
#endif
#endif

// libgomp's stable ABI. Clang's -fopenmp would call its own runtime instead.
extern "C" {
void GOMP_parallel(void (*function)(void*), void* data, unsigned threads,
                   unsigned flags);
int omp_get_max_threads(void);
int omp_get_num_threads(void);
int omp_get_thread_num(void);
int omp_in_parallel(void);
void omp_set_num_threads(int threads);
}

namespace aitune {
namespace {

// The time for which a thread spins before it sleeps: about the time of waking
// a thread, so that spinning longer would not save time.
constexpr std::chrono::microseconds kSpin(50);

std::atomic<ThreadCountSource> thread_count_source = omp_get_max_threads;

// Tells the thread sanitizer about the barriers of libgomp, which is not
// instrumented.
void Release([[maybe_unused]] void* address) {
#ifdef AITUNE_TSAN
  __tsan_release(address);
#endif
}
void Acquire([[maybe_unused]] void* address) {
#ifdef AITUNE_TSAN
  __tsan_acquire(address);
#endif
}

void Pause() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#endif
}

struct StandardAtomics {
  template <typename T>
  using Atomic = std::atomic<T>;
  template <typename T>
  using Variable = T;

  static void WaitWhile(const std::atomic<uint32_t>& value, uint32_t old) {
    const auto start = std::chrono::steady_clock::now();
    do {
      for (int i = 0; i < 64; ++i) {
        if (value.load(std::memory_order_acquire) != old) return;
        Pause();
      }
    } while (std::chrono::steady_clock::now() - start < kSpin);
    value.wait(old, std::memory_order_acquire);
    Slept() += std::chrono::steady_clock::now() - start;
  }
  // How long the calling thread has slept, in all.
  static std::chrono::steady_clock::duration& Slept() {
    thread_local std::chrono::steady_clock::duration slept{0};
    return slept;
  }
  static void NotifyAll(std::atomic<uint32_t>& value) { value.notify_all(); }
};

using Team = WorkSharing<StandardAtomics>;

// The team of the region that the calling thread began, if any.
Team*& CurrentTeam() {
  thread_local Team* current = nullptr;
  return current;
}

struct Region {
  absl::FunctionRef<void()> f;
  Team team;
  Crowding::Duration working{0};  // time of the first thread
  char fork = 0, join = 0;        // addresses for the sanitizer

  static void RunThread(void* data) {
    Region& region = *static_cast<Region*>(data);
    Acquire(&region.fork);
    const int thread = omp_get_thread_num();
    if (thread == 0) {
      CurrentTeam() = &region.team;
      const auto start = std::chrono::steady_clock::now();
      const auto slept = StandardAtomics::Slept();
      region.f();
      region.working = (std::chrono::steady_clock::now() - start) -
                       (StandardAtomics::Slept() - slept);
      CurrentTeam() = nullptr;
      // libgomp's barrier, which comes next, is then short.
      region.team.End(omp_get_num_threads() - 1);
    } else {
      region.team.Serve(thread);
    }
    Release(&region.join);
  }
};

void Run(int threads, absl::FunctionRef<void()> f) {
  thread_local Crowding crowding;
  threads = crowding.Threads(threads);
  Region region{f, Team(threads)};
  if (threads == 1) {
    // Steps run inline, as within a task.
    CurrentTeam() = &region.team;
    f();
    CurrentTeam() = nullptr;
    return;
  }
  const auto start = std::chrono::steady_clock::now();
  Release(&region.fork);
  GOMP_parallel(Region::RunThread, &region, static_cast<unsigned>(threads), 0);
  Acquire(&region.join);
  const auto elapsed = std::chrono::steady_clock::now() - start;
  crowding.Add(elapsed, elapsed - region.working);
}

}  // namespace

int ThreadCount() {
  // Where libgomp gives a region one thread, OpenMP does not call it parallel.
  if (CurrentTeam() != nullptr || omp_in_parallel()) return 1;
  return std::clamp(thread_count_source.load(std::memory_order_relaxed)(), 1,
                    Team::kMaxThreads);
}

void SetThreadCountSource(ThreadCountSource source) {
  thread_count_source = source;
}

void ParallelRegion(absl::FunctionRef<void()> f) {
  const int threads = ThreadCount();
  if (threads == 1) {
    f();
  } else {
    Run(threads, f);
  }
}

void ParallelFor(int64_t grid, int64_t grain,
                 absl::FunctionRef<void(int64_t, int64_t)> f) {
  if (grid <= 0) return;
  const int64_t most = grid / std::max<int64_t>(grain, 1);
  Team* const team = CurrentTeam();
  int threads = 1;
  if (most > 1) {
    threads = static_cast<int>(std::min<int64_t>(
        team != nullptr ? team->threads() : ThreadCount(), most));
  }
  if (threads == 1) {
    f(0, grid);
  } else if (team != nullptr) {
    team->Share(grid, threads, f);
  } else {
    Run(threads, [&] { ParallelFor(grid, grain, f); });
  }
}

ScopedThreadCount::ScopedThreadCount(int threads)
    : previous_(omp_get_max_threads()) {
  if (threads != previous_) omp_set_num_threads(threads);
}

ScopedThreadCount::~ScopedThreadCount() {
  if (omp_get_max_threads() != previous_) omp_set_num_threads(previous_);
}

}  // namespace aitune
