// Notices when other processes keep the threads of parallel regions from the
// cores.
//
// A region of libgomp ends only when each of its threads has run. A thread
// whose core another process uses makes the region wait for a time slice, which
// is milliseconds, while the region's work may take a tenth of that. And
// between its regions the threads spin, and keep the first one from the cores.
// Threads for which nobody waits, and which sleep, are then faster
// (thread_pool.h).
#ifndef AITUNE_RUNTIME_CPU_CROWDING_H_
#define AITUNE_RUNTIME_CPU_CROWDING_H_

#include <algorithm>
#include <chrono>

namespace aitune {

// Decides for the regions that one thread begins, one after another. After a
// region whose first thread had no core, or waited for the others, for most of
// its time, the cores are crowded for a while: for 1/4 s at first, and for
// twice as long, up to 8 s, each time that it happens again within 8 s. Not
// thread-safe.
class Crowding {
 public:
  using Duration = std::chrono::steady_clock::duration;
  using Time = std::chrono::steady_clock::time_point;

  // Whether the cores are crowded at the time `now`.
  bool IsCrowded(Time now) const { return now < until_; }

  // Records a region of threads that were waited for, and that ended at `now`:
  // how long it took, and for how long of that its first thread had no core, or
  // no work but to wait for the others.
  void Add(Time now, Duration elapsed, Duration waited) {
    if (waited <= kSwitchedOff || waited <= elapsed / 2) return;
    const bool again = length_ > Duration(0) && now < until_ + kLongest;
    length_ = again ? std::min<Duration>(2 * length_, kLongest) : kFirst;
    until_ = now + length_;
  }

 private:
  // More than this means that a thread has lost its core: waking a
  // sleeping thread takes about 50 us, a time slice of Linux 700 us or more.
  static constexpr std::chrono::microseconds kSwitchedOff{200};
  // What is lost at the end of each such time, about a time slice, is then
  // about one hundredth of it; and of the longest a thousandth.
  static constexpr Duration kFirst = std::chrono::milliseconds(250);
  static constexpr Duration kLongest = std::chrono::seconds(8);

  Time until_;          // the cores are crowded until then
  Duration length_{0};  // how long they were, the last time
};

}  // namespace aitune

#endif  // AITUNE_RUNTIME_CPU_CROWDING_H_
