// Times candidate implementations of one kernel against each other.
//
// Candidates are run in turn, round after round, so that a change of the
// machine's speed falls on all of them alike. A candidate whose results are not
// those of the reference (KernelJudge.h), or differ from the first right one's
// beyond rounding, is marked wrong and never chosen. Not thread-safe: it
// measures on all threads.
#ifndef AITUNE_COMPILER_MEASURE_MEASURE_H
#define AITUNE_COMPILER_MEASURE_MEASURE_H

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "compiler/measure/KernelJudge.h"
#include "runtime/executable/cpu_executable.h"
#include "runtime/tensor/tensor_view.h"

namespace aitune {

struct Measurement {
  /// The median time of one run, in microseconds; negative when the candidate
  /// failed or was wrong.
  double microseconds = -1;
  /// The bounds, in microseconds, of the median's 95 % confidence interval,
  /// from the order statistics of the runs (David and Nagaraja, Order
  /// Statistics, 7.1).
  double low = -1, high = -1;
  /// Why the candidate failed or was wrong; empty otherwise.
  std::string note;
  /// The code of the error of a run on a GPU; otherwise kOk.
  absl::StatusCode code = absl::StatusCode::kOk;
  /// Whether the candidate ran and its results were wrong.
  bool isWrong = false;
  /// The time of the fastest run, in microseconds, where it is known: on a CPU.
  /// What disturbs runs only makes them longer, so that this is what to compare
  /// candidates by on a machine that does other work, too.
  double least = -1;

  /// `least`, or the median where that is not known.
  double undisturbed() const { return least >= 0 ? least : microseconds; }
};

/// The microseconds of a run that is its own median: what other processes take
/// from it, time slices of milliseconds, is a small part.
constexpr double kLongRun = 5e5;

/// The most bytes that are read to empty the caches: more than the last-level
/// caches of most CPUs hold, and the caches of a core's own of any. A
/// last-level cache of hundreds of megabytes may still hold the kernel's
/// weights: emptying that takes longer than most kernels do.
constexpr int64_t kMostEvicting = int64_t{64} << 20;

struct MeasureOptions {
  /// The seconds that the whole measurement takes; with 0, nothing is timed.
  double seconds = 0.03;
  /// The least number of timed runs of each candidate, however long they take:
  /// the median of three is not that of one run which something disturbed. Runs
  /// of more than half a second may be fewer, but at least one.
  int leastRounds = 3;
  /// Whether candidates whose runs differ are run on, for up to three times
  /// `seconds` in all (TimeRounds.h). Not those whose runs are all longer than
  /// half a second.
  bool settles = false;
  /// What is read between two runs, on all threads, so that the caches hold
  /// nothing else: the model's weights, if they do not fit the caches. No more
  /// than the first kMostEvicting bytes are read. Then the inputs are read, as
  /// a model computes them shortly before. Borrowed.
  absl::Span<const ConstantTensor> evicting = {};
  /// Whether results that differ from the first candidate's are wrong.
  bool comparesResults = true;
};

/// Where a candidate does not begin or end with a generated kernel. Generated
/// kernels in a row share one parallel region of threads (thread_pool.h); what
/// does not, a library's call or an operator of LibTorch, makes the kernels
/// before and behind it two.
struct LibraryEnds {
  bool begin = false, end = false;
};
/// Those of `plan`; of a plan without steps none. Thread-safe.
LibraryEnds findLibraryEnds(const ExecutablePlan &plan);

/// Runs each of `candidates` (executables of the same one-kernel model) on the
/// same random inputs, with dynamic axes as symbolsOf gives them.
/// Before, `judge` judges each on its inputs, in two runs (one where it is
/// long, except on the last inputs), with the memory that earlier runs used
/// overwritten. If there is no judge, or it has no reference, the candidates
/// are compared with the first one that runs; one alone is then only timed.
/// Returns one result for each candidate, in order. Timed is what a candidate
/// costs between two generated kernels: at each of its LibraryEnds it begins a
/// parallel region of their own, which is empty.
std::vector<Measurement>
measureCandidates(absl::Span<const CpuExecutable *const> candidates,
                  const MeasureOptions &options, KernelJudge *judge = nullptr);

} // namespace aitune

#endif // AITUNE_COMPILER_MEASURE_MEASURE_H
