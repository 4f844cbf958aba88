// Decides between the implementations of a kernel by running them.
#ifndef AITUNE_COMPILER_CANDIDATES_CANDIDATECHOICE_H
#define AITUNE_COMPILER_CANDIDATES_CANDIDATECHOICE_H

#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "compiler/Compiler.h"
#include "compiler/candidates/CompilationTarget.h"
#include "compiler/candidates/Kernel.h"
#include "compiler/dialect/Ait.h"
#include "compiler/plan/KernelImplementation.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/StringMap.h"

namespace aitune {

/// The implementation of each launched kernel, by the kernel's name.
struct ChosenKernels {
  llvm::StringMap<KernelImplementation> best;
  /// The best of those that no search found (isSearched).
  llvm::StringMap<KernelImplementation> unsearched;
  /// Of one launch of `best`, by the kernel's name; none where nothing was
  /// measured.
  llvm::StringMap<double> microseconds;
  /// Kernels whose candidates were run against each other.
  int64_t measured = 0;
};

/// Takes for each kernel the fastest correct candidate, as target.raceRules()
/// compares them: each is measured on a model that is one launch alone, with
/// the constants as far as it prepares them at load. What the reference finds
/// wrong is not taken, even where it is the only one. Without
/// options.measureCandidates it is the first that a library does not refuse on
/// this machine. Sets `chosenCut` of the kernels and clears their candidates;
/// what was measured is appended to result.candidates, kernels that nothing
/// runs to result.failures. If none can be loaded alone the first is taken,
/// where the rules do not ask for more, and the plan's own loading will say
/// why.
ChosenKernels chooseCandidates(llvm::MutableArrayRef<Kernel> kernels,
                               mlir::ModuleOp module,
                               const CompilationTarget &target,
                               absl::Span<const ConstantTensor> constants,
                               const CompileOptions &options,
                               CompileResult &result);

/// A candidate as reports and Kernel::leftOut name it.
std::string labelOf(const KernelImplementation &candidate);

/// The position of the fastest; -1 if all failed or `mayTake` none.
/// `earlierWinsTies` as RaceRules.
int fastest(
    absl::Span<const Measurement> measured, bool earlierWinsTies,
    llvm::function_ref<bool(size_t)> mayTake = [](size_t) { return true; });

/// Whether a candidate that takes `leastMicroseconds` or more may be faster
/// than all that were measured.
bool mayBeFaster(double leastMicroseconds,
                 absl::Span<const Measurement> measured);

/// The plan of a model that is a launch of `kernel` alone and implements it
/// with `candidate`; `wrapper` is wrapLaunch's, `symbols` the module's
/// ait.symbols.
absl::StatusOr<ExecutablePlan>
buildCandidatePlan(mlir::func::FuncOp wrapper, mlir::ArrayAttr symbols,
                   mlir::StringRef kernel,
                   const KernelImplementation &candidate);

/// A race of `candidates` of `kernel`, which is launched in `module`.
std::unique_ptr<CandidateRace>
raceCandidates(const CompilationTarget &target, mlir::ModuleOp module,
               const Kernel &kernel,
               absl::Span<const KernelImplementation> candidates,
               absl::Span<const ConstantTensor> constants);

/// Whether `value` is a constant of the pool, perhaps reshaped.
bool isOfPool(mlir::Value value);

/// A function of `module` that is `launch` alone: what isOfPool stays a
/// constant, other inputs become arguments. The caller erases it.
mlir::func::FuncOp wrapLaunch(mlir::ModuleOp module,
                              mlir::ait::LaunchOp launch);

} // namespace aitune

#endif // AITUNE_COMPILER_CANDIDATES_CANDIDATECHOICE_H
