// Times candidate implementations of one kernel against each other.
//
// Candidates are run in turn, round after round, so that a change of the
// machine's speed falls on all of them alike, and compared by the median of
// their rounds. A candidate whose results differ from the first one's beyond
// rounding is marked wrong and never chosen.
#ifndef AITUNE_COMPILER_MEASURE_MEASURE_H
#define AITUNE_COMPILER_MEASURE_MEASURE_H

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "runtime/executable/executable.h"

namespace aitune {

struct Measurement {
  /// The median time of one run; negative when the candidate failed or was
  /// wrong.
  double microseconds = -1;
  /// The bounds, in microseconds, of the median's 95 % confidence interval,
  /// from the order statistics of the runs (David and Nagaraja, Order
  /// Statistics, 7.1).
  double low = -1, high = -1;
  /// Why the candidate failed or was wrong; empty otherwise.
  std::string note;
  /// The code of the error of a run on a GPU; otherwise kOk.
  absl::StatusCode code = absl::StatusCode::kOk;
};

struct MeasureOptions {
  /// The duration of the whole measurement.
  double seconds = 0.03;
  /// The least number of timed runs of every candidate, however long they take.
  int leastRounds = 3;
  /// Whether to read more memory than the caches hold between two runs, as a
  /// model does whose weights do not fit the caches.
  bool coldCache = false;
  /// Whether results that differ from the first candidate's are wrong.
  bool comparesResults = true;
};

/// Runs each of `candidates` (executables of the same one-kernel model) on the
/// same random inputs, with dynamic axes at the upper bounds of their ranges.
/// Returns one result for each candidate, in order.
std::vector<Measurement>
measureCandidates(absl::Span<const Executable *const> candidates,
                  const MeasureOptions &options);

} // namespace aitune

#endif // AITUNE_COMPILER_MEASURE_MEASURE_H
