// Decides between the candidates of each kernel, its possible implementations,
// by running them against each other.
//
// Nothing here is thread-safe, unless it says so: plans are built from MLIR.
#ifndef AITUNE_COMPILER_CANDIDATES_CANDIDATECHOICE_H
#define AITUNE_COMPILER_CANDIDATES_CANDIDATECHOICE_H

#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "compiler/Compiler.h"
#include "compiler/candidates/CompilationTarget.h"
#include "compiler/candidates/Kernel.h"
#include "compiler/plan/KernelImplementation.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/StringMap.h"

namespace aitune {

/// The implementation of each launched kernel, by the kernel's name.
struct ChosenKernels {
  /// The best candidate of each kernel.
  llvm::StringMap<KernelImplementation> best;
  /// The best of the candidates that no search found (isSearched).
  llvm::StringMap<KernelImplementation> unsearched;
  /// The microseconds of one launch of `best`, by the kernel's name; none where
  /// nothing was measured.
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

} // namespace aitune

#endif // AITUNE_COMPILER_CANDIDATES_CANDIDATECHOICE_H
