// How the threads of one parallel region share the work of its steps: the
// algorithm behind thread_pool.h, apart from where the threads come from and
// from how atomics are implemented, so that work_sharing_test.cc can run it in
// every order that its atomic steps may take.
//
// One thread, the first, shares one task after another; the others serve. Each
// task is cut into shares, one for each thread, and each share into parts. A
// free thread takes the next part of its own share, then parts of other shares:
// a thread that loses its core delays the part that it has taken and nothing
// else, and one that never comes delays nothing.
#ifndef AITUNE_RUNTIME_CPU_WORK_SHARING_H_
#define AITUNE_RUNTIME_CPU_WORK_SHARING_H_

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <new>

#include "absl/functional/function_ref.h"

namespace aitune {

// `Atomics` gives
//   Atomic<T>     an atomic with the members load, store, fetch_add, fetch_sub
//                 and compare_exchange_weak of std::atomic;
//   Variable<T>   memory that is not atomic: T;
//   WaitWhile(const Atomic<uint32_t>& value, uint32_t old)
//                 returns when `value` is no longer `old`; may sleep;
//   SomeoneWaits(const Atomic<uint32_t>& value)
//                 whether a thread sleeps for `value`; for SomeoneSleeps alone;
//   NotifyAll(Atomic<uint32_t>& value)
//                 wakes who sleeps for `value`, which was changed by a
//                 read-modify-write or a sequentially consistent store: a
//                 weaker store may become visible after NotifyAll has found
//                 nobody asleep.
template <typename Atomics>
class WorkSharing {
 public:
  using Function = absl::FunctionRef<void(int64_t begin, int64_t end)>;

  static constexpr int kMaxThreads = 256;
  // Parts that a thread's share is cut into, so that others can take some over.
  static constexpr int64_t kPartsAThread = 4;

  // For up to `threads` threads, at most kMaxThreads.
  explicit WorkSharing(int threads) : threads_(threads) {
    for (int i = 0; i < threads; ++i) new (&claims_[i]) Claims;
  }
  WorkSharing(const WorkSharing&) = delete;
  WorkSharing& operator=(const WorkSharing&) = delete;

  // The number of threads that may share a task now: 1 while a task is being
  // shared, so that calls from within it run inline. For the first thread.
  int threads() const { return sharing_ ? 1 : threads_; }

  // Whether a thread that serves sleeps, so that Share would have to wake it.
  // For the first thread.
  bool SomeoneSleeps() const { return Atomics::SomeoneWaits(current_); }

  // Calls f with disjoint ranges that cover [0, grid) from up to `threads`
  // threads, at most threads() and at most `grid`, and returns when all calls
  // have. For the first thread.
  void Share(int64_t grid, int threads, Function f) {
    sharing_ = true;
    if (++number_ == kEnd) number_ = 1;
    const int64_t largest_share = grid / threads + (grid % threads != 0);
    const Task task{&f, grid, (largest_share - 1) / kPartsAThread + 1, threads};
    task_ = task;
    shares_.store(threads, std::memory_order_relaxed);
    uint32_t parts = 0;
    for (int i = 0; i < threads; ++i) parts += task.Parts(i);
    unfinished_.store(parts, std::memory_order_relaxed);
    for (int i = 0; i < threads; ++i) {
      claims_[i].parts_left.store(uint64_t{number_} << 32 | task.Parts(i),
                                  std::memory_order_release);
    }
    Publish(number_);
    Work(0, number_);
    while (const uint32_t left = unfinished_.load(std::memory_order_acquire)) {
      Atomics::WaitWhile(unfinished_, left);
    }
    sharing_ = false;
  }

  // Works on the tasks of Share until End. For each thread but the first;
  // `thread` is at least 1 and less than the number given to the constructor.
  void Serve(int thread) {
    for (uint32_t seen = 0;;) {
      Atomics::WaitWhile(current_, seen);
      seen = current_.load(std::memory_order_acquire);
      if (seen == kEnd) break;
      Work(thread, seen);
    }
    left_.fetch_add(1, std::memory_order_acq_rel);
    Atomics::NotifyAll(left_);
  }

