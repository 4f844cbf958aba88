#include "compiler/candidates/CpuTarget.h"

#include "absl/strings/str_cat.h"
#include "compiler/candidates/BuildStamp.h"
#include "compiler/candidates/JudgeKernel.h"
#include "compiler/candidates/KernelBenchmark.h"
#include "compiler/candidates/KernelCompiler.h"
#include "compiler/candidates/OnednnRules.h"
#include "compiler/codegen/cpu/target/Target.h"
#include "compiler/dialect/KernelAttributes.h"
#include "compiler/measure/KernelMeasurer.h"
#include "compiler/pipelines/Pipelines.h"
#include "compiler/support/Dump.h"
#include "compiler/support/Parallel.h"
#include "runtime/cpu/kernel_loader.h"
#include "runtime/cpu/onednn_library.h"
#include "runtime/cpu/thread_pool.h"
#include "runtime/executable/cpu_executable.h"
#include "runtime/hash/sha256.h"
#include "runtime/status/status_macros.h"
#include "llvm/Config/llvm-config.h"

using namespace mlir;

namespace aitune {
namespace {

/// Seconds to spend on measuring the candidates of one kernel.
constexpr double kCandidateSeconds = 0.03;
/// Rounds in which parts of models are timed at least: fewer have no interval
/// that a slow run or two would not widen.
constexpr int kPartRounds = 15;
/// Weights of this size do not stay in any CPU's last cache.
constexpr int64_t kCacheBytes = int64_t{48} << 20;

/// Whether a kernel reads what does not change between calls.
bool hasWeights(func::FuncOp kernel) {
  return llvm::any_of(llvm::seq(kernel.getNumArguments()), [&](unsigned i) {
    return ait::getKnownAt(kernel, i) != ait::KnownAt::Call;
  });
}

class CpuRace : public CandidateRace {
public:
  CpuRace(std::vector<RaceEntry> entries, const Kernel *kernel,
          absl::Span<const ConstantTensor> constants, bool coldCache)
      : entries(std::move(entries)), constants(constants), coldCache(coldCache),
        executables(this->entries.size()) {
    if (kernel)
      judge = judgeOf(*kernel, constants, ReferenceOptions());
  }

  absl::Status load(size_t number) override {
    const RaceEntry &entry = entries[number];
    if (!entry.plan.ok())
      return entry.plan.status();
    AITUNE_ASSIGN_OR_RETURN(executables[number],
                            loadOnCpu(*entry.plan, entry.objects, constants));
    return absl::OkStatus();
  }

  void drop(size_t number) override { executables[number].reset(); }

  absl::StatusOr<std::vector<Measurement>> measure(double seconds) override {
    std::vector<const CpuExecutable *> loaded;
    for (const std::unique_ptr<CpuExecutable> &executable : executables)
      if (executable)
        loaded.push_back(executable.get());
    MeasureOptions measure;
    measure.seconds = seconds;
    measure.settles = true;
    if (coldCache)
      measure.evicting = constants;
    const std::vector<Measurement> measured =
        measureCandidates(loaded, measure, judge.get());
    std::vector<Measurement> results(executables.size());
    size_t next = 0;
    for (size_t i = 0; i < executables.size(); ++i)
      if (executables[i])
        results[i] = measured[next++];
    return results;
  }

  const KernelJudge *judgement() const override { return judge.get(); }

private:
  std::vector<RaceEntry> entries;
  const absl::Span<const ConstantTensor> constants;
  const bool coldCache; ///< whether the constants are read between two runs
  std::unique_ptr<KernelJudge> judge; ///< null: whole models
  std::vector<std::unique_ptr<CpuExecutable>> executables; ///< null: not loaded
};

/// Times models, by `measure` but for what is the same for all.
absl::StatusOr<std::vector<Measurement>>
timeLoaded(std::vector<ModelToTime> models, MeasureOptions measure) {
  std::vector<std::unique_ptr<CpuExecutable>> loaded;
  std::vector<const CpuExecutable *> executables;
  for (ModelToTime &model : models) {
    if (!model.model.plan.ok())
      return model.model.plan.status();
    AITUNE_ASSIGN_OR_RETURN(
        auto executable, loadOnCpu(*model.model.plan, model.model.objects,
                                   model.constants, std::move(model.regions)));
    loaded.push_back(std::move(executable));
    executables.push_back(loaded.back().get());
  }
  measure.settles = true;
  // LibTorch, and quantised layers, round elsewhere.
  measure.comparesResults = false;
  return measureCandidates(executables, measure);
}

/// In another process: a schedule that crashes or hangs costs only itself.
class CpuScheduleMeasurer : public ScheduleMeasurer {
public:
  CpuScheduleMeasurer(const CompileOptions &options, ArrayAttr symbols,
                      int64_t evictedBytes)
      : options(options), symbols(symbols), evictedBytes(evictedBytes),
        measurer(options.tuning.worker, options.tuning.candidateSeconds) {}

