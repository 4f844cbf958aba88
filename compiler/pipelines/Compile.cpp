// The whole compiler, top to bottom.

#include <atomic>
#include <chrono>
#include <set>
#include <thread>

#include "absl/strings/str_cat.h"
#include "compiler/Compiler.h"
#include "compiler/dialect/Ait.h"
#include "compiler/pipelines/CandidateChoice.h"
#include "compiler/pipelines/CudaCandidates.h"
#include "compiler/pipelines/Dump.h"
#include "compiler/pipelines/Kernel.h"
#include "compiler/pipelines/KernelBenchmark.h"
#include "compiler/pipelines/KernelCompiler.h"
#include "compiler/pipelines/LibraryCalls.h"
#include "compiler/pipelines/Pipelines.h"
#include "compiler/pipelines/PlanBuilder.h"
#include "compiler/pipelines/Provenance.h"
#include "compiler/pipelines/TuneSchedules.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/Pass/PassManager.h"

using namespace mlir;

namespace aitune {
namespace {

std::atomic<int64_t> compiledGraphs{0}, compiledKernels{0}, measuredKernels{0};

class Compilation {
public:
  Compilation(ModuleOp module, absl::Span<const ConstantTensor> constants,
              const CompileOptions &options)
      : module(module), constants(constants), options(options),
        dump(options.dumpDirectory, "graph") {}

  absl::StatusOr<CompileResult> run();

private:
  absl::Status runPasses(const char *phase,
                         llvm::function_ref<void(OpPassManager &)> build);
  void collectKernels();
  absl::Status generateCode();
  void dumpBenchmark(func::FuncOp function,
                     const CompiledKernel &compiled) const;
  void retryWithDefaultSchedules(
      const std::vector<std::string> &names,
      std::vector<absl::StatusOr<CompiledKernel>> &outcomes);
  void
  addLibraryCandidate(Kernel &kernel,
                      const std::map<std::string, CompiledKernel> &compiled);
  void chooseImplementations();
  absl::Status findCudaImplementations();
  void report(const char *phase, int done, int total) const {
    if (options.progress)
      options.progress(phase, done, total);
  }
  KernelCompilerOptions kernelOptions() const {
    return {options.emulateEagerCasts, options.target, options.dumpDirectory,
            options.compileTo};
  }
  ArrayAttr symbols() const {
    return module->getAttrOfType<ArrayAttr>("ait.symbols");
  }
  int64_t constantBytes() const {
    int64_t bytes = 0;
    for (const ConstantTensor &constant : constants)
      bytes +=
          ElementCount(constant.view.sizes) * SizeInBytes(constant.view.dtype);
    return bytes;
  }
  int threads() const {
    return options.threads > 0 ? options.threads
                               : std::thread::hardware_concurrency();
  }

