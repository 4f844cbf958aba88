// How many threads a parallel region gets beside other processes.
//
// A region of libgomp ends when each of its threads has been there. One that
// another process keeps from its core costs a time slice, milliseconds, for a
// region that may take a tenth of that: fewer threads are then faster.
#ifndef AITUNE_RUNTIME_CPU_CROWDING_H_
#define AITUNE_RUNTIME_CPU_CROWDING_H_

#include <algorithm>
#include <chrono>

namespace aitune {

// Of the regions that one thread begins, one after another. Halves the number
// of threads while the first thread of a region mostly waits for the others,
// and tries all again after 1, 2, 4, ... regions. Not thread-safe.
class Crowding {
 public:
  using Duration = std::chrono::steady_clock::duration;

  // The number of threads for the next region, from 1 to `threads`, of which
  // there are.
  int Threads(int threads) {
    if (regions_left_ == 0) {
      halvings_ = 0;
      return threads;
    }
    --regions_left_;
    return std::max(1, threads >> halvings_);
  }

  // The time of a region of several threads, and how much of it the first one
  // waited for others.
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
  // Waking a thread takes some 50 us, and a time slice of Linux is 700 us or
  // more: one that is waited for so long is switched off.
  static constexpr std::chrono::microseconds kSwitchedOff{200};
  // Regions with fewer threads before all are tried again. With as many, what
  // the trials cost is lost beside the work.
  static constexpr int kMostRegions = 64;
  // From 256 threads, the most of a region, to one.
  static constexpr int kMostHalvings = 8;

  int halvings_ = 0;      // of the number of threads
  int regions_left_ = 0;  // that get fewer threads
  int next_regions_ = 1;  // regions_left_ when threads are next switched off
};

}  // namespace aitune

#endif  // AITUNE_RUNTIME_CPU_CROWDING_H_
