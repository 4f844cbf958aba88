// From a linalg kernel function to an ABI function
// (runtime/cpu/kernel_abi.h).
#ifndef AITUNE_COMPILER_CODEGEN_CPU_LOOPS_LOOPKERNEL_H
#define AITUNE_COMPILER_CODEGEN_CPU_LOOPS_LOOPKERNEL_H

#include "compiler/codegen/cpu/target/Target.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace aitune {

/// Replaces `function`, in the form ait-lower-to-linalg leaves, by a public ABI
/// function of the same name with the attributes ait.grid and ait.grain, its
/// other `ait.` attributes kept, by the schedule of its ait.config
/// (LoopSpace.h). Fails, with a diagnostic, for a schedule that is not legal or
/// an operation that does not belong into that form.
mlir::FailureOr<mlir::func::FuncOp> lowerLoopKernel(mlir::func::FuncOp function,
                                                    const Target &target);

} // namespace aitune

#endif // AITUNE_COMPILER_CODEGEN_CPU_LOOPS_LOOPKERNEL_H
