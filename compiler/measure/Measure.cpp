#include "compiler/measure/Measure.h"

#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <optional>
#include <random>

#include "absl/strings/str_cat.h"
#include "compiler/measure/HostTensor.h"
#include "compiler/measure/TestData.h"
#include "compiler/measure/TimeRounds.h"
#include "runtime/cpu/thread_pool.h"
#include "runtime/plan/plan.h"
#include "runtime/status/status_macros.h"
#include "runtime/strategy/interleaved_timing.h"

namespace aitune {
namespace {

using Clock = std::chrono::steady_clock;

/// Not a number, and no index: what is not written, or read too early, shows.
constexpr char kPoison = '\xff';

/// The most runs before those that are timed, and what a run takes of the one
/// before it where another may be faster still: LibTorch's executor profiles in
/// the first and compiles in the second, and memory and caches are cold.
constexpr int kMostWarmUps = 6;
constexpr double kSettled = 0.9;
/// The least of them for what never ran before, unless these are long: the
/// first takes longer than a whole measurement where it profiles.
constexpr int kFirstWarmUps = 3;

/// What was freed and given back to the system (malloc_trim) is found again
/// page by page, over many runs: those whose page faults take more than a part
/// of their time are no measurement, but for so long at most. A fault takes a
/// microsecond or so.
constexpr double kFaultsPerMicrosecond = 0.02;
constexpr double kMostFaultingMicroseconds = 3e5;

/// The bytes that a cache of an x86-64 CPU reads at once.
constexpr int kCacheLine = 64;

/// Page faults of this process so far that no disk was read for.
int64_t pageFaults() {
  rusage usage;
  return getrusage(RUSAGE_SELF, &usage) == 0 ? usage.ru_minflt : 0;
}

/// A parallel region that computes nothing.
void runEmptyRegion() {
  ParallelFor(ThreadCount(), /*grain=*/1, [](int64_t, int64_t) {});
}

/// Memory for tensors of given types, aligned as the plan's own.
class Tensors {
public:
  absl::Status add(const TensorTypeProto &type,
                   const std::vector<int64_t> &symbols) {
    AITUNE_ASSIGN_OR_RETURN(TensorView view, ViewOf(type, symbols));
    HostTensor &tensor = memory.emplace_back(std::move(view));
    tensor.fill(0);
    isTensor.push_back(true);
    views.push_back(tensor.view());
    return absl::OkStatus();
  }

  /// The results of a plan. An opaque one (of dtype 0) has no memory here:
  /// LibTorch gives it.
  absl::Status addOutputs(const ExecutablePlan &plan,
                          const std::vector<int64_t> &symbols) {
    for (const TensorTypeProto &type : plan.outputs()) {
      if (type.dtype() == 0)
        isTensor.push_back(false);
      else
        AITUNE_RETURN_IF_ERROR(add(type, symbols));
    }
    return absl::OkStatus();
  }

  /// What a run takes for its results: the views, and empty values for the
  /// opaque ones.
  std::vector<RegionValue> values() const {
    std::vector<RegionValue> values;
    auto view = views.begin();
    for (bool hasMemory : isTensor)
      values.push_back(hasMemory ? RegionValue(*view++) : OpaqueValue());
    return values;
  }

  void poison() {
    for (HostTensor &tensor : memory) {
      tensor.fill(kPoison);
      // Another candidate may have written there.
      tensor.restoreGuards();
    }
  }
  /// Which tensor something was written beside; empty if none.
  std::string findOverrun() const {
    for (size_t i = 0; i < memory.size(); ++i)
      if (!memory[i].isIntact())
        return absl::StrCat("writes beyond the ends of result ", i);
    return "";
  }

