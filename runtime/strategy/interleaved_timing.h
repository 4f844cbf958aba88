// Timing of several things against each other.
//
// A machine drifts: clocks, caches and neighbours change from second to second.
// So the things are run in turn, round after round, and a change of the machine
// falls on all of them alike. The median is reported with bounds at 95 %
// confidence that assume nothing about the distribution, and the slowest
// hundredth, because services are measured by it.
#ifndef AITUNE_RUNTIME_STRATEGY_INTERLEAVED_TIMING_H_
#define AITUNE_RUNTIME_STRATEGY_INTERLEAVED_TIMING_H_

#include <functional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"

namespace aitune {

// Milliseconds of the calls of one thing.
struct TimingSummary {
  int rounds = 0;
  double median = 0;
  double median_low = 0;  // bounds of the median at 95 % confidence
  double median_high = 0;
  double p99 = 0;  // the slowest call if there were fewer than 100
  double mean = 0;
  double minimum = 0;
};

// Of durations in milliseconds; all zero for none.
TimingSummary Summarize(std::vector<double> milliseconds);

struct TimingOptions {
  int warmup_rounds = 3;  // not measured
  int min_rounds = 10;
  int max_rounds = 1000;
  // Rounds go on until all calls together took so long. Slow models stop early:
  // after four times as long even before min_rounds, but not before 3.
  double milliseconds = 2000;
  // The milliseconds of one call, such as those on a GPU; null: of the
  // system's steady clock around it.
  std::function<absl::StatusOr<double>(const std::function<absl::Status()>&)>
      clock;
  // Called before each call and not timed, such as to put back what the last
  // call changed; its error is the call's. Null: nothing.
  std::function<absl::Status()> before_call;
};

// The summary of each run, in order, or the error of its first call that
// failed; the others go on without it.
std::vector<absl::StatusOr<TimingSummary>> TimeInterleaved(
    absl::Span<const std::function<absl::Status()>> runs,
    const TimingOptions& options);

}  // namespace aitune

#endif  // AITUNE_RUNTIME_STRATEGY_INTERLEAVED_TIMING_H_
