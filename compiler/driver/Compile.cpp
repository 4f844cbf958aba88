// The whole compiler from top to bottom. Everything that differs between
// devices is in implementations of CompilationTarget.

#include <memory>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "compiler/Compiler.h"
#include "compiler/candidates/CandidateChoice.h"
#include "compiler/candidates/CompilationTarget.h"
#include "compiler/candidates/GenerateCandidates.h"
#include "compiler/candidates/Kernel.h"
#include "compiler/dialect/KernelAttributes.h"
#include "compiler/driver/CollectKernels.h"
#include "compiler/driver/CompileCounters.h"
#include "compiler/driver/Constants.h"
#include "compiler/driver/KnownKernels.h"
#include "compiler/driver/LayerTimer.h"
#include "compiler/driver/LibTorchExchange.h"
#include "compiler/driver/ModelConstants.h"
#include "compiler/driver/ModelSchedules.h"
#include "compiler/driver/PhaseTimer.h"
#include "compiler/driver/PrintKernels.h"
#include "compiler/driver/QuantizeLayers.h"
#include "compiler/driver/Repair.h"
#include "compiler/driver/SizeAlternatives.h"
#include "compiler/driver/WholeModelGain.h"
#include "compiler/pipelines/Pipelines.h"
#include "compiler/plan/PlanBuilder.h"
#include "compiler/plan/Provenance.h"
#include "compiler/support/Dump.h"
#include "compiler/tune/ModelChoice.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/Pass/PassManager.h"
#include "runtime/status/status_macros.h"

using namespace mlir;

namespace aitune {
namespace {

/// Seconds to time a whole model with and without quantised layers.
constexpr double kWholeModelSeconds = 0.5;

/// One run of the compiler: what its phases share.
class Compilation {
public:
  Compilation(ModuleOp module, absl::Span<const ConstantTensor> constants,
              const CompileOptions &options)
      : module(module), options(options), dump(options.dumpDirectory, "graph"),
        constants(constants, result.newConstants),
        schedules(module, options, result) {}

  absl::StatusOr<CompileResult> run();
  /// After `run`, which gave `own` here, as the other did: what both models
  /// take as a whole, this one being quantised.
  absl::StatusOr<WholeModelTimes> timeBeside(const CompileResult &own,
                                             const Compilation &other,
                                             const CompileResult &others) const;
  /// Before `run`: `other` has timed linear layers of this model.
  void knowTimesOf(const Compilation &other) { layerTimer = other.layerTimer; }
  /// After `run`, which gave `own`: leaves to LibTorch what it runs faster.
  absl::StatusOr<CompileResult> leaveToLibTorch(CompileResult own);

private:
  bool isLast(CompilePhase phase);
  absl::Status quantize();
  absl::Status transform();
  absl::Status fuse();
  absl::Status runPasses(const char *phase,
                         llvm::function_ref<void(OpPassManager &)> build);
  void generate();
  absl::Status choose();
  absl::Status buildModel();
  absl::Status repairModel();
  void report(const char *phase, int done, int total) const {
    if (options.progress)
      options.progress(phase, done, total);
  }
  ArrayAttr symbols() { return ait::getModuleSymbols(module); }