  // Tells the threads to stop serving. They may still use the object when it
  // returns. For the first thread.
  void Dismiss() { Publish(kEnd); }

  // Tells the threads to stop serving, and returns when all `others` of them
  // have. For the first thread.
  void End(uint32_t others) {
    Dismiss();
    uint32_t left;
    while ((left = left_.load(std::memory_order_acquire)) != others) {
      Atomics::WaitWhile(left_, left);
    }
  }

 private:
  template <typename T>
  using Atomic = typename Atomics::template Atomic<T>;
  template <typename T>
  using Variable = typename Atomics::template Variable<T>;

  // The value of current_ when there are no more tasks.
  static constexpr uint32_t kEnd = UINT32_MAX;

  struct Task {
    const Function* function;
    int64_t grid;    // number of work units
    int64_t part;    // work units of a part; the last of a share may have fewer
    int64_t shares;  // number of shares

    // The first unit of a share.
    int64_t Begin(int64_t share) const {
      return grid / shares * share + std::min(share, grid % shares);
    }
    uint32_t Parts(int64_t share) const {
      const int64_t units = Begin(share + 1) - Begin(share);
      return static_cast<uint32_t>((units + part - 1) / part);
    }
    // Runs the part of a share that was taken when so many were left.
    void Run(int64_t share, uint32_t parts_left) const {
      const int64_t begin = Begin(share), end = Begin(share + 1);
      const int64_t from = begin + (Parts(share) - parts_left) * part;
      (*function)(from, from + std::min(part, end - from));
    }
  };

  // The number of the task, and in the lower half how many parts of one share
  // of it nobody has taken; on a cache line of its own.
  //
  // That both are one word is what keeps tasks apart. A thread that comes late
  // for task n finds another number, or no parts left, whatever it reads of the
  // task; while it finds some, n is not finished, so that task_ holds n and
  // stays until unfinished_ has been told of the part.
  struct alignas(64) Claims {
    Atomic<uint64_t> parts_left{0};
  };

  void Publish(uint32_t number) {
    current_.store(number, std::memory_order_seq_cst);
    Atomics::NotifyAll(current_);
  }

  void Work(int thread, uint32_t number) {
    // Perhaps those of a later task: then no claim succeeds.
    const int shares = shares_.load(std::memory_order_relaxed);
    if (thread >= shares) return;
    for (int i = 0; i < shares; ++i) {
      const int share = (thread + i) % shares;
      Atomic<uint64_t>& parts_left = claims_[share].parts_left;
      uint64_t claim = parts_left.load(std::memory_order_acquire);
      while (claim >> 32 == number && static_cast<uint32_t>(claim) != 0) {
        if (!parts_left.compare_exchange_weak(claim, claim - 1,
                                              std::memory_order_acquire,
                                              std::memory_order_acquire)) {
          continue;
        }
        const Task task = task_;
        task.Run(share, static_cast<uint32_t>(claim));
        if (unfinished_.fetch_sub(1, std::memory_order_acq_rel) == 1) {
          Atomics::NotifyAll(unfinished_);
        }
        claim = parts_left.load(std::memory_order_acquire);
      }
    }
  }

  const int threads_;  // the most threads of a task
  // Used by the first thread alone.
  bool sharing_ = false;
  uint32_t number_ = 0;  // number of the last task
  // The last task. Read only by threads that have claimed a part of it.
  Variable<Task> task_;
  Atomic<int> shares_{0};                       // its number of shares
  alignas(64) Atomic<uint32_t> current_{0};     // its number, or kEnd
  alignas(64) Atomic<uint32_t> unfinished_{0};  // its parts not yet computed
  Atomic<uint32_t> left_{0};                    // threads that stopped serving
  // Only the first threads_ elements are initialized.
  union {
    Claims claims_[kMaxThreads];
  };
};

}  // namespace aitune

#endif  // AITUNE_RUNTIME_CPU_WORK_SHARING_H_
