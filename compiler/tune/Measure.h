// Times candidate implementations of one kernel against each other.
//
// Candidates are run in turn, round after round, so that a change of the
// machine's speed falls on all of them alike, and compared by the median of
// their rounds. A candidate whose results differ from the first one's beyond
// rounding is marked wrong and never chosen.
#ifndef AITUNE_COMPILER_TUNE_MEASURE_H
#define AITUNE_COMPILER_TUNE_MEASURE_H

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "runtime/executable/executable.h"

namespace aitune {

struct Measurement {
  /// Median of one run; negative when the candidate failed or was wrong.
  double microseconds = -1;
  /// Why it failed or was wrong; empty otherwise.
  std::string note;
};

/// Runs each of `candidates` (executables of the same one-kernel model) on the
/// same random inputs, dynamic axes at the top of their range. `budgetSeconds`
/// bounds the whole measurement; every candidate runs at least three times.
/// One result a candidate, in order.
std::vector<Measurement>
measureCandidates(const std::vector<std::unique_ptr<Executable>> &candidates,
                  double budgetSeconds);

} // namespace aitune

#endif // AITUNE_COMPILER_TUNE_MEASURE_H
