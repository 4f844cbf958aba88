#include "runtime/cpu/thread_pool.h"

#include <linux/futex.h>
#include <pthread.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <climits>
#include <memory>
#include <system_error>
#include <thread>
#include <type_traits>
#include <utility>

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

// About the time of waking a thread. A thread spins for so long before it
// sleeps: spinning longer would not save time. On crowded cores none is woken
// for less work.
constexpr std::chrono::microseconds kWaking(50);

std::atomic<ThreadCountSource> thread_count_source = omp_get_max_threads;

// In a child of fork, the thread that called it has libgomp's record of workers
// that the child lacks: a parallel region would wait for them for ever. Other
// threads of the child begin without workers.
thread_local bool lacks_its_workers = false;

// Whether the process that is about to fork has further threads, among which
// may be workers.
thread_local bool forks_with_threads = false;

void BeforeFork() {
  constexpr nlink_t kLinksOfOneThread = 3;  // the folder has two of its own
  struct stat tasks;
  forks_with_threads = stat("/proc/self/task", &tasks) != 0 ||
                       tasks.st_nlink > kLinksOfOneThread;
}

void InTheChild() {
  if (!forks_with_threads) return;
  lacks_its_workers = true;
  omp_set_num_threads(1);
}

[[maybe_unused]] const int handles_forks =
    pthread_atfork(BeforeFork, nullptr, InTheChild);

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

// A word that threads may wait for. Not std::atomic's wait: that may first give
// the core away several times, and beside a busy process each time is a time
// slice.
struct Waitable : std::atomic<uint32_t> {
  using std::atomic<uint32_t>::atomic;
  mutable std::atomic<uint32_t> sleepers{0};  // threads that are about to sleep
};

long Futex(const Waitable& word, int operation, uint32_t operand) {
  return syscall(SYS_futex, static_cast<const std::atomic<uint32_t>*>(&word),
                 operation, operand, nullptr, nullptr, 0);
}

struct StandardAtomics {
  template <typename T>
  using Atomic =
      std::conditional_t<std::is_same_v<T, uint32_t>, Waitable, std::atomic<T>>;
  template <typename T>
  using Variable = T;

  static void WaitWhile(const Waitable& value, uint32_t old) {
    const auto start = std::chrono::steady_clock::now();
    do {
      for (int i = 0; i < 64; ++i) {
        if (value.load(std::memory_order_acquire) != old) return;
        Pause();
      }
    } while (std::chrono::steady_clock::now() - start < kWaking);
    while (value.load(std::memory_order_acquire) == old) {
      value.sleepers.fetch_add(1, std::memory_order_seq_cst);
      Futex(value, FUTEX_WAIT_PRIVATE, old);
      value.sleepers.fetch_sub(1, std::memory_order_relaxed);
    }
  }
  static bool SomeoneWaits(const Waitable& value) {
    return value.sleepers.load(std::memory_order_seq_cst) != 0;
  }
  static void NotifyAll(Waitable& value) {
    if (SomeoneWaits(value)) Futex(value, FUTEX_WAKE_PRIVATE, INT_MAX);
  }
};

using Team = WorkSharing<StandardAtomics>;

// What the calling thread is in.
struct Current {
  Team* team = nullptr;     // the team of the region that it began, if any
  int threads = 1;          // the most for a task of that region
  bool waited_for = false;  // whether that region waits for its threads
  bool helps = false;       // whether the thread is a helper
};
Current& ThisThread() {
  thread_local Current current;
  return current;
}

Crowding& ThisThreadsCrowding() {
  thread_local Crowding crowding;
  return crowding;
}

// Calls f with the members of `team` as the threads of its tasks.
void RunWith(Team& team, int threads, bool waited_for,
             absl::FunctionRef<void()> f) {
  ThisThread() = {&team, threads, waited_for};
  f();
  ThisThread() = {};
}

// The time for which the calling thread has had a core.
Crowding::Duration ThreadCpuTime() {
  timespec time;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return std::chrono::seconds(time.tv_sec) +
         std::chrono::nanoseconds(time.tv_nsec);
}

// A parallel region of libgomp.
struct Region {
  absl::FunctionRef<void()> f;
  Team team;
  Crowding::Duration working{0};  // CPU time of the first thread
  char fork = 0, join = 0;        // addresses for the sanitizer

  static void RunThread(void* data) {
    Region& region = *static_cast<Region*>(data);
    Acquire(&region.fork);
    const int thread = omp_get_thread_num();
    if (thread == 0) {
      const Crowding::Duration start = ThreadCpuTime();
      RunWith(region.team, region.team.threads(), true, region.f);
      region.working = ThreadCpuTime() - start;
      // libgomp's barrier, which comes next, is then short.
      region.team.End(omp_get_num_threads() - 1);
    } else {
      region.team.Serve(thread);
    }
    Release(&region.join);
  }
};

