// The templates of contractions on a CPU, by the kind of kernel that each
// generates: all that the pass of this folder and the search know of them.
#ifndef AITUNE_COMPILER_CODEGEN_CPU_CONTRACTION_TEMPLATES_H
#define AITUNE_COMPILER_CODEGEN_CPU_CONTRACTION_TEMPLATES_H

#include <optional>
#include <string>

#include "compiler/codegen/cpu/target/Target.h"
#include "compiler/dialect/KernelAttributes.h"
#include "compiler/support/Schedule.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace aitune {

/// Both functions take a kernel of the template's kind, in the form that
/// ait-analyze-contractions leaves. They fail and set `reason` for one that the
/// template has no code for. Not thread-safe for one MLIRContext.
struct ContractionTemplate {
  /// Replaces the kernel by its ABI function (runtime/cpu/kernel_abi.h), with
  /// the schedule of ait.config. The kernel is unchanged after a failure.
  mlir::LogicalResult (*lower)(mlir::func::FuncOp kernel, const Target &target,
                               std::string &reason);
  /// Lists the schedules that `lower` takes.
  mlir::FailureOr<KernelSpace> (*listSchedules)(mlir::func::FuncOp kernel,
                                                const Target &target,
                                                std::string &reason);
};

/// Nothing for loops, which are no contraction.
std::optional<ContractionTemplate>
getContractionTemplate(mlir::ait::KernelKind kind);

} // namespace aitune

#endif // AITUNE_COMPILER_CODEGEN_CPU_CONTRACTION_TEMPLATES_H
