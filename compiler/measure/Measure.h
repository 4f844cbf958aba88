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
  /// Median of one run; negative when the candidate failed or was wrong.
  double microseconds = -1;
  /// The median's 95 % confidence interval, from the order statistics of the
  /// runs (David and Nagaraja, Order Statistics, 7.1).
  double low = -1, high = -1;
  /// Why it failed or was wrong; empty otherwise.
  std::string note;
  /// Of the error that its run gave, where a run on a GPU did; else kOk.
  absl::StatusCode code = absl::StatusCode::kOk;
};

struct MeasureOptions {
  /// For the whole measurement; every candidate runs at least three times.
  double seconds = 0.03;
  /// Between runs, read more memory than the caches hold: as in a model whose
  /// weights do not fit them.
  bool coldCache = false;
};

/// Runs each of `candidates` (executables of the same one-kernel model) on the
/// same random inputs, dynamic axes at the top of their range. One result a
/// candidate, in order.
std::vector<Measurement>
measureCandidates(absl::Span<const Executable *const> candidates,
                  const MeasureOptions &options);

} // namespace aitune

#endif // AITUNE_COMPILER_MEASURE_MEASURE_H
