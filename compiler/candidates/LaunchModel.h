// A model that is one launch of a kernel, in which its candidates are run
// alone, or a few launches of a model.
//
// A candidate is timed and judged as a whole plan, so that it costs there what
// it costs in the model: its steps, the packing of its constants and the
// library that it calls are those of the runtime.
//
// Nothing here is thread-safe, unless it says so: plans are built from MLIR.
#ifndef AITUNE_COMPILER_CANDIDATES_LAUNCHMODEL_H
#define AITUNE_COMPILER_CANDIDATES_LAUNCHMODEL_H

#include <memory>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "compiler/candidates/CompilationTarget.h"
#include "compiler/candidates/Kernel.h"
#include "compiler/dialect/Ait.h"
#include "compiler/plan/KernelImplementation.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/StringMap.h"

namespace aitune {

/// Whether `value` is an ait.constant, or reshapes of one.
bool isOfPool(mlir::Value value);

/// A new function of `module` that does nothing but `launch`: its inputs for
/// which isOfPool holds are constants there, too, and the others are arguments.
/// The caller erases it.
mlir::func::FuncOp wrapLaunch(mlir::ModuleOp module,
                              mlir::ait::LaunchOp launch);

/// The same of several launches of one function, in its order. What one of them
/// gives another is passed on, through reshapes too; what something else uses
/// is a result. Other inputs are arguments.
mlir::func::FuncOp wrapLaunches(mlir::ModuleOp module,
                                llvm::ArrayRef<mlir::ait::LaunchOp> launches);

/// The plan of a model that wrapLaunches made. `implementations` has one for
/// each kernel. `symbols` is the module's ait.symbols (may be null). Errors as
/// buildPlan.
absl::StatusOr<ExecutablePlan>
buildLaunchesPlan(mlir::func::FuncOp wrapper, mlir::ArrayAttr symbols,
                  const llvm::StringMap<KernelImplementation> &implementations);

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

} // namespace aitune

#endif // AITUNE_COMPILER_CANDIDATES_LAUNCHMODEL_H
