// Times several functions against each other.
//
// A machine's speed changes from second to second, with its clock rate, its
// caches and other processes. So the functions are called in turn, round after
// round, and a change affects all of them alike. Each round has an order of its
// own, drawn at random: what one leaves in the caches would otherwise always
// help, or hinder, the same other one. The median is reported with
// bounds at 95 % confidence that assume nothing about the distribution (David
// and Nagaraja, Order Statistics, 7.1), and the 99th percentile, because
// services are judged by it.
//
// A function whose library lets idle threads spin would slow the next one,
// which is another library: libgomp's, which LibTorch has, spin for some
// milliseconds after each parallel loop (300,000 times, where OMP_WAIT_POLICY
// is not set). So a function may be called for a while before its calls count.
#ifndef AITUNE_RUNTIME_STRATEGY_INTERLEAVED_TIMING_H_
#define AITUNE_RUNTIME_STRATEGY_INTERLEAVED_TIMING_H_

#include <functional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"

namespace aitune {

// How long the calls of one function took. Durations are in milliseconds.
struct TimingSummary {
  int rounds = 0;  // number of calls that were measured
  double median = 0;
  double median_low = 0;   // lower bound of the median at 95 % confidence
  double median_high = 0;  // upper bound of the median at 95 % confidence
  double p99 = 0;          // 99th percentile; below 100 calls the slowest one
  double mean = 0;
  double minimum = 0;
};

// The summary of these durations, in milliseconds. All fields are zero if there
// are none. Thread-safe.
TimingSummary Summarize(std::vector<double> milliseconds);

// Longer than threads of libgomp spin, in milliseconds: 4 to 9 on an EPYC with
// AVX-512.
constexpr double kSpinMilliseconds = 10;

struct TimingOptions {
  int warmup_rounds = 3;  // rounds before the first one that is measured
  int min_rounds = 10;    // fewest measured calls of each function
  // Measured calls of each function after which no more rounds are run.
  int max_rounds = 1000;
  // The time of all calls after the warm-up, in milliseconds, summed over all
  // functions, after which no more rounds are run. Functions that are too slow
  // for min_rounds in that time stop after four times as long, but not before 3
  // calls of each.
  double milliseconds = 2000;
  // How long, in milliseconds, a function is called in its turn before its
  // calls count; so long they do then. One that takes ten times as long is
  // called once a turn, as all are if this is 0.
  double settle_milliseconds = 0;
  // Runs the function that it is given and returns its duration in
  // milliseconds, by a GPU's clock for example. Null: the system's steady
  // clock.
  std::function<absl::StatusOr<double>(const std::function<absl::Status()>&)>
      clock;
  // Called before each call and not timed, for example to restore the state
  // that the last call changed. Its error counts as the call's. May be null.
  std::function<absl::Status()> before_call;
};

// Makes the C library keep up to 64 MiB that were freed, for the rest of the
// process, where it is glibc. Memory that it gave back costs a page fault at
// each page when it is used again, several times what a pointwise operator
// takes. Whether it gives back what a call freed depends on the sizes that the
// process freed before, so that the same operator would be fast in one process
// and slow in another. TimeInterleaved calls it; whoever times otherwise what
// allocates its results should. Thread-safe.
void KeepFreedMemory();

// Calls all of `runs` in each round, in an order that is the same in each
// process. Returns for each, in order, its summary,
// or the error of its first call that failed; the others go on without it.
std::vector<absl::StatusOr<TimingSummary>> TimeInterleaved(
    absl::Span<const std::function<absl::Status()>> runs,
    const TimingOptions& options);

}  // namespace aitune

#endif  // AITUNE_RUNTIME_STRATEGY_INTERLEAVED_TIMING_H_
