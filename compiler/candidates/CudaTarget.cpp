#include "compiler/candidates/CudaTarget.h"

#include <algorithm>
#include <map>

#include "absl/strings/str_cat.h"
#include "compiler/candidates/CubinStore.h"
#include "compiler/candidates/CudaKernelCompiler.h"
#include "compiler/candidates/CudaLibraryRules.h"
#include "compiler/candidates/CudaRace.h"
#include "compiler/candidates/FindGpu.h"
#include "compiler/candidates/LaunchModel.h"
#include "compiler/candidates/TimeCudaModels.h"
#include "compiler/codegen/gpu/target/GpuTarget.h"
#include "compiler/codegen/gpu/target/Nvrtc.h"
#include "compiler/dialect/KernelAttributes.h"
#include "compiler/pipelines/Pipelines.h"
#include "compiler/support/Parallel.h"
#include "mlir/AsmParser/AsmParser.h"
#include "runtime/cuda/device.h"
#include "runtime/cuda/gpu_target.h"
#include "runtime/status/status_macros.h"

using namespace mlir;

namespace aitune {
namespace {

/// The most threads that compute what the next kernels are judged by: each may
/// hold a kernel's operands in memory.
constexpr int kMostJudging = 8;

class CudaTarget : public CompilationTarget {
public:
  CudaTarget(const CompileOptions &options, int ordinal)
      : options(options), ordinal(ordinal) {}

  std::string device() const override { return "cuda"; }
  DeviceFacts facts() const override { return DeviceFacts::ofGpu(); }

  absl::Status open() override;
  absl::Status usable() const override { return gpu->Synchronize(); }
  TuningMachine tuningMachine() const override;

  std::vector<const LibraryRules *>
  libraries(func::FuncOp kernel) const override;
  std::vector<GeneratedCode>
  generate(llvm::ArrayRef<CodeJob> jobs,
           llvm::ArrayRef<const LibraryRules *> libraries) override;

  RaceRules raceRules() const override {
    RaceRules rules;
    // cuDNN compiles when a candidate is loaded, so the candidates of all
    // kernels are loaded at the same time.
    rules.kernels = ~size_t{0};
    rules.threads = threads();
    rules.judgementThreads = std::min(threads() - 1, kMostJudging);
    rules.loadThreads = std::min(threads() - 1, kMostPlanning);
    rules.mustRun = true;
    rules.choosesBySize = true;
    return rules;
  }
  std::unique_ptr<CandidateRace>
  race(std::vector<RaceEntry> entries, const Kernel *kernel,
       absl::Span<const ConstantTensor> constants) const override {
    ReferenceOptions reference;
    reference.tf32Matmul = options.tf32Matmul;
    reference.tf32Convolution = options.tf32Convolution;
    return raceOnCuda(*gpu, std::move(entries), kernel, constants, reference,
                      *planner);
  }
  absl::Status
  runModel(ModelCalls calls,
           absl::Span<const ConstantTensor> constants) const override {
    return runModelOnCuda(*gpu, std::move(calls), constants);
  }
  absl::StatusOr<std::vector<Measurement>>
  timeModels(std::vector<ModelToTime> models,
             const ModelTiming &timing) const override {
    return timeModelsOnCuda(*gpu, std::move(models), options.libtorch.recorder,
                            timing);
  }
  absl::StatusOr<Measurement> timePart(const LibTorchPart &part,
                                       absl::Span<const ConstantTensor>,
                                       double seconds) const override {
    return timePartOnCuda(*gpu, part, options.libtorch.recorder, seconds);
  }
  bool hasThreads() const override { return false; }

  absl::StatusOr<KernelSpace>
  listSchedules(const std::string &text) const override;
  absl::StatusOr<std::unique_ptr<ScheduleMeasurer>>
  measureSchedules(ModuleOp module,
                   absl::Span<const ConstantTensor> constants) override;