  std::vector<HostTensor> memory;
  std::vector<TensorView> views;
  std::vector<bool> isTensor; ///< whether a result has a view
};

/// Reads a part of a tensor, which then is in the caches of this thread's core.
void readLines(const TensorView &view, int64_t begin, int64_t end) {
  const char *data = static_cast<const char *>(view.data);
  int64_t read = 0;
  for (int64_t i = begin; i < end; i += kCacheLine)
    read += data[i];
  volatile int64_t sum = read;
  (void)sum;
}

/// Reads constants on all threads: a cache that only one core has is emptied by
/// no other.
void evict(absl::Span<const ConstantTensor> constants) {
  ParallelRegion([&] {
    int64_t left = kMostEvicting;
    for (const ConstantTensor &constant : constants) {
      if (constant.view.data == nullptr) // a shape alone
        continue;
      const int64_t bytes = std::min(BytesOf(constant.view), left);
      ParallelFor(bytes, /*grain=*/kCacheLine, [&](int64_t begin, int64_t end) {
        readLines(constant.view, begin, end);
      });
      left -= bytes;
    }
  });
}

Measurement summarize(std::vector<double> times) {
  const TimingSummary summary = Summarize(std::move(times));
  Measurement result;
  result.microseconds = summary.median;
  result.low = summary.median_low;
  result.high = summary.median_high;
  result.least = summary.minimum;
  return result;
}

/// Candidates of one kernel and what is found of them.
class CandidateBench {
public:
  CandidateBench(absl::Span<const CpuExecutable *const> candidates,
                 KernelJudge *judge, bool comparesResults)
      : candidates(candidates), judge(judge), comparesResults(comparesResults),
        plan(candidates.front()->plan()), results(candidates.size()) {}

  absl::Status judgeAll();
  /// Makes what `time` needs, of candidates that nobody judges.
  absl::Status prepareUnjudged();
  void time(const MeasureOptions &options);

  const absl::Span<const CpuExecutable *const> candidates;
  KernelJudge *const judge;
  /// Whether results are compared with those of the first candidate that is
  /// right: all elements, where the judge knows some.
  const bool comparesResults;
  const ExecutablePlan &plan;
  std::vector<Measurement> results;

private:
  absl::Status makeInputs(JudgedInputs set);
  absl::Status judgeOn(JudgedInputs set);
  void compareWithFirst(size_t i);
  void judgeOne(size_t i, JudgedInputs set, Tensors &found);
  double run(size_t i, Tensors &into, bool isTimed = false);
  double warmUp(size_t i, double seconds);
  bool isOut(size_t i) const { return !results[i].note.empty(); }
  void setWrong(size_t i, std::string note) {
    results[i].note = std::move(note);
    results[i].isWrong = true;
  }

  /// Where candidate `i` puts its results of the normal inputs.
  Tensors &outputsOf(size_t i) {
    return first.value_or(i) == i ? firstOutputs : otherOutputs;
  }