  absl::Status begin(Kernel &kernel, const KernelSpace &space) override {
    WorkerKernel request;
    request.set_module(moduleText(kernel.function, symbols));
    request.set_target(options.target);
    request.set_emulate_eager_casts(options.emulateEagerCasts);
    request.set_threads(options.threads);
    request.set_evicted_bytes(hasWeights(kernel.function) ? evictedBytes : 0);
    request.set_memory_limit(options.tuning.candidateBytes);
    request.set_build(buildStamp());
    return measurer.begin(std::move(request), space);
  }

  absl::StatusOr<std::vector<Measurement>>
  measure(absl::Span<const size_t> schedules, double seconds) override {
    return measurer.measure(schedules, seconds);
  }

private:
  const CompileOptions &options;
  const ArrayAttr symbols;
  const int64_t evictedBytes;
  KernelMeasurer measurer;
};

class CpuTarget : public CompilationTarget {
public:
  CpuTarget(const CompileOptions &options, int64_t constantBytes)
      : options(options),
        evictedBytes(exceedsCaches(constantBytes)
                         ? std::min(constantBytes, kMostEvicting)
                         : 0) {}

  std::string device() const override { return ""; }
  DeviceFacts facts() const override { return DeviceFacts::ofCpu(); }

  absl::Status open() override {
    AITUNE_ASSIGN_OR_RETURN(cpu, findTarget(options.target));
    // What is only printed may be for another machine.
    if (std::string missing = cpu->missingOn(Target::host());
        !missing.empty() && options.compileTo == CompilePhase::Executable)
      return absl::FailedPreconditionError(absl::StrCat(
          "the target '", options.target, "' needs ", missing,
          ", which this CPU has not; ask for another target, or for none: code "
          "is then for all that it has"));
    return absl::OkStatus();
  }
  TuningMachine tuningMachine() const override {
    const int threads = options.threads > 0 ? options.threads : ThreadCount();
    return {absl::StrCat(cpu->cpu, " ", Sha256Hex(cpu->features).substr(0, 8),
                         ", ", threads, " threads",
                         evictedBytes > 0 ? ", cold caches" : ""),
            absl::StrCat("LLVM ", LLVM_VERSION_STRING),
            absl::StrCat("oneDNN ", OnednnVersion())};
  }

  std::vector<const LibraryRules *>
  libraries(func::FuncOp kernel) const override {
    if (ait::getKernelKind(kernel) == ait::KernelKind::Loop)
      return {};
    return {&onednn};
  }
  std::vector<OtherAlgorithm>
  otherAlgorithms(func::FuncOp kernel) const override {
    return options.measureCandidates ? listOtherAlgorithms(kernel, *cpu)
                                     : std::vector<OtherAlgorithm>();
  }
  std::vector<GeneratedCode>
  generate(llvm::ArrayRef<CodeJob> jobs,
           llvm::ArrayRef<const LibraryRules *> libraries) override;

  RaceRules raceRules() const override {
    RaceRules rules;
    rules.seconds = kCandidateSeconds;
    // Generated code, which comes first, needs no copies of its operands.
    rules.earlierWinsTies = true;
    return rules;
  }
  std::unique_ptr<CandidateRace>
  race(std::vector<RaceEntry> entries, const Kernel *kernel,
       absl::Span<const ConstantTensor> constants) const override {
    return std::make_unique<CpuRace>(
        std::move(entries), kernel, constants,
        evictedBytes > 0 && (!kernel || hasWeights(kernel->function)));
  }
  absl::Status
  runModel(ModelCalls calls,
           absl::Span<const ConstantTensor> constants) const override;
  absl::StatusOr<std::vector<Measurement>>
  timeModels(std::vector<ModelToTime> models,
             const ModelTiming &timing) const override;
  absl::StatusOr<Measurement>
  timePart(const LibTorchPart &part, absl::Span<const ConstantTensor> constants,
           double seconds) const override;
  bool hasThreads() const override { return true; }

  absl::StatusOr<KernelSpace>
  listSchedules(const std::string &text) const override {
    KernelCompilerOptions quiet = kernelOptions();
    quiet.dumpDirectory.clear();
    return listKernelSchedules(text, quiet);
  }
  absl::StatusOr<std::unique_ptr<ScheduleMeasurer>>
  measureSchedules(ModuleOp module, absl::Span<const ConstantTensor>) override {
    if (options.tuning.worker.empty())
      return absl::InvalidArgumentError(
          "a search for schedules on the CPU measures them in another program, "
          "and none is given: set the option tune-worker to the program "
          "`aitune` (tuning.worker to {\"aitune\", \"measure-schedules\"})");
    return std::make_unique<CpuScheduleMeasurer>(
        options, ait::getModuleSymbols(module), evictedBytes);
  }

private:
  KernelCompilerOptions kernelOptions() const {
    return {options.emulateEagerCasts, options.target, options.dumpDirectory,
            options.generation};
  }
  int threads() const { return threadsOrAll(options.threads); }
  void dumpBenchmark(const CodeJob &job,
                     const KernelImplementation &code) const;