  /// Compiles `texts` without reporting progress, which the search reports
  /// itself.
  std::vector<GeneratedCode>
  compile(const std::vector<std::string> &texts) const {
    return compileCudaKernels(texts, target, compilerOptions(), cubins);
  }
  int threads() const { return threadsOrAll(options.threads); }

private:
  CudaCompilerOptions compilerOptions() const {
    CudaCompilerOptions result;
    result.emulateEagerCasts = options.emulateEagerCasts;
    result.tf32Matmul = options.tf32Matmul;
    result.tf32Convolution = options.tf32Convolution;
    result.generation = options.generation;
    result.threads = threads();
    return result;
  }

  const CompileOptions &options;
  const int ordinal;
  const cuda::Device *gpu = nullptr;
  std::unique_ptr<ConvolutionPlanner> planner;
  std::optional<CudnnRules> bareCudnn, fusingCudnn;
  std::optional<CublasLtRules> cublasLt;
  GpuTarget target;
  mutable CubinStore cubins; ///< the code of all that was compiled
};

absl::Status CudaTarget::open() {
  AITUNE_ASSIGN_OR_RETURN(gpu, cuda::Device::Open(ordinal));
  target = toGpuTarget(*gpu);
  cublasLt.emplace(gpu, options.tf32Matmul);
  planner = std::make_unique<ConvolutionPlanner>(*gpu, options.generation);
  bareCudnn.emplace(/*fuses=*/false, options.tf32Convolution,
                    options.emulateEagerCasts, planner.get());
  fusingCudnn.emplace(/*fuses=*/true, options.tf32Convolution,
                      options.emulateEagerCasts, planner.get());
  return absl::OkStatus();
}

TuningMachine CudaTarget::tuningMachine() const {
  const absl::StatusOr<std::string> nvrtc = nvrtcVersion();
  const absl::StatusOr<std::string> libraries = cuda::DescribeGpu(ordinal);
  return {absl::StrCat(gpu->name(), " ", target.architecture(), ", ",
                       target.multiprocessors, " multiprocessors",
                       options.tf32Matmul ? ", tf32 products" : "",
                       options.tf32Convolution ? ", tf32 convolutions" : ""),
          absl::StrCat("NVRTC ", nvrtc.ok() ? *nvrtc : "missing"),
          libraries.ok() ? *libraries : ""};
}

/// In this process, as candidates are: a schedule that a GPU cannot run leaves
/// it unusable, whichever process asked for it.
class CudaScheduleMeasurer : public ScheduleMeasurer {
public:
  CudaScheduleMeasurer(const CudaTarget &target, ModuleOp module,
                       absl::Span<const ConstantTensor> constants)
      : target(target), module(module), constants(constants) {}

  absl::Status begin(Kernel &newKernel, const KernelSpace &newSpace) override {
    kernel = &newKernel;
    space = &newSpace;
    code.clear();
    return absl::OkStatus();
  }

  absl::StatusOr<std::vector<Measurement>>
  measure(absl::Span<const size_t> schedules, double seconds) override;

private:
  void generate(absl::Span<const size_t> schedules);

