// One run of the compiler: what its phases share. Compile.cpp has the order of
// the phases, GenerateCode.cpp and ChooseImplementations.cpp those on the CPU.
#ifndef AITUNE_COMPILER_DRIVER_COMPILATION_H
#define AITUNE_COMPILER_DRIVER_COMPILATION_H

#include <atomic>
#include <chrono>
#include <map>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "compiler/Compiler.h"
#include "compiler/candidates/Kernel.h"
#include "compiler/candidates/KernelCompiler.h"
#include "compiler/dialect/Ait.h"
#include "compiler/support/Dump.h"
#include "compiler/tune/TuningChoices.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/PassManager.h"
#include "llvm/ADT/StringMap.h"

namespace aitune {

/// Of the process; see CompileCounts.
struct CompileCounters {
  std::atomic<int64_t> graphs{0}, kernels{0}, measurements{0};
};
CompileCounters &compileCounters();

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

class Compilation {
public:
  Compilation(mlir::ModuleOp module, absl::Span<const ConstantTensor> constants,
              const CompileOptions &options)
      : module(module), constants(constants), options(options),
        dump(options.dumpDirectory, "graph") {}

  absl::StatusOr<CompileResult> run();

private:
  absl::Status runPasses(const char *phase,
                         llvm::function_ref<void(mlir::OpPassManager &)> build);
  void collectKernels();
  /// The least and greatest element of an integer constant of the pool.
  std::optional<std::pair<int64_t, int64_t>> rangeOf(int64_t constant) const;
  absl::Status generateCode();
  void dumpBenchmark(mlir::func::FuncOp function,
                     const CompiledKernel &compiled) const;
  void retryWithDefaultSchedules(
      const std::vector<std::string> &names,
      std::vector<absl::StatusOr<CompiledKernel>> &outcomes);
  void
  addLibraryCandidate(Kernel &kernel,
                      const std::map<std::string, CompiledKernel> &compiled);
  absl::Status chooseImplementations();
  void chooseCandidates();
  absl::StatusOr<ExecutablePlan>
  planOf(const llvm::StringMap<KernelImplementation> &implementations);
  absl::Status tune();
  absl::Status chooseModel();
  bool isSearching() const { return options.tuning.budgetSeconds > 0; }
  absl::Status findCudaImplementations();
  void report(const char *phase, int done, int total) const {
    if (options.progress)
      options.progress(phase, done, total);
  }
  KernelCompilerOptions kernelOptions() const {
    return {options.emulateEagerCasts, options.target, options.dumpDirectory,
            options.compileTo};
  }
  mlir::ArrayAttr symbols() const {
    return module->getAttrOfType<mlir::ArrayAttr>("ait.symbols");
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

  mlir::ModuleOp module;
  absl::Span<const ConstantTensor> constants;
  const CompileOptions &options;
  const Dump dump;
  CompileResult result;
  std::vector<Kernel> kernels;
  llvm::StringMap<KernelImplementation> implementations;
  /// Those that there would be without a search.
  llvm::StringMap<KernelImplementation> unsearched;
  /// Set on the CPU, when schedules are searched or a database is there.
  std::optional<TuningChoices> choices;
  std::string model; ///< the text of @main, once kernels are formed
  bool runsOnOneThread = false;
};

} // namespace aitune

#endif // AITUNE_COMPILER_DRIVER_COMPILATION_H
