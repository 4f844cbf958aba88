// The whole compiler, top to bottom.

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "compiler/candidates/CudaCandidates.h"
#include "compiler/driver/Compilation.h"
#include "compiler/pipelines/Pipelines.h"
#include "compiler/plan/PlanBuilder.h"
#include "compiler/plan/Provenance.h"
#include "compiler/tune/ModelChoice.h"
#include "mlir/IR/Diagnostics.h"
#include "runtime/cuda/library_call.h"

using namespace mlir;

namespace aitune {

CompileCounters &compileCounters() {
  static CompileCounters counters;
  return counters;
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

void Compilation::collectKernels() {
  llvm::StringMap<size_t> numbers;
  for (auto function : module.getOps<func::FuncOp>())
    if (function->hasAttr("ait.kind")) {
      numbers[function.getSymName()] = kernels.size();
      kernels.emplace_back().function = function;
    }
  module.walk([&](ait::LaunchOp launch) {
    kernels[numbers.lookup(launch.getKernel())].launches.push_back(launch);
    ++result.kernels;
  });
  result.uniqueKernels = kernels.size();
  llvm::DenseSet<Value> known;
  if (auto main = module.lookupSymbol<func::FuncOp>("main"))
    known = findKnownAtLoad(main);
  for (Kernel &kernel : kernels)
    for (unsigned i = 0; i < kernel.function.getNumArguments(); ++i) {
      auto every = [&](auto predicate) {
        return llvm::all_of(kernel.launches, [&](ait::LaunchOp launch) {
          return predicate(launch.getInputs()[i]);
        });
      };
      // What is there before a call may be read early; constants of the pool
      // alone can also be packed.
      const char *name = nullptr;
      if (every([](Value input) {
            return input.getDefiningOp<ait::ConstantOp>() != nullptr;
          }))
        name = "ait.constant";
      else if (every([&](Value input) { return known.contains(input); }))
        name = "ait.initialized";
      if (name)
        kernel.function.setArgAttr(i, name, UnitAttr::get(module.getContext()));
    }
}

std::optional<std::pair<int64_t, int64_t>>
Compilation::rangeOf(int64_t constant) const {
  if (constant < 0 || constant >= static_cast<int64_t>(constants.size()))
    return std::nullopt;
  const TensorView &view = constants[constant].view;
  const int64_t count = ElementCount(view.sizes);
  if (count == 0 || view.data == nullptr)
    return std::nullopt;
  auto find = [&](const auto *data) {
    const auto [least, greatest] = std::minmax_element(data, data + count);
    return std::pair<int64_t, int64_t>(*least, *greatest);
  };
  switch (view.dtype) {
  case DataType::kInt64:
    return find(static_cast<const int64_t *>(view.data));
  case DataType::kInt32:
    return find(static_cast<const int32_t *>(view.data));
  case DataType::kInt16:
    return find(static_cast<const int16_t *>(view.data));
  case DataType::kInt8:
    return find(static_cast<const int8_t *>(view.data));
  case DataType::kUInt8:
    return find(static_cast<const uint8_t *>(view.data));
  default:
    return std::nullopt;
  }
}

absl::Status Compilation::findCudaImplementations() {
  absl::StatusOr<int> ordinal = cudaOrdinal(options.device);
  if (!ordinal.ok())
    return ordinal.status();
  absl::StatusOr<const cuda::Device *> device = cuda::Device::Open(*ordinal);
  if (!device.ok())
    return device.status();
  GpuTarget target;
  target.major = (*device)->arch() / 10;
  target.minor = (*device)->arch() % 10;
  target.multiprocessors = (*device)->multiprocessors();
  target.sharedMemoryPerBlock = (*device)->shared_memory_per_block();
  CudaCandidateOptions cudaOptions;
  cudaOptions.emulateEagerCasts = options.emulateEagerCasts;
  cudaOptions.tf32Matmul = options.tf32Matmul;
  cudaOptions.tf32Convolution = options.tf32Convolution;
  cudaOptions.dumpDirectory = options.dumpDirectory;
  cudaOptions.threads = threads();
  cudaOptions.meanwhile = [&] { cuda::LoadMatmulLibrary(**device); };
  cudaOptions.progress = [this](const char *phase, int done, int total) {
    report(phase, done, total);
  };
  {
    const PhaseTimer timer(result, "code generation");
    addCudaCandidates(kernels, module, target, cudaOptions, result);
    compileCounters().kernels += static_cast<int64_t>(kernels.size());
  }
  std::vector<int> choices(kernels.size(), 0);
  if (options.measureCandidates) {
    const PhaseTimer timer(result, "candidate choice");
    choices = chooseCudaCandidates(kernels, module, **device, constants,
                                   cudaOptions, result);
    compileCounters().measurements +=
        llvm::count_if(kernels, [](const Kernel &kernel) {
          return kernel.candidates.size() > 1;
        });
  }
  for (auto [kernel, choice] : llvm::zip_equal(kernels, choices)) {
    if (kernel.launches.empty())
      continue;
    const std::string name = kernel.function.getSymName().str();
    if (choice < 0 || kernel.candidates.empty()) {
      result.failures.push_back({name,
                                 kernel.generatedFailure.empty()
                                     ? kernel.libraryFailure
                                     : kernel.generatedFailure,
                                 traceOps(kernel.function, kernel.launches)});
      continue;
    }
    KernelImplementation &chosen = kernel.candidates[choice];
    for (KernelObject &object : chosen.objects)
      result.objects.push_back(object);
    implementations[name] = std::move(chosen);
  }
  return absl::OkStatus();
}

absl::StatusOr<CompileResult> Compilation::run() {
  auto stopAfter = [&](CompilePhase phase) {
    if (options.compileTo != phase)
      return false;
    result.ir = printToString(module);
    return true;
  };
  dump.write("0-import.mlir", module);
  if (stopAfter(CompilePhase::Import))
    return std::move(result);
  const bool onCuda = options.device != "cpu";
  if (absl::Status status =
          runPasses("transforms",
                    [&](OpPassManager &passManager) {
                      buildTransformPipeline(passManager,
                                             {onCuda, options.uncheckedIndices,
                                              [this](int64_t constant) {
                                                return rangeOf(constant);
                                              }});
                    });
      !status.ok())
    return status;
  if (stopAfter(CompilePhase::Transformed))
    return std::move(result);
  auto reject = [this](Operation *op, StringRef reason) {
    result.rejections.push_back({"fusion", describe(op), reason.str()});
  };
  if (absl::Status status = runPasses("fusion",
                                      [&](OpPassManager &passManager) {
                                        buildFusionPipeline(passManager,
                                                            reject);
                                      });
      !status.ok())
    return status;
  if (stopAfter(CompilePhase::Fused))
    return std::move(result);
  collectKernels();
  // The phases after fusion print code for the CPU.
  if (onCuda && options.compileTo == CompilePhase::Executable) {
    if (absl::Status status = findCudaImplementations(); !status.ok())
      return status;
  } else {
    if (options.compileTo == CompilePhase::Executable)
      if (absl::Status status = tune(); !status.ok())
        result.tuning.note = std::string(status.message());
    if (absl::Status status = generateCode(); !status.ok())
      return status;
  }
  if (options.compileTo != CompilePhase::Executable || !result.failures.empty())
    return std::move(result);
  if (!onCuda)
    if (absl::Status status = chooseImplementations(); !status.ok())
      return status;
  if (!result.failures.empty())
    return std::move(result);
  absl::StatusOr<ExecutablePlan> plan = planOf(implementations);
  if (!plan.ok())
    return plan.status();
  result.plan = *std::move(plan);
  if (onCuda)
    result.plan.set_device("cuda");
  else if (runsOnOneThread)
    useOneThread(result.plan);
  return std::move(result);
}

CompileCounts compileCounts() {
  const CompileCounters &counters = compileCounters();
  return {counters.graphs, counters.kernels, counters.measurements};
}

absl::StatusOr<CompileResult>
compile(ModuleOp module, absl::Span<const ConstantTensor> constants,
        const CompileOptions &options) {
  ++compileCounters().graphs;
  return Compilation(module, constants, options).run();
}

} // namespace aitune