  const CudaTarget &target;
  ModuleOp module;
  const absl::Span<const ConstantTensor> constants;
  Kernel *kernel = nullptr;
  const KernelSpace *space = nullptr;
  /// The code of the kernel, by schedule.
  std::map<size_t, GeneratedCode> code;
};

void CudaScheduleMeasurer::generate(absl::Span<const size_t> schedules) {
  std::vector<size_t> missing;
  std::vector<std::string> texts;
  for (size_t schedule : schedules) {
    if (code.count(schedule) || llvm::is_contained(missing, schedule))
      continue;
    OwningOpRef<func::FuncOp> copy(kernel->function.clone());
    ait::setScheduleConfig(
        *copy, cast<DictionaryAttr>(parseAttribute(
                   space->schedules[schedule].config, module.getContext())));
    missing.push_back(schedule);
    texts.push_back(moduleText(*copy, ait::getModuleSymbols(module)));
  }
  std::vector<GeneratedCode> generated = target.compile(texts);
  for (auto [schedule, outcome] : llvm::zip_equal(missing, generated))
    code.emplace(schedule, std::move(outcome));
}

absl::StatusOr<std::vector<Measurement>>
CudaScheduleMeasurer::measure(absl::Span<const size_t> schedules,
                              double seconds) {
  // The default comes first: others are compared with it.
  std::vector<size_t> order{0};
  for (size_t schedule : schedules)
    if (schedule != 0)
      order.push_back(schedule);
  generate(order);
  std::vector<KernelImplementation> candidates;
  /// Each candidate's schedule, as its place in `order`.
  std::vector<size_t> positions;
  std::vector<Measurement> outcomes(order.size());
  for (auto [position, schedule] : llvm::enumerate(order))
    for (const absl::StatusOr<KernelImplementation> &generated :
         code.at(schedule)) {
      if (generated.ok()) {
        candidates.push_back(*generated);
        positions.push_back(position);
      } else {
        outcomes[position].note = std::string(generated.status().message());
      }
    }
  const std::unique_ptr<CandidateRace> race =
      raceCandidates(target, module, *kernel, candidates, constants);
  std::vector<Measurement> results(candidates.size());
  inParallel(candidates.size(), target.threads(), [&](size_t i) {
    if (absl::Status loaded = race->load(i); !loaded.ok())
      results[i].note = std::string(loaded.message());
  });
  AITUNE_ASSIGN_OR_RETURN(std::vector<Measurement> measured,
                          race->measure(seconds));
  std::optional<size_t> bestDefault;
  for (size_t i = 0; i < candidates.size(); ++i) {
    if (results[i].note.empty())
      results[i] = measured[i];
    // A schedule of several candidates is as fast as the fastest.
    Measurement &outcome = outcomes[positions[i]];
    if (results[i].microseconds < 0) {
      if (outcome.microseconds < 0)
        outcome.note = results[i].note;
    } else if (outcome.microseconds < 0 ||
               results[i].microseconds < outcome.microseconds) {
      outcome = results[i];
      if (positions[i] == 0)
        bestDefault = i;
    }
  }
  // From now on the best of them is the code of the default schedule.
  if (bestDefault && code.at(0).size() > 1)
    code.at(0) = {candidates[*bestDefault]};
  std::vector<Measurement> answer;
  for (size_t schedule : schedules)
    answer.push_back(outcomes[llvm::find(order, schedule) - order.begin()]);
  return answer;
}

absl::StatusOr<std::unique_ptr<ScheduleMeasurer>>
CudaTarget::measureSchedules(ModuleOp module,
                             absl::Span<const ConstantTensor> constants) {
  return std::make_unique<CudaScheduleMeasurer>(*this, module, constants);
}

absl::StatusOr<KernelSpace>
CudaTarget::listSchedules(const std::string &text) const {
  return listCudaKernelSchedules(text, target, compilerOptions());
}

/// Convolutions have two sets of rules for cuDNN: without post-operations, for
/// which cuDNN has its fastest algorithms, and with as many post-operations as
/// it supports. The first comes first, because its post-operations are
/// generated code, with whose results the others are compared.
std::vector<const LibraryRules *>
CudaTarget::libraries(func::FuncOp kernel) const {
  const std::optional<ait::KernelKind> kind = ait::getKernelKind(kernel);
  if (kind == ait::KernelKind::Loop)
    return {};
  if (kind == ait::KernelKind::Convolution)
    return {&*bareCudnn, &*fusingCudnn};
  return {&*cublasLt};
}

std::vector<GeneratedCode>
CudaTarget::generate(llvm::ArrayRef<CodeJob> jobs,
                     llvm::ArrayRef<const LibraryRules *> libraries) {
  std::vector<std::string> texts;
  for (const CodeJob &job : jobs)
    texts.push_back(job.text);
  CudaCompilerOptions compiler = compilerOptions();
  compiler.dumpDirectory = options.dumpDirectory;
  compiler.progress = options.progress;
  compiler.loadLibraries = [libraries] {
    for (const LibraryRules *library : libraries)
      library->load();
  };
  return compileCudaKernels(texts, target, compiler, cubins);
}

} // namespace

std::unique_ptr<CompilationTarget>
createCudaTarget(const CompileOptions &options, int ordinal) {
  return std::make_unique<CudaTarget>(options, ordinal);
}

} // namespace aitune
