// Decides between the implementations of a kernel by running them.
#ifndef AITUNE_COMPILER_CANDIDATES_CANDIDATECHOICE_H
#define AITUNE_COMPILER_CANDIDATES_CANDIDATECHOICE_H

#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "compiler/Compiler.h"
#include "compiler/dialect/Ait.h"
#include "compiler/plan/KernelImplementation.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "runtime/executable/executable.h"

namespace aitune {

/// Positions among a kernel's candidates.
struct KernelChoice {
  size_t best = 0;
  /// The best of those that no search found (isSearched).
  size_t unsearched = 0;
};

/// The fastest correct candidate, measured on a model that is `launch` alone,
/// with the real constants; the earlier one where confidence intervals leave it
/// open. One candidate is taken unmeasured. What was measured is appended to
/// result.candidates. If none can be loaded the first is returned, and the
/// plan's own loading will say why.
KernelChoice
chooseByMeasurement(mlir::ModuleOp module, mlir::ait::LaunchOp launch,
                    const std::vector<KernelImplementation> &candidates,
                    absl::Span<const ConstantTensor> constants,
                    CompileResult &result);

/// `wrapper`, whose one launch is of `kernel`, as a model that implements it
/// with `candidate`. `symbols` is the module's ait.symbols.
absl::StatusOr<std::unique_ptr<Executable>>
loadCandidate(mlir::func::FuncOp wrapper, mlir::ArrayAttr symbols,
              mlir::StringRef kernel, const KernelImplementation &candidate,
              absl::Span<const ConstantTensor> constants);

/// A function of `module` that is `launch` alone: constants stay constants,
/// other inputs become arguments. The caller erases it.
mlir::func::FuncOp wrapLaunch(mlir::ModuleOp module,
                              mlir::ait::LaunchOp launch);

} // namespace aitune

#endif // AITUNE_COMPILER_CANDIDATES_CANDIDATECHOICE_H
