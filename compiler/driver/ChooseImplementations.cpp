// What is found of the ways to run kernels and the model: by search, by
// measuring, or in the tuning database.
#include <algorithm>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "compiler/candidates/CandidateChoice.h"
#include "compiler/driver/Compilation.h"
#include "compiler/plan/PlanBuilder.h"
#include "compiler/plan/Provenance.h"
#include "compiler/tune/ModelChoice.h"
#include "compiler/tune/TuneSchedules.h"
#include "mlir/IR/TypeUtilities.h"

using namespace mlir;

namespace aitune {
namespace {

/// Seconds at most that the comparison of the whole model takes.
constexpr double kModelSeconds = 2;
/// Milliseconds of a run below which one thread may be enough.
constexpr double kSmallMilliseconds = 4;

/// Removes candidates from the front that a library has no code for on this
/// machine; what was generated stays. The reason of the last that was removed,
/// empty if none was.
std::string dropUnsupported(ModuleOp module, Kernel &kernel,
                            absl::Span<const ConstantTensor> constants) {
  auto callsLibrary = [](const ImplementationStep &step) {
    return step.call.has_matmul() || step.call.has_convolution();
  };
  std::string reason;
  func::FuncOp wrapper;
  while (!kernel.candidates.empty() &&
         llvm::any_of(kernel.candidates.front().steps, callsLibrary)) {
    ait::LaunchOp launch = kernel.launches.front();
    if (!wrapper)
      wrapper = wrapLaunch(module, launch);
    auto loaded =
        loadCandidate(wrapper, module->getAttrOfType<ArrayAttr>("ait.symbols"),
                      launch.getKernel(), kernel.candidates.front(), constants);
    // What is computed once at load is no constant of the kernel alone. That is
    // no reason, but where a CPU has no float16 at all.
    bool isFloat16 = llvm::any_of(launch.getInputs(), [](Value input) {
      return getElementTypeOrSelf(input.getType()).isF16();
    });
    if (loaded.ok() ||
        (!isFloat16 &&
         absl::StrContains(loaded.status().message(), "is no constant")))
      break;
    reason = std::string(loaded.status().message());
    kernel.candidates.erase(kernel.candidates.begin());
  }
  if (wrapper)
    wrapper.erase();
  return reason;
}

/// The objects of the kernels' implementations, in the kernels' order.
std::vector<KernelObject>
objectsOf(llvm::ArrayRef<Kernel> kernels,
          const llvm::StringMap<KernelImplementation> &implementations) {
  std::vector<KernelObject> objects;
  for (const Kernel &kernel : kernels) {
    auto found =
        implementations.find(func::FuncOp(kernel.function).getSymName());
    if (found != implementations.end())
      llvm::append_range(objects, found->second.objects);
  }
  return objects;
}

} // namespace

absl::Status Compilation::chooseImplementations() {
  chooseCandidates();
  if (!result.failures.empty())
    return absl::OkStatus();
  if (isSearching())
    if (absl::Status status = chooseModel(); !status.ok())
      return status;
  result.objects = objectsOf(kernels, implementations);
  return absl::OkStatus();
}

void Compilation::chooseCandidates() {
  const PhaseTimer timer(result, "candidate choice");
  int done = 0;
  for (Kernel &kernel : kernels) {
    if (kernel.launches.empty() || kernel.candidates.empty())
      continue;
    const std::string unsupported = dropUnsupported(module, kernel, constants);
    if (kernel.candidates.empty()) {
      result.failures.push_back({kernel.function.getSymName().str(),
                                 unsupported,
                                 traceOps(kernel.function, kernel.launches)});
      continue;
    }
    compileCounters().measurements +=
        options.measureCandidates && kernel.candidates.size() > 1;
    const KernelChoice choice =
        options.measureCandidates
            ? chooseByMeasurement(module, kernel.launches.front(),
                                  kernel.candidates, constants, result)
            : KernelChoice();
    const KernelImplementation &chosen = kernel.candidates[choice.best];
    kernel.chosenCut = chosen.cut;
    const StringRef name = kernel.function.getSymName();
    implementations[name] = chosen;
    unsearched[name] = kernel.candidates[choice.unsearched];
    kernel.candidates.clear();
    report("choosing candidates", ++done, static_cast<int>(kernels.size()));
  }
}

absl::StatusOr<ExecutablePlan> Compilation::planOf(
    const llvm::StringMap<KernelImplementation> &implementations) {
  auto main = module.lookupSymbol<func::FuncOp>("main");
  if (!main)
    return absl::InvalidArgumentError("the module has no function @main");
  return buildPlan(main, symbols(), implementations);
}

/// The whole model with what the search found, and without; a small one also on
/// one thread.
absl::Status Compilation::chooseModel() {
  const PhaseTimer timer(result, "model comparison");
  report("comparing the model with its default", 0, 1);
  std::vector<ModelVariant> variants;
  auto add = [&](const std::string &name,
                 const llvm::StringMap<KernelImplementation> &kernelsOf,
                 bool oneThread) {
    ModelVariant variant{name, {}, {}};
    absl::StatusOr<ExecutablePlan> plan = planOf(kernelsOf);
    if (!plan.ok())
      return plan.status();
    variant.plan = *std::move(plan);
    if (oneThread)
      useOneThread(variant.plan);
    variant.objects = objectsOf(kernels, kernelsOf);
    variants.push_back(std::move(variant));
    return absl::OkStatus();
  };
  const double seconds =
      std::clamp(0.1 * options.tuning.budgetSeconds, 0.3, kModelSeconds);
  for (bool oneThread : {false, true})
    for (const auto *kernelsOf : {&unsearched, &implementations})
      if (absl::Status status =
              add(absl::StrCat(kernelsOf == &unsearched ? "default" : "tuned",
                               oneThread ? " on one thread" : ""),
                  *kernelsOf, oneThread);
          !status.ok())
        return status;
  // One thread halves what large models reach: they are not asked.
  constexpr size_t kTuned = 1, kOnAllThreads = 2;
  double milliseconds = 0;
  absl::StatusOr<std::vector<Measurement>> measured = measureVariants(
      absl::MakeSpan(variants).first(kOnAllThreads), constants, seconds);
  if (measured.ok() && !measured->empty()) {
    milliseconds = measured->front().microseconds / 1e3;
    if (milliseconds >= 0 && milliseconds < kSmallMilliseconds)
      measured = measureVariants(variants, constants, seconds);
  }
  if (!measured.ok())
    return measured.status();
  const size_t choice =
      measured->empty() ? kTuned : chooseVariant(*measured, kTuned);
  for (size_t i = 0; i < measured->size(); ++i)
    result.candidates.push_back({"the whole model", variants[i].name,
                                 (*measured)[i].microseconds, i == choice,
                                 (*measured)[i].note});
  runsOnOneThread = choice >= kOnAllThreads;
  const bool keepsDefaults = choice % kOnAllThreads != kTuned;
  absl::Status kept = choices->keepThreads(model, runsOnOneThread);
  if (kept.ok())
    kept = choices->keepCuts(kernels);
  if (kept.ok() && keepsDefaults)
    kept = choices->keepDefaults(kernels);
  if (!kept.ok())
    result.tuning.note = std::string(kept.message());
  if (keepsDefaults) {
    implementations = unsearched;
    if (result.tuning.note.empty())
      result.tuning.note = absl::StrCat(
          "the default schedules stay: the whole model takes ",
          (*measured)[kTuned].microseconds / 1e3, " ms with those found, ",
          milliseconds, " ms with the default ones");
  }
  return absl::OkStatus();
}

/// Searches schedules, or takes what the database knows. Problems never fail
/// the build: they end the search and stand in result.tuning.note.
absl::Status Compilation::tune() {
  if (options.tuning.database.empty() && !isSearching())
    return absl::OkStatus();
  const PhaseTimer timer(result, "tuning");
  absl::StatusOr<TuningChoices> opened =
      TuningChoices::open(options, symbols(), constantBytes());
  if (!opened.ok())
    return opened.status();
  choices = *std::move(opened);
  if (auto main = module.lookupSymbol<func::FuncOp>("main"))
    model = printToString(main);
  absl::Status status;
  if (isSearching()) {
    status = tuneSchedules(kernels, symbols(), *choices, options, result);
  } else {
    absl::StatusOr<int> reused = choices->apply(kernels);
    absl::StatusOr<bool> oneThread = choices->usesOneThread(model);
    status = reused.ok() ? oneThread.status() : reused.status();
    if (status.ok()) {
      result.tuning.reused = *reused;
      runsOnOneThread = *oneThread;
    }
  }
  result.tuning.seconds = timer.seconds();
  return status;
}

} // namespace aitune
