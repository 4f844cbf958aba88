#include "runtime/executable/thread_pool.h"

#include <ATen/Parallel.h>

#include <algorithm>
#include <atomic>
#include <chrono>

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

constexpr int kMaxThreads = 256;
// Parts that a thread's share is cut into, so that others can take some over.
constexpr int64_t kPartsAThread = 4;
// About what it costs to wake a thread: spinning longer can't pay.
constexpr std::chrono::microseconds kSpin(50);

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

// Returns when `value` is no longer `old`.
void WaitWhile(const std::atomic<uint32_t>& value, uint32_t old) {
  const auto start = std::chrono::steady_clock::now();
  do {
    for (int i = 0; i < 64; ++i) {
      if (value.load(std::memory_order_acquire) != old) return;
      Pause();
    }
  } while (std::chrono::steady_clock::now() - start < kSpin);
  value.wait(old, std::memory_order_acquire);
}

// What the threads of a region share: one task after another, published by the
// thread that began the region.
//
// A task's number is part of all that its parts are claimed by. A thread that
// comes late, while a later task is being written, may read a mixture of the
// two, but then its claim fails; while a claim of task n succeeds, n is
// unfinished and nothing is overwritten.
class Team {
 public:
  explicit Team(int threads) : threads_(threads) {
    for (int i = 0; i < threads; ++i) claims_[i].next = 0;
  }

  // The team of the region that the calling thread began, if any.
  static Team*& Current() {
    thread_local Team* current = nullptr;
    return current;
  }

  // Threads that the one that began the region may use: itself while a task is
  // shared, so that nested calls run inline.
  int threads() const { return sharing_ ? 1 : threads_; }

  // ParallelFor, from the thread that began the region.
  void Share(int64_t grid, int threads,
             absl::FunctionRef<void(int64_t, int64_t)> f) {
    sharing_ = true;
    const int64_t share = grid / threads + (grid % threads != 0);
    const int64_t part = (share - 1) / kPartsAThread + 1;
    const Task task{&f, grid, part, threads};
    task_.Store(task);
    ++number_;
    uint32_t parts = 0;
    for (int i = 0; i < threads; ++i) parts += task.Parts(i);
    unfinished_.store(parts, std::memory_order_relaxed);
    for (int i = 0; i < threads; ++i) {
      std::atomic_ref(claims_[i].next)
          .store(uint64_t{number_} << 32, std::memory_order_release);
    }
    Publish(number_);
    Work(0, number_, task);
    while (const uint32_t left = unfinished_.load(std::memory_order_acquire)) {
      WaitWhile(unfinished_, left);
    }
    sharing_ = false;
  }

  // Works for Share until End; on each other thread, of which libgomp may give
  // fewer than asked for. `thread` is from 1 on.
  void Serve(int thread) {
    for (uint32_t seen = 0;;) {
      WaitWhile(current_, seen);
      seen = current_.load(std::memory_order_acquire);
      if (seen == kEnd) break;
      Work(thread, seen, task_.Load());
    }
    left_.fetch_add(1, std::memory_order_acq_rel);
    left_.notify_all();
  }

  // Returns when the others have left Serve: libgomp's barrier, which comes
  // next, is then short.
  void End() {
    const uint32_t others = omp_get_num_threads() - 1;
    Publish(kEnd);
    uint32_t left;
    while ((left = left_.load(std::memory_order_acquire)) != others) {
      WaitWhile(left_, left);
    }
  }

 private:
  static constexpr uint32_t kEnd = UINT32_MAX;

  struct Task {
    const absl::FunctionRef<void(int64_t, int64_t)>* f;
    int64_t grid;
    int64_t part;  // units of a part
    int shares;

    // The first unit of a share.
    int64_t Begin(int share) const {
      return grid / shares * share + std::min<int64_t>(share, grid % shares);
    }
    uint32_t Parts(int share) const {
      const int64_t units = Begin(share + 1) - Begin(share);
      return static_cast<uint32_t>((units + part - 1) / part);
    }
  };

