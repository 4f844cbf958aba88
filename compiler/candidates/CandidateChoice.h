// Decides between the candidates of each kernel, its possible implementations,
// by running them against each other.
//
// Nothing here is thread-safe, unless it says so: plans are built from MLIR.
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
  /// The best candidate of each kernel.
  llvm::StringMap<KernelImplementation> best;
  /// The best of the candidates that no search found (isSearched).
  llvm::StringMap<KernelImplementation> unsearched;
  /// Of one launch of `best`, by the kernel's name; none where nothing was
  /// measured.
  llvm::StringMap<double> microseconds;
  /// Kernels whose candidates were run against each other.
  int64_t measured = 0;
};

/// Takes the fastest candidate of each kernel that gives right results, by the
/// rules target.raceRules(). Each candidate is measured on a model that is one
/// launch of the kernel. A candidate that the reference finds wrong is not
/// taken, even if there is no other. With options.measureCandidates false it is
/// the first candidate that no library refuses on this machine. Those of
/// Kernel::leftOut are never taken.
///
/// If no candidate can be loaded alone, the first is taken, unless the rules
/// say mustRun; loading the plan will then say why. Sets `chosenCut` of the
/// kernels and clears their candidates. Appends the measurements to
/// result.candidates, wrong candidates to result.wrong, and kernels without a
/// candidate that may be taken to result.failures. `constants` is the pool of
/// `module`.
///
/// kInternal if a candidate left the device unusable (CompilationTarget::
/// usable); this process can use it no more. The candidate is the last one in
/// result.wrong if it alone failed, so that later builds leave it out.
absl::StatusOr<ChosenKernels>
chooseCandidates(llvm::MutableArrayRef<Kernel> kernels, mlir::ModuleOp module,
                 const CompilationTarget &target,
                 absl::Span<const ConstantTensor> constants,
                 const CompileOptions &options, CompileResult &result);

/// The name of a candidate in reports and in Kernel::leftOut.
std::string labelOf(const KernelImplementation &candidate);

/// The position of the fastest candidate for which `mayTake` holds; -1 if there
/// is none or all failed. `earlierWinsTies` is that of RaceRules.
int fastest(
    absl::Span<const Measurement> measured, bool earlierWinsTies,
    llvm::function_ref<bool(size_t)> mayTake = [](size_t) { return true; });

/// Whether a candidate that takes at least `leastMicroseconds` may be faster
/// than all candidates in `measured`.
bool mayBeFaster(double leastMicroseconds,
                 absl::Span<const Measurement> measured);

/// The plan of the model `wrapper`, which wrapLaunch made: one launch of the
/// kernel named `kernel`, which `candidate` implements. `symbols` is the
/// module's ait.symbols (may be null). Errors as buildPlan.
absl::StatusOr<ExecutablePlan>
buildCandidatePlan(mlir::func::FuncOp wrapper, mlir::ArrayAttr symbols,
                   mlir::StringRef kernel,
                   const KernelImplementation &candidate);

/// A race of `candidates` of `kernel`, which is launched in `module`; its entry
/// i is candidate i. `constants`, the pool, must live as long as the race.
std::unique_ptr<CandidateRace>
raceCandidates(const CompilationTarget &target, mlir::ModuleOp module,
               const Kernel &kernel,
               absl::Span<const KernelImplementation> candidates,
               absl::Span<const ConstantTensor> constants);

/// Whether `value` is an ait.constant, or reshapes of one.
bool isOfPool(mlir::Value value);

/// A new function of `module` that does nothing but `launch`: its inputs for
/// which isOfPool holds are constants there, too, and the others are arguments.
/// The caller erases it.
mlir::func::FuncOp wrapLaunch(mlir::ModuleOp module,
                              mlir::ait::LaunchOp launch);

} // namespace aitune

#endif // AITUNE_COMPILER_CANDIDATES_CANDIDATECHOICE_H
