// Chooses how many threads a parallel region gets when other processes also use
// the cores.
//
// A region of libgomp ends only when each of its threads has run. A thread
// whose core another process uses makes the region wait for a time slice, which
// is milliseconds, while the region's work may take a tenth of that: fewer
// threads are then faster.
#ifndef AITUNE_RUNTIME_CPU_CROWDING_H_
#define AITUNE_RUNTIME_CPU_CROWDING_H_

#include <algorithm>
#include <chrono>

namespace aitune {

// Decides for the regions that one thread begins, one after another. Halves the
// number of threads while the first thread of a region spends most of its time
// waiting for the others, and tries all threads again after 1, 2, 4, ...
// regions. Not thread-safe.
class Crowding {
 public:
  using Duration = std::chrono::steady_clock::duration;

  // The number of threads for the next region, from 1 to `threads`, the number
  // that are available.
  int Threads(int threads) {
    if (regions_left_ == 0) {
      halvings_ = 0;
      return threads;
    }
    --regions_left_;
    return std::max(1, threads >> halvings_);
  }

  // Records how long a region of several threads took, and how long its first
  // thread waited for the others.
  void Add(Duration elapsed, Duration waited) {
    if (waited > kSwitchedOff && waited > elapsed / 2) {
      halvings_ = std::min(halvings_ + 1, kMostHalvings);
      regions_left_ = next_regions_;
      next_regions_ = std::min(next_regions_ * 2, kMostRegions);
    } else if (halvings_ == 0) {
      next_regions_ = std::max(next_regions_ / 2, 1);
    }
  }

 private:
  // A wait longer than this means that a thread has lost its core: waking a
  // sleeping thread takes about 50 us, a time slice of Linux 700 us or more.
  static constexpr std::chrono::microseconds kSwitchedOff{200};
  // The most regions with fewer threads before all threads are tried again. At
  // this number the cost of the trials is negligible beside the work.
  static constexpr int kMostRegions = 64;
  // log2 of 256, the most threads of a region (WorkSharing::kMaxThreads).
  static constexpr int kMostHalvings = 8;

  int halvings_ = 0;      // how often the number of threads is halved
  int regions_left_ = 0;  // number of next regions that get fewer threads
  int next_regions_ = 1;  // regions_left_ after the next long wait
};

}  // namespace aitune

#endif  // AITUNE_RUNTIME_CPU_CROWDING_H_
