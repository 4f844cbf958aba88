#include "runtime/strategy/interleaved_timing.h"

#include <malloc.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <numeric>
#include <random>

namespace aitune {
namespace {

constexpr int kFewestRounds = 3;
// A call that takes so many times as long as the machine takes to come to rest
// is little disturbed.
constexpr double kLong = 10;
// What a clock says takes no time is not called forever.
constexpr int kMostCallsInTurn = 100000;
// The largest block whose freeing makes glibc adapt: DEFAULT_MMAP_THRESHOLD_MAX
// of its malloc on 64-bit systems, less what the block's header and whole pages
// take.
constexpr size_t kLargestAdapted = (size_t{32} << 20) - (size_t{64} << 10);
// The most such blocks that are looked for in free memory: 2 GiB.
constexpr size_t kMostBlocks = 64;

absl::StatusOr<double> HostTime(const std::function<absl::Status()>& run) {
  const auto begin = std::chrono::steady_clock::now();
  absl::Status status = run();
  const auto end = std::chrono::steady_clock::now();
  if (!status.ok()) return status;
  return std::chrono::duration<double, std::milli>(end - begin).count();
}

}  // namespace

TimingSummary Summarize(std::vector<double> milliseconds) {
  TimingSummary summary;
  const int n = static_cast<int>(milliseconds.size());
  if (n == 0) return summary;
  std::sort(milliseconds.begin(), milliseconds.end());
  const auto at = [&](double position) {
    return milliseconds[std::clamp(static_cast<int>(position), 0, n - 1)];
  };
  summary.rounds = n;
  summary.median = (at((n - 1) / 2) + at(n / 2)) / 2;
  summary.p99 = at(std::ceil(0.99 * n) - 1);
  summary.mean =
      std::accumulate(milliseconds.begin(), milliseconds.end(), 0.0) / n;
  summary.minimum = at(0);
  // How many of n calls are faster than the true median is binomial(n, 1/2):
  // n / 2 with a deviation of sqrt(n) / 2.
  const double reach = 1.96 * std::sqrt(n) / 2;
  summary.median_low = at(std::floor(n / 2.0 - reach));
  summary.median_high = at(std::ceil(n / 2.0 + reach));
  return summary;
}

void KeepFreedMemory() {
#ifdef __GLIBC__
  // A block that came from the system alone and is freed raises the size of
  // such blocks to its own, and what may stay free to twice that
  // (mallopt(3), M_MMAP_THRESHOLD). What is free in the heap is taken first, so
  // there may be several blocks before that one. They are never written, and
  // so take no memory. Through a volatile pointer, since compilers remove an
  // allocation that is not used.
  std::vector<void*> blocks;
  for (bool is_from_system = false;
       !is_from_system && blocks.size() < kMostBlocks;) {
    const struct mallinfo2 before = mallinfo2();
    void* volatile block = std::malloc(kLargestAdapted);
    if (block == nullptr) break;
    blocks.push_back(static_cast<void*>(block));
    const struct mallinfo2 after = mallinfo2();
    is_from_system = after.hblkhd > before.hblkhd || after.arena > before.arena;
  }
  for (void* block : blocks) std::free(block);
#endif
}

std::vector<absl::StatusOr<TimingSummary>> TimeInterleaved(
    absl::Span<const std::function<absl::Status()>> runs,
    const TimingOptions& options) {
  KeepFreedMemory();
  const auto clock = [&](const std::function<absl::Status()>& run) {
    return options.clock ? options.clock(run) : HostTime(run);
  };
  std::vector<absl::Status> statuses(runs.size());
  std::vector<std::vector<double>> times(runs.size());
  double spent = 0;
  // By the function with the fewest calls.
  const auto enough = [&] {
    int rounds = options.max_rounds;
    for (size_t i = 0; i < runs.size(); ++i)
      if (statuses[i].ok())
        rounds = std::min(rounds, static_cast<int>(times[i].size()));
    if (rounds >= options.max_rounds) return true;
    if (rounds >= options.min_rounds) return spent >= options.milliseconds;
    return rounds >= kFewestRounds && spent >= 4 * options.milliseconds;
  };
  std::vector<size_t> order(runs.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::mt19937 random;
  const double settle = options.settle_milliseconds;
  for (int round = -options.warmup_rounds; round < 0 || !enough(); ++round) {
    std::shuffle(order.begin(), order.end(), random);
    for (const size_t i : order) {
      double in_turn = 0, counted = 0;  // milliseconds of calls
      int calls = 0;
      do {
        if (!statuses[i].ok()) break;
        if (options.before_call) statuses[i] = options.before_call();
        if (!statuses[i].ok()) break;
        const absl::StatusOr<double> duration = clock(runs[i]);
        statuses[i] = duration.status();
        if (!duration.ok()) break;
        const bool counts = in_turn >= settle || *duration >= kLong * settle;
        in_turn += *duration;
        if (round < 0) continue;
        spent += *duration;
        if (!counts) continue;
        times[i].push_back(*duration);
        counted += *duration;
      } while (++calls < kMostCallsInTurn && counted < settle &&
               (round >= 0 || in_turn < 2 * settle));
    }
  }
  std::vector<absl::StatusOr<TimingSummary>> summaries;
  for (size_t i = 0; i < runs.size(); ++i) {
    if (statuses[i].ok()) {
      summaries.push_back(Summarize(std::move(times[i])));
    } else {
      summaries.push_back(statuses[i]);
    }
  }
  return summaries;
}

}  // namespace aitune