// Threads of the calling thread's own, for crowded cores: no region waits until
// they have come. They end some time after the calling thread.
class Helpers {
 public:
  ~Helpers() {
    if (team_ != nullptr) team_->Dismiss();
  }

  // A team of the calling thread and helpers, at least `threads` in all where
  // the system gives so many.
  Team& TeamOf(int threads) {
    if (team_ != nullptr && team_->threads() >= threads) return *team_;
    if (team_ != nullptr) team_->Dismiss();
    team_ = std::make_shared<Team>(threads);
    try {
      for (int i = 1; i < threads; ++i) {
        std::thread([team = team_, i] {
          ThisThread().helps = true;
          team->Serve(i);
        }).detach();
      }
    } catch (const std::system_error&) {
      // The calling thread does the work of those that are missing.
    }
    return *team_;
  }

 private:
  std::shared_ptr<Team> team_;
};

void Run(int threads, absl::FunctionRef<void()> f) {
  const auto start = std::chrono::steady_clock::now();
  if (ThisThreadsCrowding().IsCrowded(start)) {
    thread_local Helpers helpers;
    RunWith(helpers.TeamOf(threads), threads, false, f);
    return;
  }
  Region region{f, Team(threads)};
  Release(&region.fork);
  GOMP_parallel(Region::RunThread, &region, static_cast<unsigned>(threads), 0);
  Acquire(&region.join);
  const auto end = std::chrono::steady_clock::now();
  ThisThreadsCrowding().Add(end, end - start, end - start - region.working);
}

// Shares the work of a step with the helpers of `current` if they are awake, or
// if it takes longer than waking them, which the first of its parts tells.
void ShareIfLong(Current& current, int64_t grid, int threads,
                 absl::FunctionRef<void(int64_t, int64_t)> f) {
  if (!current.team->SomeoneSleeps()) {
    current.team->Share(grid, threads, f);
    return;
  }
  const int64_t part =
      std::max<int64_t>(grid / (threads * Team::kPartsAThread), 1);
  const int64_t rest = grid - part;
  auto alone = [&](int64_t begin, int64_t end) {
    const int most =
        std::exchange(current.threads, 1);  // nested calls have one
    f(begin, end);
    current.threads = most;
  };
  const auto start = std::chrono::steady_clock::now();
  alone(0, part);
  const auto elapsed = std::chrono::steady_clock::now() - start;
  if (elapsed * (static_cast<double>(rest) / static_cast<double>(part)) <
      kWaking) {
    if (rest > 0) alone(part, grid);
    return;
  }
  current.team->Share(
      rest, static_cast<int>(std::min<int64_t>(threads, rest)),
      [&](int64_t begin, int64_t end) { f(part + begin, part + end); });
}

}  // namespace

int ThreadCount() {
  // Where libgomp gives a region one thread, OpenMP does not call it parallel.
  const Current& current = ThisThread();
  if (current.team != nullptr || current.helps || omp_in_parallel()) return 1;
  if (lacks_its_workers) return 1;
  return std::clamp(thread_count_source.load(std::memory_order_relaxed)(), 1,
                    Team::kMaxThreads);
}

int AllowedThreads(int threads) { return lacks_its_workers ? 1 : threads; }

int LibraryThreadCount() {
  const int threads = ThreadCount();
  if (threads > 1 &&
      ThisThreadsCrowding().IsCrowded(std::chrono::steady_clock::now())) {
    return threads / 2;
  }
  return threads;
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
  Current& current = ThisThread();
  int threads = 1;
  if (most > 1) {
    threads = static_cast<int>(std::min<int64_t>(
        current.team != nullptr
            ? std::min(current.threads, current.team->threads())
            : ThreadCount(),
        most));
  }
  if (threads == 1) {
    f(0, grid);
  } else if (current.team == nullptr) {
    Run(threads, [&] { ParallelFor(grid, grain, f); });
  } else if (current.waited_for) {
    current.team->Share(grid, threads, f);
  } else {
    ShareIfLong(current, grid, threads, f);
  }
}

ScopedThreadCount::ScopedThreadCount(int threads) {
  // The first time on a thread, LibTorch sets OpenMP's number to its own.
  thread_count_source.load(std::memory_order_relaxed)();
  previous_ = omp_get_max_threads();
  threads = AllowedThreads(threads);
  if (threads != previous_) omp_set_num_threads(threads);
}

ScopedThreadCount::~ScopedThreadCount() {
  if (omp_get_max_threads() != previous_) omp_set_num_threads(previous_);
}

}  // namespace aitune
