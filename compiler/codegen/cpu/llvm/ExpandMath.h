// Replaces math functions by code: by vector arithmetic for f32 functions that
// are common in models, by calls of libm for others.
#ifndef AITUNE_COMPILER_CODEGEN_CPU_LLVM_EXPANDMATH_H
#define AITUNE_COMPILER_CODEGEN_CPU_LLVM_EXPANDMATH_H

#include "mlir/IR/Operation.h"

namespace aitune {

/// Replaces, in place, the `math` operations inside `root` for which neither
/// LLVM nor the CPU has an instruction. exp, exp2, expm1, log, log2, log10,
/// log1p, tanh and erf of f32, scalars or vectors, become arithmetic
/// (MathApproximations.h); all other functions and types become one call of
/// libm for each lane. The called functions are declared in `root`'s module.
/// Unless the CPU `hasBfloat16` instructions, rounding f32 to bf16 becomes
/// integer arithmetic: LLVM would call a function of its runtime library, which
/// is not linked into kernels.
mlir::LogicalResult expandMath(mlir::Operation *root, bool hasBfloat16);

} // namespace aitune

#endif // AITUNE_COMPILER_CODEGEN_CPU_LLVM_EXPANDMATH_H