  ModuleOp module;
  absl::Span<const ConstantTensor> constants;
  const CompileOptions &options;
  const Dump dump;
  CompileResult result;
  std::vector<Kernel> kernels;
  llvm::StringMap<KernelImplementation> implementations;
};

/// Whether `value` is computed from constants alone, so that a plan computes it
/// once.
bool isConstant(Value value) {
  Operation *op = value.getDefiningOp();
  if (!isa_and_nonnull<ait::ConstantOp, ait::ReshapeOp, ait::LaunchOp>(op) ||
      !cast<RankedTensorType>(value.getType()).hasStaticShape())
    return false;
  return llvm::all_of(op->getOperands(),
                      [](Value operand) { return isConstant(operand); });
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
  const auto start = std::chrono::steady_clock::now();
  PassManager passManager(module.getContext());
  build(passManager);
  if (failed(passManager.run(module)))
    return absl::InternalError(absl::StrCat(phase, ": ", errors));
  result.phaseSeconds.emplace_back(
      phase,
      std::chrono::duration<double>(std::chrono::steady_clock::now() - start)
          .count());
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

void Compilation::dumpBenchmark(func::FuncOp function,
                                const CompiledKernel &compiled) const {
  const Dump folder(options.dumpDirectory,
                    "kernels/" + function.getSymName().str());
  if (folder.enabled() && options.compileTo == CompilePhase::Executable)
    folder.write("benchmark.cc",
                 writeKernelBenchmark(function, compiled, symbols()));
}

void Compilation::addLibraryCandidate(
    Kernel &kernel, const std::map<std::string, CompiledKernel> &compiled) {
  LibraryMatch &match = *kernel.library;
  const int inputs = kernel.function.getNumArguments();
  KernelImplementation implementation;
  implementation.name = "onednn";
  ImplementationStep call;
  call.call = match.call;
  call.inputs = match.arguments;
  call.outputs = {inputs};
  if (match.rest) {
    auto it = compiled.find(match.rest.getSymName().str());
    if (it == compiled.end())
      return;
    dumpBenchmark(match.rest, it->second);
    const int temporary = inputs + kernel.function.getNumResults();
    implementation.temporaries.push_back(match.resultType);
    call.outputs = {temporary};
    KernelImplementation rest = generatedImplementation(match.rest, it->second);
    ImplementationStep &step = rest.steps.front();
    step.call.set_kind("loop");
    for (int &input : step.inputs)
      input = match.restArguments[input] < 0 ? temporary
                                             : match.restArguments[input];
    for (size_t i = 0; i < step.outputs.size(); ++i)
      step.outputs[i] = inputs + i;
    implementation.steps.push_back(std::move(step));
    implementation.objects = std::move(rest.objects);
  }
  implementation.steps.insert(implementation.steps.begin(), std::move(call));
  kernel.candidates.push_back(std::move(implementation));
}

/// A schedule from the database that the generator no longer takes costs the
/// default one's speed, not the kernel. outcomes[i] may belong to a library's
/// leftover, which has no schedule.
void Compilation::retryWithDefaultSchedules(
    const std::vector<std::string> &names,
    std::vector<absl::StatusOr<CompiledKernel>> &outcomes) {
  for (size_t i = 0; i < names.size(); ++i) {
    auto function = module.lookupSymbol<func::FuncOp>(names[i]);
    auto config = function->getAttrOfType<DictionaryAttr>("ait.config");
    if (outcomes[i].ok() || !config || config.empty())
      continue;
    result.rejections.push_back(
        {"tuning", names[i], std::string(outcomes[i].status().message())});
    function->setAttr("ait.config", DictionaryAttr::get(module.getContext()));
    outcomes[i] =
        compileKernel(moduleText(function, symbols()), kernelOptions());
  }
}

absl::Status Compilation::generateCode() {
  // The library's leftovers are kernels too, compiled beside the others.
  std::vector<std::string> texts, names;
  auto add = [&](func::FuncOp function) {
    names.push_back(function.getSymName().str());
    texts.push_back(moduleText(function, symbols()));
  };
  for (Kernel &kernel : kernels) {
    add(kernel.function);
    kernel.library = matchLibraryCall(kernel.function, kernel.libraryFailure);
    if (kernel.library && kernel.library->call.has_convolution() &&
        !llvm::all_of(kernel.launches, [&](ait::LaunchOp launch) {
          return isConstant(launch.getInputs()[kernel.library->arguments[1]]);
        })) {
      kernel.libraryFailure =
          "the filter is no constant, which oneDNN has no fast code for";
      if (kernel.library->rest)
        kernel.library->rest.erase();
      kernel.library.reset();
    }
    if (kernel.library && kernel.library->rest)
      add(kernel.library->rest);
    for (int cut : kernel.cuts)
      if (FailureOr<CutKernel> parts = cutKernel(kernel.function, cut);
          succeeded(parts)) {
        add(parts->first.function);
        add(parts->second.function);
        kernel.parts.push_back(*std::move(parts));
      }
  }
  compiledKernels += texts.size();
  const auto start = std::chrono::steady_clock::now();
  std::vector<absl::StatusOr<CompiledKernel>> outcomes =
      compileKernels(texts, kernelOptions(), threads(), [&](int done) {
        report("generating code", done, static_cast<int>(texts.size()));
      });
  result.phaseSeconds.emplace_back(
      "code generation",
      std::chrono::duration<double>(std::chrono::steady_clock::now() - start)
          .count());

  std::map<std::string, CompiledKernel> compiled;
  std::map<std::string, std::string> failures;
  retryWithDefaultSchedules(names, outcomes);
  for (size_t i = 0; i < texts.size(); ++i) {
    if (outcomes[i].ok()) {
      absl::StrAppend(&result.ir, outcomes[i]->ir);
      compiled.emplace(names[i], *std::move(outcomes[i]));
    } else {
      failures.emplace(names[i], std::string(outcomes[i].status().message()));
    }
  }
  for (Kernel &kernel : kernels) {
    const std::string name = kernel.function.getSymName().str();
    if (auto it = compiled.find(name); it != compiled.end()) {
      kernel.candidates.push_back(
          generatedImplementation(kernel.function, it->second));
      dumpBenchmark(kernel.function, it->second);
    } else {
      result.rejections.push_back({"code generation", name, failures[name]});
    }
    if (kernel.library)
      addLibraryCandidate(kernel, compiled);
    else if (kernel.function->getAttrOfType<StringAttr>("ait.kind")
                 .getValue() != "loop")
      result.rejections.push_back({"library", name, kernel.libraryFailure});
    for (CutKernel &parts : kernel.parts) {
      auto first = compiled.find(parts.first.function.getSymName().str());
      auto second = compiled.find(parts.second.function.getSymName().str());
      if (first != compiled.end() && second != compiled.end())
        kernel.candidates.push_back(
            cutImplementation(parts, first->second, second->second));
    }
    if (kernel.candidates.empty())
      result.failures.push_back(
          {name, failures[name], traceOps(kernel.function, kernel.launches)});
  }
  return absl::OkStatus();
}

void Compilation::chooseImplementations() {
  const auto start = std::chrono::steady_clock::now();
  int done = 0;
  for (Kernel &kernel : kernels) {
    if (kernel.launches.empty() || kernel.candidates.empty())
      continue;
    measuredKernels +=
        options.measureCandidates && kernel.candidates.size() > 1;
    const size_t choice =
        options.measureCandidates
            ? chooseByMeasurement(module, kernel.launches.front(),
                                  kernel.candidates, constants, result)
            : 0;
    KernelImplementation &chosen = kernel.candidates[choice];
    kernel.chosenCut = chosen.cut;
    for (KernelObject &object : chosen.objects)
      result.objects.push_back(object);
    implementations[kernel.function.getSymName()] = std::move(chosen);
    report("choosing candidates", ++done, static_cast<int>(kernels.size()));
  }
  if (options.tuning.budgetSeconds > 0)
    keepCuts(kernels, symbols(), constantBytes(), options, result);
  result.phaseSeconds.emplace_back(
      "candidate choice",
      std::chrono::duration<double>(std::chrono::steady_clock::now() - start)
          .count());
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
  cudaOptions.dumpDirectory = options.dumpDirectory;
  cudaOptions.threads = threads();
  cudaOptions.progress = [this](const char *phase, int done, int total) {
    report(phase, done, total);
  };
  auto timed = [&](const char *phase, llvm::function_ref<void()> work) {
    const auto start = std::chrono::steady_clock::now();
    work();
    const std::chrono::duration<double> time =
        std::chrono::steady_clock::now() - start;
    result.phaseSeconds.emplace_back(phase, time.count());
  };
  timed("code generation", [&] {
    addCudaCandidates(kernels, module, target, cudaOptions, result);
    compiledKernels += static_cast<int64_t>(kernels.size());
  });
  std::vector<int> choices(kernels.size(), 0);
  if (options.measureCandidates)
    timed("candidate choice", [&] {
      choices = chooseCudaCandidates(kernels, module, **device, constants,
                                     cudaOptions, result);
      measuredKernels += llvm::count_if(kernels, [](const Kernel &kernel) {
        return kernel.candidates.size() > 1;
      });
    });
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
  if (absl::Status status = runPasses("transforms",
                                      [&](OpPassManager &passManager) {
                                        buildTransformPipeline(passManager,
                                                               onCuda);
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
    if (options.compileTo == CompilePhase::Executable) {
      const auto start = std::chrono::steady_clock::now();
      tuneSchedules(kernels, symbols(), constantBytes(), options, result);
      result.phaseSeconds.emplace_back(
          "tuning", std::chrono::duration<double>(
                        std::chrono::steady_clock::now() - start)
                        .count());
    }
    if (absl::Status status = generateCode(); !status.ok())
      return status;
  }
  if (options.compileTo != CompilePhase::Executable || !result.failures.empty())
    return std::move(result);
  if (!onCuda)
    chooseImplementations();
  auto main = module.lookupSymbol<func::FuncOp>("main");
  if (!main)
    return absl::InvalidArgumentError("the module has no function @main");
  absl::StatusOr<ExecutablePlan> plan =
      buildPlan(main, symbols(), implementations);
  if (!plan.ok())
    return plan.status();
  result.plan = *std::move(plan);
  if (onCuda)
    result.plan.set_device("cuda");
  return std::move(result);
}

} // namespace

CompileCounts compileCounts() {
  return {compiledGraphs, compiledKernels, measuredKernels};
}

absl::StatusOr<CompileResult>
compile(ModuleOp module, absl::Span<const ConstantTensor> constants,
        const CompileOptions &options) {
  ++compiledGraphs;
  return Compilation(module, constants, options).run();
}

} // namespace aitune