  // A task that may be read while it is written.
  struct SharedTask {
    std::atomic<const absl::FunctionRef<void(int64_t, int64_t)>*> f;
    std::atomic<int64_t> grid, part;
    std::atomic<int> shares;

    void Store(const Task& task) {
      f.store(task.f, std::memory_order_relaxed);
      grid.store(task.grid, std::memory_order_relaxed);
      part.store(task.part, std::memory_order_relaxed);
      shares.store(task.shares, std::memory_order_relaxed);
    }
    Task Load() const {
      return {f.load(std::memory_order_relaxed),
              grid.load(std::memory_order_relaxed),
              part.load(std::memory_order_relaxed),
              shares.load(std::memory_order_relaxed)};
    }
  };

  // The task's number, and in the lower half the next part of one share that
  // nobody has taken; on a cache line of its own. Accessed atomically, but not
  // an atomic: those of threads that the team lacks stay uninitialized.
  struct alignas(64) Claims {
    uint64_t next;
  };

  void Publish(uint32_t number) {
    current_.store(number, std::memory_order_release);
    current_.notify_all();
  }

  void Work(int thread, uint32_t number, const Task& task) {
    if (thread >= task.shares) return;
    for (int i = 0; i < task.shares; ++i) {
      const int share = (thread + i) % task.shares;
      const std::atomic_ref<uint64_t> next(claims_[share].next);
      uint64_t claim = next.load(std::memory_order_acquire);
      while (claim >> 32 == number) {
        const uint32_t part = static_cast<uint32_t>(claim);
        if (part >= task.Parts(share)) break;
        if (!next.compare_exchange_weak(claim, claim + 1,
                                        std::memory_order_acq_rel,
                                        std::memory_order_acquire)) {
          continue;
        }
        const int64_t begin = task.Begin(share);
        const int64_t units = task.Begin(share + 1) - begin;
        (*task.f)(begin + part * task.part,
                  begin + std::min((part + 1) * task.part, units));
        if (unfinished_.fetch_sub(1, std::memory_order_acq_rel) == 1) {
          unfinished_.notify_all();
        }
        claim = next.load(std::memory_order_acquire);
      }
    }
  }

  const int threads_;
  // Of the thread that began the region.
  bool sharing_ = false;
  uint32_t number_ = 0;  // of the last task
  SharedTask task_;
  alignas(64) std::atomic<uint32_t> current_{0};  // its number, or kEnd
  alignas(64) std::atomic<uint32_t> unfinished_{0};
  std::atomic<uint32_t> left_{0};  // threads that do not serve any more
  Claims claims_[kMaxThreads];
};

struct Region {
  absl::FunctionRef<void()> f;
  Team team;
  char fork = 0, join = 0;  // addresses for the sanitizer

  static void RunThread(void* data) {
    Region& region = *static_cast<Region*>(data);
    Acquire(&region.fork);
    const int thread = omp_get_thread_num();
    if (thread == 0) {
      Team::Current() = &region.team;
      region.f();
      Team::Current() = nullptr;
      region.team.End();
    } else {
      region.team.Serve(thread);
    }
    Release(&region.join);
  }
};

void Run(int threads, absl::FunctionRef<void()> f) {
  Region region{f, Team(threads)};
  Release(&region.fork);
  GOMP_parallel(Region::RunThread, &region, static_cast<unsigned>(threads), 0);
  Acquire(&region.join);
}

}  // namespace

int ThreadCount() {
  // Where libgomp gives a region one thread, OpenMP does not call it parallel.
  if (Team::Current() != nullptr || omp_in_parallel()) return 1;
  // Not omp_get_max_threads: on a thread that LibTorch has not seen yet this
  // first applies at::set_num_threads.
  return std::clamp(at::get_num_threads(), 1, kMaxThreads);
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
  Team* const team = Team::Current();
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
    Run(threads, [&] { Team::Current()->Share(grid, threads, f); });
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
