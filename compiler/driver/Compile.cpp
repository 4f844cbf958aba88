// The whole compiler from top to bottom. Everything that differs between
// devices is in implementations of CompilationTarget.

#include <algorithm>
#include <atomic>
#include <chrono>
#include <memory>
#include <optional>
#include <thread>

#include "absl/strings/str_cat.h"
#include "compiler/Compiler.h"
#include "compiler/candidates/CandidateChoice.h"
#include "compiler/candidates/CompilationTarget.h"
#include "compiler/candidates/GenerateCandidates.h"
#include "compiler/candidates/Kernel.h"
#include "compiler/candidates/KernelCompiler.h"
#include "compiler/dialect/KernelAttributes.h"
#include "compiler/driver/CollectKernels.h"
#include "compiler/driver/Constants.h"
#include "compiler/driver/KnownKernels.h"
#include "compiler/driver/LayerTimer.h"
#include "compiler/driver/LibTorchExchange.h"
#include "compiler/driver/QuantizeLayers.h"
#include "compiler/driver/Repair.h"
#include "compiler/driver/SizeAlternatives.h"
#include "compiler/pipelines/Pipelines.h"
#include "compiler/plan/PlanBuilder.h"
#include "compiler/plan/Provenance.h"
#include "compiler/support/Dump.h"
#include "compiler/support/Parallel.h"
#include "compiler/tune/ModelChoice.h"
#include "compiler/tune/TuneSchedules.h"
#include "compiler/tune/TuningChoices.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/Pass/PassManager.h"

using namespace mlir;

