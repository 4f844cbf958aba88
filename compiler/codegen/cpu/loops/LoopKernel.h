// Turns a linalg kernel function into a function with the runtime's calling
// convention (runtime/cpu/kernel_abi.h), below called an ABI function.
#ifndef AITUNE_COMPILER_CODEGEN_CPU_LOOPS_LOOPKERNEL_H
#define AITUNE_COMPILER_CODEGEN_CPU_LOOPS_LOOPKERNEL_H

#include "compiler/codegen/cpu/target/Target.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace aitune {

/// Replaces `function`, which must be in the form that ait-lower-to-linalg
/// leaves, by a public ABI function of the same name, with the schedule of its
/// ait.config (LoopSpace.h). The new function has the attributes ait.grid and
/// ait.grain and the other `ait.` attributes of `function`. Fails, with a
/// diagnostic, for a schedule that is not legal or an operation that is not
/// allowed in that form.
mlir::FailureOr<mlir::func::FuncOp> lowerLoopKernel(mlir::func::FuncOp function,
                                                    const Target &target);

} // namespace aitune

#endif // AITUNE_COMPILER_CODEGEN_CPU_LOOPS_LOOPKERNEL_H
