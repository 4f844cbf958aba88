// Forms of quotients and clamps of which only codes of 8-bit floats are made,
// as dynamic quantisation makes them of activations: fewer instructions, and
// the same bits.
//
// A code has 4 bits and its conversion saturates, so that a clamp to the
// greatest code says nothing new, and a quotient must be right only as far as
// the middle of two codes can tell. All follow values through the function's
// other generics and take time in proportion to the operations that they meet.
#ifndef AITUNE_COMPILER_CODEGEN_GPU_TEXT_CODEFORMS_H
#define AITUNE_COMPILER_CODEGEN_GPU_TEXT_CODEFORMS_H

#include "mlir/IR/Operation.h"

namespace aitune {

/// The corrections that codeQuotient of prelude/Common.cuh needs in place of
/// `op`: 1 if the dividend was a 16-bit float, else 2. 0 if `op` may not be
/// one: it is no arith.divf of f32 of which only codes of 8-bit floats are
/// made, with a clamp before at most, or its divisor, whose reciprocal is to
/// be computed once, is not the same along the last axis, as the scale of a row
/// is.
int countCodeCorrections(mlir::Operation *op);

/// Whether `op` makes a code of an 8-bit float of a number that was clamped to
/// the greatest one and the least one just before. It may then be a conversion
/// that saturates (saturatedTo of prelude/Common.cuh).
bool isSaturatedCode(mlir::Operation *op);

/// Whether `op` is one half of such clamps, and has no other use, so that what
/// it bounds may stand in its place.
bool isOfSaturatedCodes(mlir::Operation *op);

} // namespace aitune

#endif // AITUNE_COMPILER_CODEGEN_GPU_TEXT_CODEFORMS_H