namespace aitune {
namespace {

/// Seconds at most that the comparison of the whole model takes, the least that
/// it needs, and its share of a search's budget.
constexpr double kMostModelSeconds = 2, kLeastModelSeconds = 0.3,
                 kModelShare = 0.1;

/// Of the process; see CompileCounts.
struct CompileCounters {
  std::atomic<int64_t> graphs{0}, kernels{0}, measurements{0};
};

CompileCounters &compileCounters() {
  static CompileCounters counters;
  return counters;
}

/// Adds the seconds from its making to its end to a result's phases.
class PhaseTimer {
public:
  PhaseTimer(CompileResult &result, const char *phase)
      : result(result), phase(phase), start(std::chrono::steady_clock::now()) {}
  PhaseTimer(const PhaseTimer &) = delete;
  PhaseTimer &operator=(const PhaseTimer &) = delete;
  ~PhaseTimer() { result.phaseSeconds.emplace_back(phase, seconds()); }
  double seconds() const {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() -
                                         start)
        .count();
  }

private:
  CompileResult &result;
  const char *const phase;
  const std::chrono::steady_clock::time_point start;
};

/// The objects of the kernels' implementations, in the kernels' order.
std::vector<KernelObject>
objectsOf(ArrayRef<Kernel> kernels,
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

/// One run of the compiler: what its phases share.
class Compilation {
public:
  Compilation(ModuleOp module, absl::Span<const ConstantTensor> constants,
              const CompileOptions &options)
      : module(module), constants(constants), modelConstants(constants.size()),
        options(options), dump(options.dumpDirectory, "graph") {}

  absl::StatusOr<CompileResult> run();
  /// After `run`, which gave `own`: leaves to LibTorch what it runs faster.
  absl::StatusOr<CompileResult> leaveToLibTorch(CompileResult own);

private:
  bool isLast(CompilePhase phase);
  absl::Status quantize();
  absl::Status transform();
  absl::Status fuse();
  absl::Status runPasses(const char *phase,
                         llvm::function_ref<void(OpPassManager &)> build);
  CompileResult printKernels();
  absl::Status findSchedules();
  void generate();
  absl::Status choose();
  absl::Status chooseWholeModel();
  absl::Status buildModel();
  absl::Status repairModel();
  const TuningChoices *knownChoices() const {
    return choices ? &*choices : nullptr;
  }
  bool isSearching() const { return options.tuning.budgetSeconds > 0; }
  void report(const char *phase, int done, int total) const {
    if (options.progress)
      options.progress(phase, done, total);
  }
  func::FuncOp mainFunction() {
    return module.lookupSymbol<func::FuncOp>("main");
  }
  ArrayAttr symbols() { return ait::getModuleSymbols(module); }
  /// The model's constants and those of the result, which passes may add to.
  ConstantPool pool();
  /// Puts what passes added to the result behind the model's constants.
  void takeNewConstants();

  ModuleOp module;
  /// Those of the model, then the new ones.
  absl::Span<const ConstantTensor> constants;
  const size_t modelConstants; ///< the number of the model's constants
  /// What `constants` refers to once there are new ones.
  std::vector<ConstantTensor> allConstants;
  const CompileOptions &options;
  const Dump dump;
  CompileResult result;
  std::unique_ptr<CompilationTarget> target;
  std::vector<Kernel> kernels;
  /// Set when schedules are searched or a database is there.
  std::optional<TuningChoices> choices;
  ChosenKernels chosen;
  std::optional<Repair> repair; ///< once there are candidates
  std::string fusedMain;        ///< the text of @main, once kernels are formed
  bool runsOnOneThread = false;
  /// Of linear layers to quantise. An earlier compilation's knows their times,
  /// so that this one quantises the same.
  std::shared_ptr<LayerTimer> layerTimer;
  /// What an earlier compilation knows, and its kernels that are ours, too.
  std::optional<KnownKernels> known;
  std::vector<Kernel> knownKernels;
};

absl::StatusOr<CompileResult> Compilation::run() {
  dump.write("0-import.mlir", module);
  if (isLast(CompilePhase::Import))
    return std::move(result);
  if (!options.quantization.empty())
    if (absl::Status status = quantize(); !status.ok())
      return status;
  absl::StatusOr<std::unique_ptr<CompilationTarget>> created =
      createTarget(options, bytesOf(constants));
  if (!created.ok())
    return created.status();
  target = *std::move(created);

  if (absl::Status status = transform(); !status.ok())
    return status;
  if (isLast(CompilePhase::Transformed))
    return std::move(result);
  if (absl::Status status = fuse(); !status.ok())
    return status;
  if (isLast(CompilePhase::Fused))
    return std::move(result);
  kernels = collectKernels(module);
  result.uniqueKernels = kernels.size();
  for (const Kernel &kernel : kernels)
    result.kernels += kernel.launches.size();
  if (options.compileTo != CompilePhase::Executable)
    return printKernels();

  if (absl::Status status = target->open(); !status.ok())
    return status;
  if (known)
    knownKernels = known->take(module, kernels, chosen);
  if (absl::Status status = findSchedules(); !status.ok()) {
    if (!target->usable().ok())
      return status;
    result.tuning.note = std::string(status.message());
  }
  generate();
  if (!result.failures.empty())
    return std::move(result);
  const absl::Status chose = choose();
  if (!chose.ok() || !result.failures.empty()) {
    repair->keepWrong(knownChoices());
    if (!chose.ok())
      return chose;
    return std::move(result);
  }
  if (isSearching() && choices)
    if (absl::Status status = chooseWholeModel(); !status.ok())
      return status;
  if (absl::Status status = buildModel(); !status.ok())
    return status;
  if (!options.audit.inputs.empty())
    if (absl::Status status = repairModel(); !status.ok())
      return status;
  repair->keepWrong(knownChoices());
  return std::move(result);
}

bool Compilation::isLast(CompilePhase phase) {
  if (options.compileTo != phase)
    return false;
  result.ir = printToString(module);
  return true;
}

absl::Status Compilation::quantize() {
  const absl::StatusOr<AskedQuantization> asked = readQuantization(options);
  if (!asked.ok())
    return asked.status();
  if (!layerTimer)
    layerTimer = std::make_shared<LayerTimer>(options, constants, symbols());
  quant::LayerTimer timer;
  if (options.measureCandidates)
    timer = [&](ArrayRef<ait::MatmulOp> group, const quant::Way &way) {
      report("timing layers", 0, 0);
      return layerTimer->time(group, way);
    };
  if (absl::Status status =
          runPasses("quantisation",
                    [&](OpPassManager &passManager) {
                      addQuantizationPasses(passManager, *asked, options.layers,
                                            pool(), timer, result);
                    });
      !status.ok())
    return status;
  takeNewConstants();
  return checkQuantized(asked->options, result);
}

ConstantPool Compilation::pool() {
  ConstantPool pool;
  pool.find = [this](int64_t number) -> const ConstantTensor * {
    const auto position = static_cast<size_t>(number);
    if (number >= 0 && position < modelConstants)
      return &constants[position];
    if (number < 0 || position - modelConstants >= result.newConstants.size())
      return nullptr;
    return &result.newConstants[position - modelConstants];
  };
  pool.add = [this](ConstantTensor constant) {
    result.newConstants.push_back(std::move(constant));
    return static_cast<int64_t>(modelConstants + result.newConstants.size()) -
           1;
  };
  return pool;
}

void Compilation::takeNewConstants() {
  std::vector<ConstantTensor> all(constants.begin(),
                                  constants.begin() + modelConstants);
  all.insert(all.end(), result.newConstants.begin(), result.newConstants.end());
  allConstants = std::move(all);
  constants = allConstants;
}

absl::Status Compilation::transform() {
  absl::Status status =
      runPasses("transforms", [&](OpPassManager &passManager) {
        TransformOptions transforms;
        transforms.uncheckedIndices = options.uncheckedIndices;
        transforms.constants = [this](int64_t constant) {
          return rangeOf(constants, constant);
        };
        transforms.pool = pool();
        target->addTransformPasses(passManager, std::move(transforms));
      });
  takeNewConstants();
  return status;
}

absl::Status Compilation::fuse() {
  auto reject = [this](Operation *op, StringRef reason) {
    result.rejections.push_back({"fusion", describe(op), reason.str()});
  };
  return runPasses("fusion", [&](OpPassManager &passManager) {
    buildFusionPipeline(passManager, reject);
  });
}

absl::Status
Compilation::runPasses(const char *phase,
                       llvm::function_ref<void(OpPassManager &)> build) {
  std::string errors;
  ScopedDiagnosticHandler handler(
      module.getContext(), [&](Diagnostic &diagnostic) {
        if (diagnostic.getSeverity() == DiagnosticSeverity::Error)
          absl::StrAppend(&errors, errors.empty() ? "" : "; ",
                          diagnostic.str());
        return success();
      });
  report(phase, 0, 1);
  {
    const PhaseTimer timer(result, phase);
    PassManager passManager(module.getContext());
    build(passManager);
    if (failed(passManager.run(module)))
      return absl::InternalError(absl::StrCat(phase, ": ", errors));
  }
  dump.write(absl::StrCat(result.phaseSeconds.size(), "-", phase, ".mlir"),
             module);
  report(phase, 1, 1);
  return absl::OkStatus();
}

/// The phases after fusion print code for the CPU, whatever the target.
CompileResult Compilation::printKernels() {
  std::vector<std::string> texts;
  for (const Kernel &kernel : kernels)
    texts.push_back(moduleText(kernel.function, symbols()));
  std::vector<absl::StatusOr<std::string>> outcomes(
      texts.size(), absl::UnknownError("not printed"));
  inParallel(texts.size(),
             options.threads > 0 ? options.threads
                                 : std::thread::hardware_concurrency(),
             [&](size_t i) {
               outcomes[i] =
                   printKernel(texts[i],
                               {options.emulateEagerCasts, options.target,
                                options.dumpDirectory},
                               options.compileTo);
             });
  for (auto [kernel, printed] : llvm::zip_equal(kernels, outcomes)) {
    if (printed.ok())
      absl::StrAppend(&result.ir, *printed);
    else
      result.failures.push_back({kernel.function.getSymName().str(),
                                 std::string(printed.status().message()),
                                 traceOps(kernel.function, kernel.launches)});
  }
  return std::move(result);
}

/// Searches schedules, or uses those of the database. An error ends the search
/// but does not fail the build.
absl::Status Compilation::findSchedules() {
  if (options.tuning.database.empty() && !isSearching())
    return absl::OkStatus();
  const PhaseTimer timer(result, "tuning");
  absl::StatusOr<TuningChoices> opened =
      TuningChoices::open(options.tuning.database, *target, symbols());
  if (!opened.ok())
    return opened.status();
  choices = *std::move(opened);
  if (func::FuncOp main = mainFunction())
    fusedMain = printToString(main);
  absl::Status status;
  if (isSearching()) {
    status = tuneSchedules(kernels, module, constants, *target, *choices,
                           options, result);
  } else {
    absl::StatusOr<int> reused = choices->apply(kernels);
    absl::StatusOr<bool> oneThread = choices->usesOneThread(fusedMain);
    status = reused.ok() ? oneThread.status() : reused.status();
    if (status.ok()) {
      result.tuning.reused = *reused;
      runsOnOneThread |= *oneThread;
    }
  }
  result.tuning.seconds = timer.seconds();
  return status;
}

void Compilation::generate() {
  const PhaseTimer timer(result, "code generation");
  compileCounters().kernels += static_cast<int64_t>(
      generateCandidates(kernels, module, *target, result));
}

absl::Status Compilation::choose() {
  const PhaseTimer timer(result, "candidate choice");
  repair.emplace(module, kernels, *target, constants, options, result);
  repair->leaveOutKnown(knownChoices());
  absl::StatusOr<ChosenKernels> found = repair->choose();
  if (!found.ok())
    return found.status();
  compileCounters().measurements += found->measured;
  // A model that is being repaired is looked through at one combination of
  // sizes, so that it has one way for all.
  if (target->raceRules().choosesBySize && options.measureCandidates &&
      options.audit.inputs.empty() && result.failures.empty())
    if (absl::Status status = chooseForSmallerSizes(
            module, kernels, *target, constants, options, *found, result);
        !status.ok())
      return status;
  for (const auto &entry : chosen.best)
    found->best[entry.getKey()] = found->unsearched[entry.getKey()] =
        entry.getValue();
  chosen = *std::move(found);
  llvm::append_range(kernels, std::exchange(knownKernels, {}));
  return absl::OkStatus();
}

/// Compares the whole model with the schedules that the search found and with
/// the default ones.
absl::Status Compilation::chooseWholeModel() {
  const PhaseTimer timer(result, "model comparison");
  report("comparing the model with its default", 0, 1);
  absl::StatusOr<ModelChoice> model =
      chooseModel(mainFunction(), symbols(), chosen, *target, constants,
                  std::clamp(kModelShare * options.tuning.budgetSeconds,
                             kLeastModelSeconds, kMostModelSeconds),
                  result);
  if (!model.ok())
    return model.status();
  if (absl::Status usable = checkUsable(*target, "the model's comparison");
      !usable.ok())
    return usable;
  runsOnOneThread = model->oneThread;
  absl::Status kept = choices->keepThreads(fusedMain, runsOnOneThread);
  if (kept.ok())
    kept = choices->keepCuts(kernels);
  if (kept.ok() && model->keepsDefaults)
    kept = choices->keepDefaults(kernels);
  if (!kept.ok())
    result.tuning.note = std::string(kept.message());
  if (model->keepsDefaults)
    chosen.best = chosen.unsearched;
  return absl::OkStatus();
}

absl::Status Compilation::buildModel() {
  func::FuncOp main = mainFunction();
  if (!main)
    return absl::InvalidArgumentError("the module has no function @main");
  absl::StatusOr<ExecutablePlan> plan = buildPlan(main, symbols(), chosen.best);
  if (!plan.ok())
    return plan.status();
  result.plan = *std::move(plan);
  result.plan.set_device(target->device());
  if (runsOnOneThread)
    useOneThread(result.plan);
  result.objects = objectsOf(kernels, chosen.best);
  return absl::OkStatus();
}

absl::Status Compilation::repairModel() {
  const PhaseTimer timer(result, "audit");
  return repair->run(chosen, [this] { return buildModel(); });
}

absl::StatusOr<CompileResult> Compilation::leaveToLibTorch(CompileResult own) {
  CompileOptions again = options;
  again.libtorch = LibTorchOptions();
  // What the search found is known.
  again.tuning.budgetSeconds = 0;
  if (!again.dumpDirectory.empty())
    again.dumpDirectory += "/with_libtorch";
  std::optional<Compilation> second;
  return exchangeWithLibTorch(
      std::move(own), {module, chosen, *target, constants}, options,
      [&](ModuleOp other) -> absl::StatusOr<CompiledAgain> {
        second.emplace(other, constants.first(modelConstants), again);
        second->known.emplace(module, kernels, chosen);
        second->runsOnOneThread = runsOnOneThread;
        second->layerTimer = layerTimer;
        absl::StatusOr<CompileResult> compiled = second->run();
        if (!compiled.ok())
          return compiled.status();
        return CompiledAgain{*std::move(compiled), second->constants};
      });
}

} // namespace

CompileCounts compileCounts() {
  const CompileCounters &counters = compileCounters();
  return {counters.graphs, counters.kernels, counters.measurements};
}

absl::StatusOr<CompileResult>
compile(ModuleOp module, absl::Span<const ConstantTensor> constants,
        const CompileOptions &options) {
  ++compileCounters().graphs;
  Compilation compilation(module, constants, options);
  absl::StatusOr<CompileResult> result = compilation.run();
  // A model that is being repaired keeps what was found wrong out of it.
  if (!options.libtorch.makePart || !options.audit.inputs.empty() ||
      !result.ok() || !result->failures.empty() || !result->ir.empty())
    return result;
  return compilation.leaveToLibTorch(*std::move(result));
}

} // namespace aitune