  ModuleOp module;
  const CompileOptions &options;
  const Dump dump;
  CompileResult result;
  ModelConstants constants; ///< the new ones are the result's
  std::unique_ptr<CompilationTarget> target;
  std::vector<Kernel> kernels;
  ModelSchedules schedules;
  ChosenKernels chosen;
  std::optional<Repair> repair; ///< once there are candidates
  /// The timer of linear layers to quantise. An earlier compilation's knows
  /// their times, so that this one quantises the same.
  std::shared_ptr<LayerTimer> layerTimer;
  /// What an earlier compilation knows, and its kernels that are ours, too.
  std::optional<KnownKernels> known;
  std::vector<Kernel> knownKernels;
};

absl::StatusOr<CompileResult> Compilation::run() {
  dump.write("0-import.mlir", module);
  if (isLast(CompilePhase::Import))
    return std::move(result);
  if (options.compileTo == CompilePhase::Executable)
    AITUNE_RETURN_IF_ERROR(checkGenerator(options));
  if (!options.quantization.empty())
    AITUNE_RETURN_IF_ERROR(quantize());
  AITUNE_ASSIGN_OR_RETURN(target,
                          createTarget(options, bytesOf(constants.all())));

  AITUNE_RETURN_IF_ERROR(transform());
  if (isLast(CompilePhase::Transformed))
    return std::move(result);
  AITUNE_RETURN_IF_ERROR(fuse());
  if (isLast(CompilePhase::Fused))
    return std::move(result);
  kernels = collectKernels(module);
  result.uniqueKernels = kernels.size();
  for (const Kernel &kernel : kernels)
    result.kernels += kernel.launches.size();
  if (options.compileTo != CompilePhase::Executable) {
    printKernels(kernels, symbols(), options, result);
    return std::move(result);
  }

  AITUNE_RETURN_IF_ERROR(target->open());
  if (known)
    knownKernels = known->take(module, kernels, chosen);
  if (absl::Status status = schedules.find(kernels, *target, constants.all());
      !status.ok()) {
    if (!target->usable().ok())
      return status;
    result.tuning.note = std::string(status.message());
  }
  generate();
  if (!result.failures.empty())
    return std::move(result);
  const absl::Status chose = choose();
  if (!chose.ok() || !result.failures.empty()) {
    repair->keepWrong(schedules.known());
    if (!chose.ok())
      return chose;
    return std::move(result);
  }
  AITUNE_RETURN_IF_ERROR(
      schedules.compareModel(kernels, *target, constants.all(), chosen));
  AITUNE_RETURN_IF_ERROR(buildModel());
  if (!options.audit.inputs.empty())
    AITUNE_RETURN_IF_ERROR(repairModel());
  repair->keepWrong(schedules.known());
  return std::move(result);
}

bool Compilation::isLast(CompilePhase phase) {
  if (options.compileTo != phase)
    return false;
  result.ir = printToString(module);
  return true;
}

absl::Status Compilation::quantize() {
  AITUNE_ASSIGN_OR_RETURN(const AskedQuantization asked,
                          readQuantization(options));
  if (!layerTimer)
    layerTimer =
        std::make_shared<LayerTimer>(options, constants.all(), symbols());
  quant::LayerTimer timer;
  if (options.measureCandidates)
    timer = [&](ArrayRef<ait::MatmulOp> group, const quant::Way &way) {
      report("timing layers", 0, 0);
      return layerTimer->time(group, way);
    };
  if (absl::Status status =
          runPasses("quantisation",
                    [&](OpPassManager &passManager) {
                      addQuantizationPasses(passManager, asked, options.layers,
                                            constants.pool(), timer, result);
                    });
      !status.ok())
    return status;
  constants.takeNew();
  return options.mayQuantizeNone ? absl::OkStatus()
                                 : checkQuantized(asked.options, result);
}

absl::Status Compilation::transform() {
  absl::Status status =
      runPasses("transforms", [&](OpPassManager &passManager) {
        TransformOptions transforms;
        transforms.device = target->facts();
        transforms.uncheckedIndices = options.uncheckedIndices;
        transforms.constants = [this](int64_t constant) {
          return rangeOf(constants.all(), constant);
        };
        transforms.pool = constants.pool();
        buildTransformPipeline(passManager, transforms);
      });
  constants.takeNew();
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

// Notes which pass failed: one may do so without a diagnostic.
class FailedPass : public PassInstrumentation {
public:
  explicit FailedPass(std::string &name) : name(name) {}
  void runAfterPassFailed(Pass *pass, Operation *) override {
    if (name.empty())
      name = pass->getName().str();
  }

private:
  std::string &name;
};

absl::Status
Compilation::runPasses(const char *phase,
                       llvm::function_ref<void(OpPassManager &)> build) {
  std::string errors, failedPass;
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
    passManager.addInstrumentation(std::make_unique<FailedPass>(failedPass));
    build(passManager);
    if (failed(passManager.run(module)))
      return absl::InternalError(absl::StrCat(
          phase, ": ",
          errors.empty() ? absl::StrCat("the pass ", failedPass,
                                        " failed and said nothing of why")
                         : errors));
  }
  dump.write(absl::StrCat(result.phaseSeconds.size(), "-", phase, ".mlir"),
             module);
  report(phase, 1, 1);
  return absl::OkStatus();
}

void Compilation::generate() {
  const PhaseTimer timer(result, "code generation");
  compileCounters().kernels += static_cast<int64_t>(
      generateCandidates(kernels, module, *target, result));
}

absl::Status Compilation::choose() {
  const PhaseTimer timer(result, "candidate choice");
  repair.emplace(module, kernels, *target, constants.all(), options, result);
  repair->leaveOutKnown(schedules.known());
  AITUNE_ASSIGN_OR_RETURN(ChosenKernels found, repair->choose());
  compileCounters().measurements += found.measured;
  // A model that is being repaired is looked through at one combination of
  // sizes, so that it has one way for all.
  if (target->raceRules().choosesBySize && options.measureCandidates &&
      options.audit.inputs.empty() && result.failures.empty())
    AITUNE_RETURN_IF_ERROR(chooseForSmallerSizes(
        module, kernels, *target, constants.all(), options, found, result));
  for (const auto &entry : chosen.best)
    found.best[entry.getKey()] = found.unsearched[entry.getKey()] =
        entry.getValue();
  chosen = std::move(found);
  llvm::append_range(kernels, std::exchange(knownKernels, {}));
  return absl::OkStatus();
}

absl::Status Compilation::buildModel() {
  auto main = module.lookupSymbol<func::FuncOp>("main");
  if (!main)
    return absl::InvalidArgumentError("the module has no function @main");
  AITUNE_ASSIGN_OR_RETURN(result.plan, buildPlan(main, symbols(), chosen.best));
  result.plan.set_device(target->device());
  if (schedules.runsOnOneThread())
    useOneThread(result.plan);
  SmallVector<const KernelImplementation *> implementations;
  for (const Kernel &kernel : kernels)
    if (auto found =
            chosen.best.find(func::FuncOp(kernel.function).getSymName());
        found != chosen.best.end())
      implementations.push_back(&found->second);
  result.objects = objectsOf(implementations);
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
      std::move(own), {module, chosen, *target, constants.all()}, options,
      [&](ModuleOp other) -> absl::StatusOr<CompiledAgain> {
        second.emplace(other, constants.ofModel(), again);
        second->known.emplace(module, kernels, chosen);
        second->schedules.setRunsOnOneThread(schedules.runsOnOneThread());
        second->layerTimer = layerTimer;
        AITUNE_ASSIGN_OR_RETURN(CompileResult compiled, second->run());
        return CompiledAgain{std::move(compiled), second->constants.all()};
      });
}

absl::StatusOr<WholeModelTimes>
Compilation::timeBeside(const CompileResult &own, const Compilation &other,
                        const CompileResult &others) const {
  std::vector<ModelToTime> models(2);
  models[0].model = {own.plan, own.objects};
  models[0].constants = constants.all();
  models[1].model = {others.plan, others.objects};
  models[1].constants = other.constants.all();
  // The inputs are made up, so that indices among them may lead outside.
  for (ModelToTime &model : models)
    model.model.plan->set_ignores_checks(true);
  AITUNE_ASSIGN_OR_RETURN(
      const std::vector<Measurement> measured,
      target->timeModels(std::move(models), {kWholeModelSeconds}));
  if (measured[0].microseconds < 0 || measured[1].microseconds < 0)
    return absl::UnavailableError("a whole model could not be run");
  return WholeModelTimes{measured[0].microseconds, measured[1].microseconds};
}

/// A way to compile a model, and what became of it.
struct Attempt {
  /// `quantised` is an earlier one that timed the model's layers, or null.
  Attempt(OwningOpRef<ModuleOp> copy, ModuleOp module,
          absl::Span<const ConstantTensor> constants, CompileOptions asked,
          const Attempt *quantised)
      : copy(std::move(copy)), options(std::move(asked)),
        compilation(module, constants, options), result([&] {
          if (quantised)
            compilation.knowTimesOf(quantised->compilation);
          return compilation.run();
        }()) {}