  const CompileOptions &options;
  /// The bytes to read between two runs; 0: the model's weights fit the caches.
  const int64_t evictedBytes;
  const OnednnRules onednn;
  std::optional<Target> cpu;
};

void CpuTarget::dumpBenchmark(const CodeJob &job,
                              const KernelImplementation &code) const {
  const Dump folder(options.dumpDirectory,
                    "kernels/" + func::FuncOp(job.function).getSymName().str());
  if (!folder.enabled() || job.purpose == CodeJob::Purpose::DefaultSchedule)
    return;
  auto module = job.function->getParentOfType<ModuleOp>();
  folder.write("benchmark.cc",
               writeKernelBenchmark(job.function, code.steps.front(),
                                    ait::getModuleSymbols(module)));
}

std::vector<GeneratedCode>
CpuTarget::generate(llvm::ArrayRef<CodeJob> jobs,
                    llvm::ArrayRef<const LibraryRules *> libraries) {
  for (const LibraryRules *library : libraries)
    library->load();
  std::vector<std::string> texts;
  for (const CodeJob &job : jobs)
    texts.push_back(job.text);
  std::vector<absl::StatusOr<KernelImplementation>> outcomes =
      compileKernels(texts, kernelOptions(), threads(), [&](int done) {
        if (options.progress)
          options.progress("generating code", done,
                           static_cast<int>(jobs.size()));
      });
  std::vector<GeneratedCode> generated(jobs.size());
  for (size_t i = 0; i < jobs.size(); ++i) {
    if (outcomes[i].ok())
      dumpBenchmark(jobs[i], *outcomes[i]);
    generated[i].push_back(std::move(outcomes[i]));
  }
  return generated;
}

absl::Status
CpuTarget::runModel(ModelCalls calls,
                    absl::Span<const ConstantTensor> constants) const {
  if (!calls.plan.ok())
    return calls.plan.status();
  AITUNE_ASSIGN_OR_RETURN(std::unique_ptr<CpuExecutable> loaded,
                          loadOnCpu(*calls.plan, calls.objects, constants,
                                    std::move(calls.regions)));
  for (auto [call, results] : llvm::enumerate(calls.outputs)) {
    std::vector<RegionValue> values(results.begin(), results.end());
    // Memory is that of calls before, which hold anything.
    loaded->PoisonMemory();
    const absl::Status status =
        calls.steps
            ? loaded->RunPart(calls.inputs, absl::MakeSpan(values),
                              *calls.steps, calls.copies[call], nullptr)
            : loaded->Run(calls.inputs, absl::MakeSpan(values), nullptr);
    if (!status.ok())
      return status;
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<Measurement>>
CpuTarget::timeModels(std::vector<ModelToTime> models,
                      const ModelTiming &timing) const {
  MeasureOptions measure;
  measure.seconds = timing.seconds;
  if (timing.coldConstants) {
    measure.leastRounds = kPartRounds;
    if (evictedBytes > 0)
      measure.evicting = models.front().constants;
  }
  return timeLoaded(std::move(models), measure);
}

absl::StatusOr<Measurement>
CpuTarget::timePart(const LibTorchPart &part,
                    absl::Span<const ConstantTensor> constants,
                    double seconds) const {
  std::vector<ModelToTime> models(1);
  models[0].model.plan = part.plan;
  models[0].regions.push_back(part.makeRegion());
  MeasureOptions measure;
  measure.seconds = seconds;
  if (evictedBytes > 0)
    measure.evicting = constants;
  AITUNE_ASSIGN_OR_RETURN(std::vector<Measurement> measured,
                          timeLoaded(std::move(models), measure));
  if (measured.front().microseconds < 0)
    return absl::InternalError(measured.front().note);
  return measured.front();
}

} // namespace

bool exceedsCaches(int64_t constantBytes) {
  return constantBytes > kCacheBytes;
}

absl::StatusOr<std::unique_ptr<CpuExecutable>>
loadOnCpu(const ExecutablePlan &plan, absl::Span<const KernelObject> objects,
          absl::Span<const ConstantTensor> constants,
          std::vector<std::unique_ptr<FallbackRegion>> regions) {
  std::vector<std::string> code;
  for (const KernelObject &object : objects)
    code.push_back(object.object);
  AITUNE_ASSIGN_OR_RETURN(auto kernels, LoadKernels(code));
  return CpuExecutable::Load(
      plan, kernels, {constants.begin(), constants.end()}, std::move(regions));
}

std::unique_ptr<CompilationTarget>
createCpuTarget(const CompileOptions &options, int64_t constantBytes) {
  return std::make_unique<CpuTarget>(options, constantBytes);
}

} // namespace aitune