  Tensors inputs;
  std::optional<size_t> first; ///< the first candidate that is right
  /// Its results and those of one other: models of large tensors have many
  /// candidates.
  Tensors firstOutputs, otherOutputs;
  bool hasRun = false; ///< whether candidates ran to be judged
};

/// The time of one run in microseconds; an error becomes the note. Where it is
/// timed, `into` is not written by what gives its results itself, as in calls.
double CandidateBench::run(size_t i, Tensors &into, bool isTimed) {
  std::vector<RegionValue> values = into.values();
  for (size_t output = 0; isTimed && output < values.size(); ++output)
    if (candidates[i]->GivesOutput(static_cast<int>(output)))
      values[output] = OpaqueValue();
  const LibraryEnds ends =
      isTimed ? findLibraryEnds(candidates[i]->plan()) : LibraryEnds();
  const auto start = Clock::now();
  if (ends.begin)
    runEmptyRegion();
  const absl::Status status =
      candidates[i]->Run(inputs.views, absl::MakeSpan(values));
  if (ends.end)
    runEmptyRegion();
  const double microseconds =
      std::chrono::duration<double, std::micro>(Clock::now() - start).count();
  if (!status.ok())
    results[i].note = std::string(status.message());
  return microseconds;
}

/// Runs until a run is not much faster than the one before, or they took
/// `seconds`, and until runs find their pages. The microseconds of the last
/// run.
double CandidateBench::warmUp(size_t i, double seconds) {
  int64_t faults = 0;
  auto runOnce = [&] {
    const int64_t before = pageFaults();
    const double microseconds = run(i, outputsOf(i), /*isTimed=*/true);
    faults = pageFaults() - before;
    return microseconds;
  };
  double last = runOnce(), all = last;
  for (int runs = 1; runs < kMostWarmUps && !isOut(i); ++runs) {
    const bool isNew = !hasRun && runs < kFirstWarmUps && all < kLongRun;
    if (!isNew && all >= seconds * 1e6)
      break;
    const double before = last;
    last = runOnce();
    all += last;
    if (!isNew && last > kSettled * before)
      break;
  }
  for (double spent = last; faults > kFaultsPerMicrosecond * last &&
                            spent < kMostFaultingMicroseconds && !isOut(i);
       spent += last)
    last = runOnce();
  return last;
}

absl::Status CandidateBench::makeInputs(JudgedInputs set) {
  inputs = Tensors();
  std::mt19937 generator(1);
  const std::vector<int64_t> symbols = symbolsOf(plan, set);
  for (const TensorTypeProto &type : plan.inputs()) {
    AITUNE_RETURN_IF_ERROR(inputs.add(type, symbols));
    if (set == JudgedInputs::Extreme)
      fillExtreme(inputs.views.back(), judge && judge->takesNonFinite(),
                  generator);
    else
      fillRandom(inputs.views.back(), generator);
  }
  if (set == JudgedInputs::WithNan && !inputs.views.empty())
    putNan(inputs.views.front());
  return absl::OkStatus();
}

/// Twice: what is right the first time may be wrong with what that left. But
/// where a run is long, only on the last set.
void CandidateBench::judgeOne(size_t i, JudgedInputs set, Tensors &found) {
  for (int call = 0; call < 2 && !isOut(i); ++call) {
    candidates[i]->PoisonMemory();
    found.poison();
    const double microseconds = run(i, found);
    if (isOut(i))
      return;
    std::string difference = found.findOverrun();
    if (difference.empty() && judge)
      difference = judge->judge(set, found.views);
    if (!difference.empty())
      setWrong(i, call == 0 ? difference
                            : absl::StrCat(difference, ", in a second run"));
    if (microseconds >= kLongRun && set != JudgedInputs::Normal)
      return;
  }
}

absl::Status CandidateBench::judgeOn(JudgedInputs set) {
  AITUNE_RETURN_IF_ERROR(makeInputs(set));
  const std::vector<int64_t> symbols = symbolsOf(plan, set);
  const bool isKnown = judge &&
                       judge->prepare(set, inputs.views, symbols).ok() &&
                       judge->expected(set) != nullptr;
  if (!isKnown && set != JudgedInputs::Normal)
    return absl::OkStatus();
  if (set != JudgedInputs::Normal) {
    Tensors found;
    AITUNE_RETURN_IF_ERROR(found.addOutputs(plan, symbols));
    for (size_t i = 0; i < candidates.size(); ++i)
      judgeOne(i, set, found);
    return absl::OkStatus();
  }
  AITUNE_RETURN_IF_ERROR(firstOutputs.addOutputs(plan, symbols));
  if (candidates.size() > 1)
    AITUNE_RETURN_IF_ERROR(otherOutputs.addOutputs(plan, symbols));
  for (size_t i = 0; i < candidates.size(); ++i) {
    judgeOne(i, set, outputsOf(i));
    if (isOut(i))
      continue;
    if (!first)
      first = i;
    else if (comparesResults)
      compareWithFirst(i);
  }
  return absl::OkStatus();
}

absl::Status CandidateBench::judgeAll() {
  hasRun = true;
  if (!judge)
    return judgeOn(JudgedInputs::Normal);
  for (JudgedInputs set : judge->inputSets(plan))
    AITUNE_RETURN_IF_ERROR(judgeOn(set));
  return absl::OkStatus();
}

absl::Status CandidateBench::prepareUnjudged() {
  AITUNE_RETURN_IF_ERROR(makeInputs(JudgedInputs::Normal));
  const std::vector<int64_t> symbols = symbolsOf(plan, JudgedInputs::Normal);
  first = 0;
  AITUNE_RETURN_IF_ERROR(firstOutputs.addOutputs(plan, symbols));
  return candidates.size() > 1 ? otherOutputs.addOutputs(plan, symbols)
                               : absl::OkStatus();
}

void CandidateBench::compareWithFirst(size_t i) {
  if (std::string note = compareResults(firstOutputs.views, otherOutputs.views);
      !note.empty())
    setWrong(i, std::move(note));
}

void CandidateBench::time(const MeasureOptions &options) {
  // The runtime keeps the memory of its results; LibTorch's must be kept, too.
  KeepFreedMemory();
  const auto makeCold = [&] {
    if (options.evicting.empty())
      return;
    evict(options.evicting);
    for (const TensorView &input : inputs.views)
      readLines(input, 0, BytesOf(input));
  };
  const auto start = Clock::now();
  makeCold();
  const double evictionMicroseconds =
      std::chrono::duration<double, std::micro>(Clock::now() - start).count();
  double roundMicroseconds = 0;
  bool areLong = true;
  std::vector<std::vector<double>> times(candidates.size());
  for (size_t i = 0; i < candidates.size(); ++i)
    if (!isOut(i)) {
      const double last = warmUp(i, options.seconds);
      roundMicroseconds += last + evictionMicroseconds;
      areLong &= last >= kLongRun;
      times[i].push_back(last);
    }
  // A run that finds caches and memory cold counts only where that is a small
  // part of it.
  if (!areLong)
    for (std::vector<double> &last : times)
      last.clear();
  const int rounds = std::clamp(
      static_cast<int>(options.seconds * 1e6 /
                       std::max(roundMicroseconds, 1.0)),
      areLong ? 0 : options.leastRounds, std::max(options.leastRounds, 200));
  const auto runOnce = [&](size_t i) {
    if (isOut(i))
      return -1.0;
    makeCold();
    const double microseconds = run(i, outputsOf(i), /*isTimed=*/true);
    return isOut(i) ? -1.0 : microseconds;
  };
  timeRounds(rounds, options.settles && !areLong, runOnce, times);
  for (size_t i = 0; i < candidates.size(); ++i)
    if (!isOut(i))
      results[i] = summarize(std::move(times[i]));
}

} // namespace

LibraryEnds findLibraryEnds(const ExecutablePlan &plan) {
  if (plan.steps().empty())
    return {};
  return {!plan.steps().begin()->has_kernel(),
          !plan.steps().rbegin()->has_kernel()};
}

std::vector<Measurement>
measureCandidates(absl::Span<const CpuExecutable *const> candidates,
                  const MeasureOptions &options, KernelJudge *judge) {
  if (candidates.empty())
    return {};
  CandidateBench bench(candidates, judge, options.comparesResults);
  if (!hasSizes(bench.plan, symbolsOf(bench.plan, JudgedInputs::Normal))) {
    for (Measurement &result : bench.results)
      result.note = "no sizes are known to measure at";
    return std::move(bench.results);
  }
  const bool isJudged =
      judge || (options.comparesResults && candidates.size() > 1);
  if (absl::Status status =
          isJudged ? bench.judgeAll() : bench.prepareUnjudged();
      !status.ok()) {
    for (Measurement &result : bench.results)
      result.note = std::string(status.message());
    return std::move(bench.results);
  }
  if (options.seconds > 0)
    bench.time(options);
  return std::move(bench.results);
}

} // namespace aitune
