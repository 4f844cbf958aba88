// Math functions as code: vector arithmetic where the f32 function is common in
// models, libm elsewhere.
#ifndef AITUNE_COMPILER_CODEGEN_CPU_LLVM_EXPANDMATH_H
#define AITUNE_COMPILER_CODEGEN_CPU_LLVM_EXPANDMATH_H

#include "mlir/IR/Operation.h"

namespace aitune {

/// Replaces, in place, the `math` operations inside `root` that neither LLVM
/// nor the CPU has as an instruction. f32 exp, exp2, expm1, log, log2, log10,
/// log1p, tanh and erf become arithmetic (MathApproximations.h), scalars and
/// vectors alike; all other functions and types become one call of libm a lane.
/// Functions called are declared in `root`'s module. Unless the CPU
/// `hasBfloat16`, rounding f32 to bf16 becomes integer arithmetic too: LLVM
/// would call a function of its runtime library, which a loaded kernel does not
/// have.
mlir::LogicalResult expandMath(mlir::Operation *root, bool hasBfloat16);

} // namespace aitune

#endif // AITUNE_COMPILER_CODEGEN_CPU_LLVM_EXPANDMATH_H
