// Replaces math functions by code: by vector arithmetic for f32 functions that
// are common in models, by calls of libmvec and libm for others.
#ifndef AITUNE_COMPILER_CODEGEN_CPU_LLVM_EXPANDMATH_H
#define AITUNE_COMPILER_CODEGEN_CPU_LLVM_EXPANDMATH_H

#include "mlir/IR/Operation.h"

namespace aitune {

/// Replaces, in place, the `math` operations inside `root` for which neither
/// LLVM nor the CPU has an instruction. exp, exp2, expm1, log, log2, log10,
/// log1p, tanh and erf of f32, scalars or vectors, become arithmetic
/// (MathApproximations.h); exp with the flag afn is approximateWeight. All
/// other functions and types become calls of libmvec, glibc's library of vector
/// functions, which compute registers of up to `vectorMathBits` bits at once
/// and are wrong by less than 4 units in the last place; scalars, vectors
/// smaller than 128 bits and remainders, and everything where `vectorMathBits`
/// is 0, become one call of libm for each lane. The called functions are
/// declared in `root`'s module. Unless the CPU `hasBfloat16` instructions,
/// rounding f32 to bf16 becomes integer arithmetic: LLVM would call a function
/// of its runtime library, which is not linked into kernels. Where it
/// `hasScale`, exponentials end with one instruction (MathApproximations.h).
mlir::LogicalResult expandMath(mlir::Operation *root, bool hasBfloat16,
                               bool hasScale, int64_t vectorMathBits);

} // namespace aitune

#endif // AITUNE_COMPILER_CODEGEN_CPU_LLVM_EXPANDMATH_H
