#include "compiler/candidates/CandidateChoice.h"

#include <algorithm>
#include <mutex>

#include "absl/strings/str_cat.h"
#include "compiler/candidates/FastestCandidate.h"
#include "compiler/candidates/LaunchModel.h"
#include "compiler/candidates/Preparation.h"
#include "compiler/candidates/RefusedCandidates.h"
#include "compiler/measure/Measure.h"
#include "compiler/plan/Provenance.h"
#include "compiler/support/Parallel.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "runtime/status/status_macros.h"

#include <malloc.h>

using namespace mlir;

namespace aitune {
namespace {

/// Seconds to time the only candidate of a kernel.
constexpr double kAloneSeconds = 0.003;

/// The candidates of one kernel, run against each other.
struct Contest {
  Kernel *kernel;
  std::unique_ptr<CandidateRace> race;
  std::vector<Measurement> results;
  /// Why each candidate could not be loaded.
  std::vector<absl::Status> loaded;
};

/// Whether `late`, a candidate with a `leastMicroseconds`, may be faster than
/// those that were measured.
bool isOpen(const Contest &contest, const KernelImplementation &late) {
  return late.leastMicroseconds > 0 &&
         mayBeFaster(late.leastMicroseconds, contest.results);
}

class CandidateChooser {
public:
  CandidateChooser(MutableArrayRef<Kernel> kernels, ModuleOp module,
                   const CompilationTarget &target,
                   absl::Span<const ConstantTensor> constants,
                   const CompileOptions &options, CompileResult &result)
      : kernels(kernels), module(module), target(target), constants(constants),
        options(options), result(result), rules(target.raceRules()) {}

  absl::StatusOr<ChosenKernels> run();

private:
  /// Positions among contests and their candidates.
  using Work = std::vector<std::pair<Contest *, size_t>>;

  bool dropLeftOut(Kernel &kernel);
  absl::Status measureTogether(MutableArrayRef<Kernel *> group);
  void load(const Work &work);
  bool isJudgedAlone(const Contest &contest) const {
    return contest.kernel->candidates.size() == 1 && !rules.mustRun;
  }
  /// Seconds to time the candidates of a kernel. One alone is timed only to be
  /// compared with LibTorch.
  double secondsFor(const Contest &contest) const {
    if (!isJudgedAlone(contest))
      return rules.seconds;
    return options.libtorch.makePart ? kAloneSeconds : 0;
  }
  absl::Status measure(Contest &contest);
  absl::Status findFault(const Contest &contest);
  void addToReport(const Contest &contest);
  absl::Status raceLateCandidates(MutableArrayRef<Contest> contests);
  void decide(Contest &contest);
  void take(Kernel &kernel, size_t best, size_t unsearched);
  void keepTime(Kernel &kernel, const Measurement &measured) {
    if (measured.microseconds >= 0)
      chosen.microseconds[kernel.function.getSymName()] = measured.microseconds;
  }
  void nameReplacement(StringRef kernel, const std::string &replacement);
  void fail(Kernel &kernel, const absl::Status &reason);
  void report(const char *phase, size_t done, size_t total) const {
    if (options.progress)
      options.progress(phase, static_cast<int>(done), static_cast<int>(total));
  }

