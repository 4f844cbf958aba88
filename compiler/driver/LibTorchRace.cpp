#include "compiler/driver/LibTorchRace.h"

#include <algorithm>
#include <chrono>
#include <set>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "compiler/candidates/LaunchModel.h"
#include "compiler/dialect/KernelAttributes.h"
#include "compiler/driver/OperatorGroups.h"
#include "compiler/measure/Measure.h"
#include "compiler/plan/PlanBuilder.h"
#include "runtime/status/status_macros.h"
#include "llvm/ADT/StringMap.h"

using namespace mlir;

namespace aitune {
namespace {

/// Kernels that take less of a run are not worth a measurement: microseconds of
/// one group of launches, and the share of all kernels' time.
constexpr double kLeastMicroseconds = 5, kLeastShare = 0.02;
/// LibTorch must take less than this of the kernels' time. What is lost between
/// the kernels and what LibTorch runs shows in the whole model alone.
constexpr double kMargin = 0.97;
/// The same where LibTorch runs only the costliest operators: the others become
/// kernels of their own, whose time is not known.
constexpr double kCoreMargin = 0.6;
/// LibTorch is measured again, and the kernels beside it, if its first time, at
/// its fastest, is less than this of the kernels': those were measured at
/// another time, and a busy machine slows LibTorch most, whose threads wait for
/// each other.
constexpr double kFirstMargin = 1.5;
/// How often both are measured then, in turn; once if the kernels take as long
/// as kLongRun.
constexpr int kTurns = 2;
/// Seconds of each measurement.
constexpr double kSeconds = 0.02;
/// Of the build so far, the share that the race may take. Forms with the
/// greatest share come first.
constexpr double kBuildShare = 0.1;

/// Groups of one form.
struct Form {
  std::vector<OperatorGroup> groups;
  double microseconds = 0; ///< the time of one group
  double total() const { return microseconds * groups.size(); }
};

class LibTorchRace {
public:
  LibTorchRace(ModuleOp module, const ChosenKernels &chosen,
               const CompilationTarget &target,
               absl::Span<const ConstantTensor> constants,
               const CompileOptions &options, CompileResult &result)
      : module(module), chosen(chosen), target(target), constants(constants),
        options(options), result(result) {}

  absl::StatusOr<std::vector<LibTorchWin>> run();

private:
  void collectForms();
  void race(const Form &form);
  absl::StatusOr<LibTorchPart> makePart(const OperatorGroup &group,
                                        bool isCore) const;
  absl::StatusOr<Measurement> time(const OperatorGroup &group,
                                   bool isCore) const;
  double timeAgain(const OperatorGroup &group);
  void add(const Form &form, double microseconds, double libtorch, bool isCore);

