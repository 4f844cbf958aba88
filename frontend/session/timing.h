// Timing of several implementations against each other.
//
// Machines drift: clocks, caches and neighbours change over seconds. The
// candidates are therefore run in turn, round after round, so that drift falls
// on all of them alike, and medians with a confidence interval are compared
// instead of means.
#ifndef AITUNE_FRONTEND_SESSION_TIMING_H_
#define AITUNE_FRONTEND_SESSION_TIMING_H_

#include <functional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace aitune::frontend {

// Milliseconds of `rounds` calls of one candidate.
struct TimingSummary {
  int rounds = 0;
  double median = 0;
  double p99 = 0;  // the slowest call when there were fewer than 100
  double mean = 0;
  double minimum = 0;
  // Bounds of the median at 95 % confidence, from order statistics: no
  // assumption about the distribution.
  double median_low = 0;
  double median_high = 0;
};

// Summarises durations in milliseconds. All zero for an empty list.
TimingSummary Summarize(std::vector<double> milliseconds);

struct TimedCandidate {
  std::string name;
  std::function<absl::Status()> run;  // one call of the model
};

struct TimingOptions {
  double seconds = 4;  // measured time of all candidates together, about
  int min_rounds =
      10;  // even when `seconds` is over, up to four times `seconds`
  int max_rounds = 100000;
  int warmup = 3;  // unmeasured calls of each
  // The milliseconds of one call; not set: the host's clock around it.
  std::function<absl::StatusOr<double>(const std::function<absl::Status()>&)>
      clock;
};

// The summary of each candidate, in order. Returns the first error of a
// candidate, with its name. Not thread-safe beside other work: anything that
// runs meanwhile is measured too.
absl::StatusOr<std::vector<TimingSummary>> MeasureInterleaved(
    const std::vector<TimedCandidate>& candidates,
    const TimingOptions& options);

}  // namespace aitune::frontend

#endif  // AITUNE_FRONTEND_SESSION_TIMING_H_
