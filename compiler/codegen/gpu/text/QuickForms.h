// Which functions of an epilogue or a loop may have a quick form: a few
// hardware instructions in place of a function of the CUDA library.
//
// A quick form is as good as the function where nothing can tell them apart but
// by chance: where all that is computed of the result keeps its relative error
// small, and is then rounded to bfloat16 or float16. Exact quotients (of what
// is no exponential) stay exact, and so do the codes of quantised activations,
// whose bits are promised: 8-bit floats do not count as a rounding.
#ifndef AITUNE_COMPILER_CODEGEN_GPU_TEXT_QUICKFORMS_H
#define AITUNE_COMPILER_CODEGEN_GPU_TEXT_QUICKFORMS_H

#include "mlir/IR/Operation.h"

namespace aitune {

/// Whether `op`, in the body of a linalg.generic or in that of an scf.if there,
/// may be quickExp of prelude/Common.cuh: it is a math.exp of f32, and all that
/// is made of its result is a product, a quotient or a sum of positive numbers
/// (one of another sum could cancel, which leaves the error and not the number)
/// until it is rounded to 16 bits. Follows values through the function's other
/// generics; takes time in proportion to the operations that it meets.
bool mayBeQuickExp(mlir::Operation *op);

/// Whether `op`, of f32, may have a quick form with a small absolute error, as
/// quickErf of prelude/Common.cuh has: all that is made of its result by
/// floating-point arithmetic, sums and reductions too, is rounded to 16 bits. A
/// GELU of f32 that has only small numbers, far below 0, keeps what the CUDA
/// library gives.
bool mayHaveAbsoluteError(mlir::Operation *op);

/// Whether all uses of `op` add 1 to it, as a GELU does to the error function,
/// and it mayHaveAbsoluteError. It may then be printed as 1 more than it is
/// (quickErfPlusOne of prelude/Common.cuh), whose relative error is small where
/// it is near -1 too, and its sums as the value itself.
bool hasOneAdded(mlir::Operation *op);

/// The operation that `sum` adds 1 to, if that hasOneAdded; else null.
mlir::Operation *findWhatHasOneAdded(mlir::Operation *sum);

/// Whether `op` may be quickQuotient of prelude/Common.cuh: an arith.divf whose
/// divisor is, or is a sum or product of, a result of an operation that
/// mayBeQuickExp.
bool mayBeQuickQuotient(mlir::Operation *op);

} // namespace aitune

#endif // AITUNE_COMPILER_CODEGEN_GPU_TEXT_QUICKFORMS_H