  bool isCompiled() const { return result.ok() && result->failures.empty(); }

  const OwningOpRef<ModuleOp> copy; ///< what is compiled, or null
  const CompileOptions options;
  Compilation compilation;
  absl::StatusOr<CompileResult> result;
};

/// `attempt`, or another one where layers in 8 bits make the model of `source`
/// no faster: without those that gain little alone, or without any.
std::unique_ptr<Attempt>
leaveSlowLayers(std::unique_ptr<Attempt> attempt, ModuleOp source,
                absl::Span<const ConstantTensor> constants,
                const CompileOptions &options) {
  const auto compileCopy = [&](CompileOptions asked, const Attempt *quantised) {
    OwningOpRef<ModuleOp> copy = source.clone();
    ModuleOp module = *copy;
    return std::make_unique<Attempt>(std::move(copy), module, constants,
                                     std::move(asked), quantised);
  };
  std::unique_ptr<Attempt> plain;
  while (attempt->isCompiled() &&
         isGainDoubtful(attempt->result->quantizedLayers)) {
    if (!plain) {
      CompileOptions asked = options;
      asked.quantization.clear();
      asked.tuning.budgetSeconds = 0;
      if (!asked.dumpDirectory.empty())
        asked.dumpDirectory += "/without_quantization";
      plain = compileCopy(std::move(asked), nullptr);
    }
    if (!plain->isCompiled())
      return attempt;
    const absl::StatusOr<WholeModelTimes> times =
        attempt->compilation.timeBeside(*attempt->result, plain->compilation,
                                        *plain->result);
    if (!times.ok() || times->isFaster())
      return attempt;
    CompileOptions asked = attempt->options;
    asked.mayQuantizeNone = true;
    asked.layers.slow.merge(findSlow(attempt->result->quantizedLayers, *times));
    attempt = compileCopy(std::move(asked), attempt.get());
  }
  return attempt;
}

} // namespace

absl::StatusOr<CompileResult>
compile(ModuleOp module, absl::Span<const ConstantTensor> constants,
        const CompileOptions &options) {
  ++compileCounters().graphs;
  // The passes change the module.
  OwningOpRef<ModuleOp> source;
  if (canTimeWhole(module, options))
    source = module.clone();
  auto attempt =
      std::make_unique<Attempt>(nullptr, module, constants, options, nullptr);
  if (source)
    attempt = leaveSlowLayers(std::move(attempt), *source, constants, options);
  if (source && attempt->isCompiled() && !options.mayQuantizeNone) {
    AITUNE_ASSIGN_OR_RETURN(const AskedQuantization asked,
                            readQuantization(options));
    AITUNE_RETURN_IF_ERROR(checkQuantized(asked.options, *attempt->result));
  }
  Compilation &compilation = attempt->compilation;
  absl::StatusOr<CompileResult> result = std::move(attempt->result);
  // A model that is being repaired keeps what was found wrong out of it.
  if (!options.libtorch.makePart || !options.audit.inputs.empty() ||
      !result.ok() || !result->failures.empty() || !result->ir.empty())
    return result;
  return compilation.leaveToLibTorch(*std::move(result));
}

} // namespace aitune
