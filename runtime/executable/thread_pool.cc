#include "runtime/executable/thread_pool.h"

#include <ATen/Parallel.h>

#include <algorithm>
#include <atomic>

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

// The next part of one thread's share that nobody has taken, on a cache line
// of its own.
struct alignas(64) Share {
  std::atomic<int64_t> next;
};

struct Task {
  absl::FunctionRef<void(int64_t, int64_t)> f;
  int64_t grid;
  int threads;   // shares
  int64_t part;  // units of a part
  Share* shares;
  char fork, join;  // addresses for the sanitizer

  // The first unit of a share.
  int64_t Begin(int share) const {
    return grid / threads * share + std::min<int64_t>(share, grid % threads);
  }

  void Work(int share) const {
    const int64_t begin = Begin(share), units = Begin(share + 1) - begin;
    const int64_t parts = units / part + (units % part != 0);
    for (;;) {
      const int64_t i =
          shares[share].next.fetch_add(1, std::memory_order_relaxed);
      if (i >= parts) return;
      f(begin + i * part, begin + std::min((i + 1) * part, units));
    }
  }
};

void RunThread(void* data) {
  Task& task = *static_cast<Task*>(data);
  Acquire(&task.fork);
  // libgomp may give fewer threads than asked for; the others' shares are then
  // taken over like any other.
  const int thread = omp_get_thread_num();
  for (int i = 0; i < task.threads; ++i) {
    task.Work((thread + i) % task.threads);
  }
  Release(&task.join);
}

}  // namespace

int ThreadCount() {
  if (omp_in_parallel()) return 1;
  // Not omp_get_max_threads: on a thread that LibTorch has not seen yet this
  // first applies at::set_num_threads.
  return std::clamp(at::get_num_threads(), 1, kMaxThreads);
}

void ParallelFor(int64_t grid, int64_t grain,
                 absl::FunctionRef<void(int64_t, int64_t)> f) {
  if (grid <= 0) return;
  const int64_t most = grid / std::max<int64_t>(grain, 1);
  int threads = 1;
  if (most > 1) {
    threads = static_cast<int>(std::min<int64_t>(ThreadCount(), most));
  }
  if (threads == 1) {
    f(0, grid);
    return;
  }
  Share shares[kMaxThreads];
  for (int i = 0; i < threads; ++i) {
    shares[i].next.store(0, std::memory_order_relaxed);
  }
  const int64_t share = grid / threads + (grid % threads != 0);
  Task task{f, grid, threads, (share - 1) / kPartsAThread + 1, shares, 0, 0};
  Release(&task.fork);
  GOMP_parallel(RunThread, &task, static_cast<unsigned>(threads), 0);
  Acquire(&task.join);
}

ScopedThreadCount::ScopedThreadCount(int threads)
    : previous_(omp_get_max_threads()) {
  if (threads != previous_) omp_set_num_threads(threads);
}

ScopedThreadCount::~ScopedThreadCount() {
  if (omp_get_max_threads() != previous_) omp_set_num_threads(previous_);
}

}  // namespace aitune