  ModuleOp module;
  const ChosenKernels &chosen;
  const CompilationTarget &target;
  const absl::Span<const ConstantTensor> constants;
  const CompileOptions &options;
  CompileResult &result;
  std::vector<Form> forms;
  std::set<int64_t> inGroups; ///< the operators of all groups
  double total = 0;           ///< microseconds of all kernels in a run
  std::vector<LibTorchWin> wins;
};

/// The least that a run may take by this measurement, in microseconds.
double fastestOf(const Measurement &measured) {
  return measured.least >= 0 ? measured.least : measured.low;
}

double undisturbed(const Measurement &measured) {
  return measured.undisturbed();
}

/// A kernel of a group.
struct LaunchedKernel {
  ait::LaunchOp first;  ///< the first launch of it
  int64_t launches = 0; ///< the number of its launches in the group
};

/// The kernels of a group, in the order of their first launches. A recurrent
/// layer has few of them and several launches a step.
std::vector<LaunchedKernel> kernelsOf(const OperatorGroup &group) {
  std::vector<LaunchedKernel> kernels;
  llvm::StringMap<size_t> places;
  for (ait::LaunchOp launch : group.launches) {
    const auto [place, isNew] =
        places.try_emplace(launch.getKernel(), kernels.size());
    if (isNew)
      kernels.push_back({launch});
    ++kernels[place->second].launches;
  }
  return kernels;
}

std::string namesOf(const OperatorGroup &group) {
  std::string names;
  for (LaunchedKernel &kernel : kernelsOf(group)) {
    absl::StrAppend(&names, names.empty() ? "" : "+");
    if (kernel.launches > 1)
      absl::StrAppend(&names, kernel.launches, " x ");
    absl::StrAppend(&names, kernel.first.getKernel().str());
  }
  return names;
}

/// Whether a launch of the group multiplies codes of 8 bits: the group is of a
/// layer that is asked for in 8 bits, which LibTorch's operator is not.
bool isOfCodes(const OperatorGroup &group, ModuleOp module) {
  return llvm::any_of(group.launches, [&](ait::LaunchOp launch) {
    auto kernel = module.lookupSymbol<func::FuncOp>(launch.getKernel());
    return kernel && kernel
                         .walk([](ait::MatmulOp matmul) {
                           return matmul.getRhs()
                                              .getType()
                                              .getElementType()
                                              .getIntOrFloatBitWidth() == 8
                                      ? WalkResult::interrupt()
                                      : WalkResult::advance();
                         })
                         .wasInterrupted();
  });
}

void LibTorchRace::collectForms() {
  std::map<std::string, Form> byForm;
  for (OperatorGroup &group : groupByOperators(module)) {
    double microseconds = 0;
    std::vector<LaunchedKernel> kernels = kernelsOf(group);
    bool isKnown = options.quantization.empty() || !isOfCodes(group, module);
    for (LaunchedKernel &kernel : kernels) {
      auto found = chosen.microseconds.find(kernel.first.getKernel());
      isKnown &= found != chosen.microseconds.end();
      if (found != chosen.microseconds.end())
        microseconds += kernel.launches * found->second;
    }
    total += microseconds;
    Form &form = byForm[group.form];
    form.microseconds = isKnown ? microseconds : 0;
    form.groups.push_back(std::move(group));
  }
  for (auto &[name, form] : byForm)
    forms.push_back(std::move(form));
  std::sort(forms.begin(), forms.end(),
            [](const Form &a, const Form &b) { return a.total() > b.total(); });
  for (const Form &form : forms)
    for (const OperatorGroup &group : form.groups)
      for (int64_t position : group.traceOps)
        inGroups.insert(position);
}

absl::StatusOr<LibTorchPart> LibTorchRace::makePart(const OperatorGroup &group,
                                                    bool isCore) const {
  std::set<int64_t> others = inGroups;
  for (int64_t position : group.traceOps)
    others.erase(position);
  AITUNE_ASSIGN_OR_RETURN(
      LibTorchPart part,
      options.libtorch.makePart(isCore ? group.core : group.traceOps, others));
  readSymbolsFromInputs(part.plan);
  part.plan.set_ignores_checks(true);
  return part;
}

absl::StatusOr<Measurement> LibTorchRace::time(const OperatorGroup &group,
                                               bool isCore) const {
  AITUNE_ASSIGN_OR_RETURN(LibTorchPart part, makePart(group, isCore));
  return target.timePart(part, constants, kSeconds);
}

/// The time of the group's launches, one after the other as in the model, where
/// each finds in the caches what the one before wrote. Measured at the time at
/// which LibTorch's was: the speed of a machine changes. Negative if it cannot
/// be measured.
double LibTorchRace::timeAgain(const OperatorGroup &group) {
  SmallVector<const KernelImplementation *> implementations;
  for (LaunchedKernel &kernel : kernelsOf(group)) {
    auto best = chosen.best.find(kernel.first.getKernel());
    if (best == chosen.best.end())
      return -1;
    implementations.push_back(&best->second);
  }
  func::FuncOp wrapper = wrapLaunches(module, group.launches);
  std::vector<RaceEntry> entries;
  entries.push_back(
      {buildLaunchesPlan(wrapper, ait::getModuleSymbols(module), chosen.best),
       objectsOf(implementations)});
  wrapper.erase();
  // Not for a kernel: each was judged when it was chosen.
  const std::unique_ptr<CandidateRace> race =
      target.race(std::move(entries), /*kernel=*/nullptr, constants);
  if (!race->load(0).ok())
    return -1;
  const absl::StatusOr<std::vector<Measurement>> measured =
      race->measure(kSeconds);
  return measured.ok() ? measured->front().undisturbed() : -1;
}

void LibTorchRace::add(const Form &form, double microseconds, double libtorch,
                       bool isCore) {
  LibTorchWin win;
  win.kernels = namesOf(form.groups.front());
  win.times = static_cast<int>(form.groups.size());
  win.microseconds = microseconds;
  win.libtorchMicroseconds = libtorch;
  win.share = form.total() / total;
  std::set<int64_t> positions;
  for (const OperatorGroup &group : form.groups) {
    // Equal kernels are of equal operators; where that is not so, the others
    // stay.
    absl::StatusOr<LibTorchPart> part = makePart(group, isCore);
    if (part.ok())
      positions.insert(part->traceOps.begin(), part->traceOps.end());
    else
      --win.times;
  }
  win.traceOps.assign(positions.begin(), positions.end());
  wins.push_back(std::move(win));
}

void LibTorchRace::race(const Form &form) {
  const OperatorGroup &group = form.groups.front();
  const std::string names = namesOf(group);
  absl::StatusOr<Measurement> all = absl::UnimplementedError("not measured"),
                              core = absl::UnimplementedError("it has none");
  if (!group.core.empty() && group.core.size() < group.traceOps.size())
    core = time(group, /*isCore=*/true);
  // The core is a part of all.
  if (!core.ok() || fastestOf(*core) < kFirstMargin * form.microseconds)
    all = time(group, /*isCore=*/false);
  if (!all.ok() && !core.ok()) {
    result.rejections.push_back(
        {"LibTorch", names, std::string(all.status().message())});
    return;
  }
  double ours = form.microseconds;
  auto isBeaten = [&](double (*timeOf)(const Measurement &), double margin) {
    return (all.ok() && timeOf(*all) < margin * kMargin * ours) ||
           (core.ok() && timeOf(*core) < margin * kCoreMargin * ours);
  };
  bool isFaster = isBeaten(fastestOf, kFirstMargin / kMargin);
  if (isFaster) {
    // All at the best of their times.
    double best = -1;
    const int turns = form.microseconds < kLongRun ? kTurns : 1;
    for (int turn = 0; turn < turns; ++turn) {
      if (const double again = timeAgain(group); again >= 0)
        best = best < 0 ? again : std::min(best, again);
      for (bool isCore : {false, true})
        if (absl::StatusOr<Measurement> &known = isCore ? core : all;
            known.ok())
          if (auto second = time(group, isCore);
              second.ok() && second->undisturbed() < known->undisturbed())
            *known = *second;
    }
    ours = best < 0 ? ours : best;
    isFaster = isBeaten(undisturbed, 1);
  }
  // What is pointwise goes into kernels, which LibTorch is not faster than.
  const bool isCore = core.ok();
  const double best = (isCore ? core : all)->undisturbed();
  result.candidates.push_back(
      {names, isCore ? "LibTorch, without what is pointwise" : "LibTorch", best,
       isFaster, ""});
  if (isFaster)
    add(form, ours, best, isCore);
}

absl::StatusOr<std::vector<LibTorchWin>> LibTorchRace::run() {
  collectForms();
  double spent = 0;
  for (const auto &[phase, seconds] : result.phaseSeconds)
    spent += seconds;
  const auto end = std::chrono::steady_clock::now() +
                   std::chrono::duration<double>(std::max(
                       options.libtorch.leastSeconds, kBuildShare * spent));
  int done = 0;
  for (const Form &form : forms) {
    if (options.progress)
      options.progress("racing against LibTorch", done++,
                       static_cast<int>(forms.size()));
    if (form.microseconds < kLeastMicroseconds ||
        form.total() < kLeastShare * total)
      continue;
    const std::string names = namesOf(form.groups.front());
    if (std::chrono::steady_clock::now() >= end) {
      result.rejections.push_back(
          {"LibTorch", names, "the race took its share of the build"});
      continue;
    }
    race(form);
    AITUNE_RETURN_IF_ERROR(
        checkUsable(target, absl::StrCat("comparing ", names,
                                         " with LibTorch's operators")));
  }
  return std::move(wins);
}

} // namespace

absl::StatusOr<std::vector<LibTorchWin>>
raceLibTorch(ModuleOp module, const ChosenKernels &chosen,
             const CompilationTarget &target,
             absl::Span<const ConstantTensor> constants,
             const CompileOptions &options, CompileResult &result) {
  return LibTorchRace(module, chosen, target, constants, options, result).run();
}

double savedShare(const std::vector<LibTorchWin> &wins) {
  double saved = 0;
  for (const LibTorchWin &win : wins)
    saved += win.share * (1 - win.libtorchMicroseconds / win.microseconds);
  return saved;
}

std::map<int64_t, std::string> reasonsOf(const std::vector<LibTorchWin> &wins) {
  std::map<int64_t, std::string> reasons;
  for (const LibTorchWin &win : wins)
    for (int64_t position : win.traceOps)
      reasons[position] =
          absl::StrFormat("LibTorch is faster: %.1f us against %.1f us",
                          win.libtorchMicroseconds, win.microseconds);
  return reasons;
}

} // namespace aitune