  MutableArrayRef<Kernel> kernels;
  ModuleOp module;
  const CompilationTarget &target;
  absl::Span<const ConstantTensor> constants;
  const CompileOptions &options;
  CompileResult &result;
  const RaceRules rules;
  ChosenKernels chosen;
  size_t done = 0;
};

/// Removes what Kernel::leftOut names; whether something is left.
bool CandidateChooser::dropLeftOut(Kernel &kernel) {
  llvm::erase_if(kernel.candidates, [&](const KernelImplementation &candidate) {
    return llvm::is_contained(kernel.leftOut, labelOf(candidate));
  });
  return !kernel.candidates.empty();
}

void CandidateChooser::fail(Kernel &kernel, const absl::Status &reason) {
  nameReplacement(kernel.function.getSymName(), "LibTorch");
  result.failures.push_back({kernel.function.getSymName().str(),
                             std::string(reason.message()),
                             traceOps(kernel.function, kernel.launches)});
}

/// Says of the wrong candidates of a kernel what is in their place.
void CandidateChooser::nameReplacement(StringRef kernel,
                                       const std::string &replacement) {
  for (WrongCandidate &wrong : result.wrong)
    if (wrong.kernel == kernel)
      wrong.replacement = replacement;
}

void CandidateChooser::take(Kernel &kernel, size_t best, size_t unsearched) {
  const StringRef name = kernel.function.getSymName();
  nameReplacement(name, labelOf(kernel.candidates[best]));
  kernel.chosenCut = kernel.candidates[best].cut;
  chosen.best[name] = kernel.candidates[best];
  chosen.unsearched[name] = kernel.candidates[unsearched];
  kernel.candidates.clear();
}

/// Loads candidates, where a library may compile, on all threads.
void CandidateChooser::load(const Work &work) {
  std::mutex progressMutex;
  size_t count = 0;
  inParallel(work.size(), rules.threads, [&](size_t i) {
    auto [contest, number] = work[i];
    contest->loaded[number] = contest->race->load(number);
    if (!contest->loaded[number].ok())
      contest->results[number].note =
          std::string(contest->loaded[number].message());
    std::lock_guard<std::mutex> lock(progressMutex);
    report("loading candidates", ++count, work.size());
  });
}

/// An error if the device is no longer usable. The candidate is named where it
/// can be no other: a device that is lost fails all runs after it.
absl::Status CandidateChooser::findFault(const Contest &contest) {
  const std::string kernel = contest.kernel->function.getSymName().str();
  std::vector<size_t> failed;
  for (size_t i = 0; i < contest.results.size(); ++i)
    if (contest.loaded[i].ok() && contest.results[i].microseconds < 0 &&
        !contest.results[i].note.empty() && !contest.results[i].isWrong)
      failed.push_back(i);
  const std::string guilty =
      failed.size() == 1 ? labelOf(contest.kernel->candidates[failed[0]])
                         : "a candidate";
  const absl::Status usable =
      checkUsable(target, absl::StrCat(guilty, " of kernel ", kernel));
  if (!usable.ok() && failed.size() == 1)
    result.wrong.push_back(
        {kernel, guilty, contest.results[failed[0]].note, "", ""});
  return usable;
}

/// Measures the candidates that are loaded.
absl::Status CandidateChooser::measure(Contest &contest) {
  absl::StatusOr<std::vector<Measurement>> measured =
      contest.race->measure(secondsFor(contest));
  for (size_t i = 0; i < contest.results.size(); ++i) {
    Measurement &known = contest.results[i];
    if (measured.ok()) {
      if ((*measured)[i].microseconds >= 0 || !(*measured)[i].note.empty())
        known = std::move((*measured)[i]);
    } else if (known.microseconds < 0 && known.note.empty()) {
      known.note = std::string(measured.status().message());
    }
  }
  return findFault(contest);
}

/// Loads the candidates with a `leastMicroseconds` and measures them against
/// the best of the others, for the kernels of which no other candidate is
/// faster than that.
absl::Status
CandidateChooser::raceLateCandidates(MutableArrayRef<Contest> contests) {
  Work work;
  SmallVector<Contest *> open;
  for (Contest &contest : contests) {
    const size_t before = work.size();
    for (auto [i, candidate] : llvm::enumerate(contest.kernel->candidates)) {
      if (candidate.leastMicroseconds <= 0)
        continue;
      if (isOpen(contest, candidate))
        work.emplace_back(&contest, i);
      else
        contest.results[i].note =
            absl::StrCat("not measured: ", candidate.name,
                         " takes longer than the best of the others");
    }
    if (work.size() > before)
      open.push_back(&contest);
  }
  load(work);
  for (auto [number, contest] : llvm::enumerate(open)) {
    AITUNE_RETURN_IF_ERROR(measure(*contest));
    for (size_t i = 0; i < contest->results.size(); ++i)
      contest->race->drop(i);
    report("choosing candidates", number + 1, open.size());
  }
  return absl::OkStatus();
}

/// How the kernel was judged, and what was wrong.
void CandidateChooser::addToReport(const Contest &contest) {
  const std::string name = contest.kernel->function.getSymName().str();
  for (size_t i = 0; i < contest.results.size(); ++i)
    if (contest.results[i].isWrong)
      result.wrong.push_back({name, labelOf(contest.kernel->candidates[i]),
                              contest.results[i].note, "", ""});
  const KernelJudge *judge = contest.race ? contest.race->judgement() : nullptr;
  if (!judge)
    return;
  ReferenceReport &report = result.reference;
  report.seconds += judge->seconds();
  if (!judge->status().ok()) {
    ++report.withoutReference;
    result.rejections.push_back(
        {"reference", name, std::string(judge->status().message())});
    return;
  }
  const ReferenceCoverage coverage = judge->coverage();
  report.judged += coverage.sampled > 0;
  report.known += coverage.known;
  report.sampled += coverage.sampled;
}

/// The choice, which is reported.
void CandidateChooser::decide(Contest &contest) {
  Kernel &kernel = *contest.kernel;
  addToReport(contest);
  if (isJudgedAlone(contest) && !contest.results[0].isWrong) {
    keepTime(kernel, contest.results[0]);
    return take(kernel, 0, 0);
  }
  const int best = fastest(contest.results, rules.earlierWinsTies);
  const int unsearched =
      fastest(contest.results, rules.earlierWinsTies,
              [&](size_t i) { return !kernel.candidates[i].isSearched; });
  absl::Status failure;
  for (size_t i = 0; i < contest.results.size(); ++i) {
    const KernelImplementation &candidate = kernel.candidates[i];
    const Measurement &measured = contest.results[i];
    // Which sizes are fixed decides whether a library is asked at load or at
    // the first run.
    if (candidate.mayNotExist && (absl::IsNotFound(contest.loaded[i]) ||
                                  measured.code == absl::StatusCode::kNotFound))
      continue;
    if (measured.microseconds < 0)
      failure.Update(absl::InternalError(measured.note));
    result.candidates.push_back({kernel.function.getSymName().str(),
                                 labelOf(candidate), measured.microseconds,
                                 static_cast<int>(i) == best, measured.note});
  }
  // What could not be run alone may run in the model; what was wrong may not.
  const bool isAnyWrong =
      llvm::any_of(contest.results, [](const Measurement &measured) {
        return measured.isWrong;
      });
  if (best < 0 && (rules.mustRun || isAnyWrong))
    return fail(kernel, failure);
  const size_t first = std::max(best, 0);
  keepTime(kernel, contest.results[first]);
  contest.race->keepPrepared(first, kernel.candidates[first]);
  take(kernel, first, unsearched < 0 ? first : unsearched);
}

absl::Status
CandidateChooser::measureTogether(MutableArrayRef<Kernel *> group) {
  // Plans are built here, MLIR being single-threaded.
  std::vector<Contest> contests;
  Work work;
  for (Kernel *kernel : group) {
    const size_t count = kernel->candidates.size();
    contests.push_back(
        {kernel,
         raceCandidates(target, module, *kernel, kernel->candidates, constants),
         std::vector<Measurement>(count), std::vector<absl::Status>(count)});
    chosen.measured += count > 1;
  }
  for (Contest &contest : contests)
    for (auto [i, candidate] : llvm::enumerate(contest.kernel->candidates))
      if (candidate.leastMicroseconds <= 0)
        work.emplace_back(&contest, i);
  Preparation ahead(rules.judgementThreads, rules.loadThreads);
  for (Contest &contest : contests)
    ahead.prepareJudgement(*contest.race);
  load(work);
  for (auto [number, contest] : llvm::enumerate(contests)) {
    ahead.awaitJudgement(number);
    AITUNE_RETURN_IF_ERROR(measure(contest));
    bool isLast = true;
    for (auto [i, late] : llvm::enumerate(contest.kernel->candidates))
      if (isOpen(contest, late)) {
        ahead.prepareLoad(*contest.race, i);
        isLast = false;
      }
    const int best = fastest(contest.results, rules.earlierWinsTies);
    for (size_t i = 0; i < contest.results.size(); ++i)
      if (isLast || static_cast<int>(i) != best)
        contest.race->drop(i);
    report("choosing candidates", ++done, kernels.size());
  }
  ahead.awaitLoads([this](size_t count, size_t all) {
    report("preparing late candidates", count, all);
  });
  AITUNE_RETURN_IF_ERROR(raceLateCandidates(contests));
  for (Contest &contest : contests)
    decide(contest);
  // The weights that candidates packed are most of the compiler's memory.
  contests.clear();
  malloc_trim(0);
  return absl::OkStatus();
}

absl::StatusOr<ChosenKernels> CandidateChooser::run() {
  SmallVector<Kernel *> group;
  auto measureGroup = [&] {
    const absl::Status measured =
        group.empty() ? absl::OkStatus() : measureTogether(group);
    group.clear();
    return measured;
  };
  for (Kernel &kernel : kernels) {
    if (kernel.launches.empty() || kernel.candidates.empty())
      continue;
    if (!dropLeftOut(kernel)) {
      fail(kernel, absl::InternalError("all that runs it was found wrong"));
      continue;
    }
    if (absl::Status refused = dropRefused(kernel, module, target, constants);
        kernel.candidates.empty()) {
      fail(kernel, refused);
      continue;
    }
    if (!options.measureCandidates) {
      take(kernel, 0, 0);
      report("choosing candidates", ++done, kernels.size());
      continue;
    }
    group.push_back(&kernel);
    if (group.size() == rules.kernels)
      AITUNE_RETURN_IF_ERROR(measureGroup());
  }
  AITUNE_RETURN_IF_ERROR(measureGroup());
  return std::move(chosen);
}

} // namespace

absl::StatusOr<ChosenKernels>
chooseCandidates(MutableArrayRef<Kernel> kernels, ModuleOp module,
                 const CompilationTarget &target,
                 absl::Span<const ConstantTensor> constants,
                 const CompileOptions &options, CompileResult &result) {
  return CandidateChooser(kernels, module, target, constants, options, result)
      .run();
}

} // namespace aitune
