// The scalar form of every pointwise operation of the `ait` dialect: the one
// place that says what, for example, ait.remainder computes. Loop kernels use
// it inside linalg.generic bodies, contraction kernels in their epilogues.
//
// Everything is made of `arith` and `math` operations, which are elementwise:
// the same code serves scalars and vectors of one shape. Transcendentals stay
// `math` operations; compiler/codegen/cpu expands them (ExpandMath.h), so IR
// before that step stays readable and its cost easy to estimate.
#ifndef AITUNE_COMPILER_CODEGEN_LINALG_POINTWISETOSCALAR_H
#define AITUNE_COMPILER_CODEGEN_LINALG_POINTWISETOSCALAR_H

#include "mlir/IR/Builders.h"
#include "mlir/IR/Operation.h"

namespace aitune {

/// Emits at `builder` what `aitOp` (an operation with the trait Pointwise)
/// computes from one element of each operand. `operands` are as many as the
/// operation's, all scalars or all vectors of one shape, with the element types
/// of the operation's operands: f64, f32, f16, bf16, i64, i32, i16, i8, ui8
/// (signless i8 registers; the operation's tensor type tells the sign) and i1
/// for bool. The result has the element type of the operation's result.
///
/// f16 and bf16 are computed in f32 and rounded once. maximum, minimum, clamp,
/// relu keep NaN; round is half to even; remainder has the divisor's sign;
/// division by an integer zero gives an unspecified number and never traps.
///
/// When `computeInOperandType` is set, the element types of `operands` count
/// instead of the operation's own: a contraction's epilogue passes f32
/// accumulators for a bf16 operation and gets f32.
///
/// Fails, with a diagnostic at `aitOp`, for an operation or an element type
/// that has no scalar form.
mlir::FailureOr<mlir::Value> emitPointwise(mlir::OpBuilder &builder,
                                           mlir::Operation *aitOp,
                                           mlir::ValueRange operands,
                                           bool computeInOperandType = false);

/// Emits the conversion of `value` (scalar or vector) to `elementType`, as
/// ait.convert does: round to nearest even; floats to integers truncate; to
/// bool (i1) is != 0. `sourceUnsigned`/`resultUnsigned`: the element is ui8.
/// Null when no conversion between the two exists.
mlir::Value emitConvert(mlir::OpBuilder &builder, mlir::Location location,
                        mlir::Value value, mlir::Type elementType,
                        bool sourceUnsigned = false,
                        bool resultUnsigned = false);

/// `number` as a constant of `type` (a float or integer type or a vector of
/// such): rounded or truncated to it.
mlir::Value emitConstant(mlir::OpBuilder &builder, mlir::Location location,
                         mlir::Type type, double number);

/// The type a value of tensor element type `elementType` has in a register:
/// signless integers, floats unchanged.
mlir::Type getRegisterType(mlir::Type elementType);

} // namespace aitune

#endif // AITUNE_COMPILER_CODEGEN_LINALG_POINTWISETOSCALAR_H
