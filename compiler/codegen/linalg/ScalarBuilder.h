// Builds arithmetic on scalars or vectors whose element type is known only when
// code is generated: one function for floats, signed and unsigned integers and
// bools, each with PyTorch's semantics.
#ifndef AITUNE_COMPILER_CODEGEN_LINALG_SCALARBUILDER_H
#define AITUNE_COMPILER_CODEGEN_LINALG_SCALARBUILDER_H

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/Builders.h"

namespace aitune {

enum class Relation { Equal, NotEqual, Less, LessEqual, Greater, GreaterEqual };

/// Values are scalars or vectors of one shape; both operands of a function have
/// the same type. A null result means that the element type does not support
/// the operation.
struct ScalarBuilder {
  mlir::OpBuilder &builder;
  mlir::Location location;
  /// Whether integers are unsigned.
  bool isUnsigned = false;

  static bool isFloat(mlir::Value value);
  static bool isBool(mlir::Value value);

  /// A constant of the type of `value`.
  mlir::Value like(mlir::Value value, double number);
  /// An integer constant with exactly these bits.
  mlir::Value likeBits(mlir::Value value, uint64_t bits);

  mlir::Value add(mlir::Value lhs, mlir::Value rhs);
  mlir::Value sub(mlir::Value lhs, mlir::Value rhs);
  mlir::Value mul(mlir::Value lhs, mlir::Value rhs);
  /// The quotient; that of integers is truncated. Dividing an integer by 0
  /// gives an unspecified result and does not trap, here and below.
  mlir::Value div(mlir::Value lhs, mlir::Value rhs);
  mlir::Value floorDivide(mlir::Value lhs, mlir::Value rhs);
  /// The remainder with the sign of the divisor.
  mlir::Value remainder(mlir::Value lhs, mlir::Value rhs);
  /// The remainder with the sign of the dividend.
  mlir::Value truncatingRemainder(mlir::Value lhs, mlir::Value rhs);
  /// The maximum and the minimum; NaN if either operand is NaN.
  mlir::Value maximum(mlir::Value lhs, mlir::Value rhs);
  mlir::Value minimum(mlir::Value lhs, mlir::Value rhs);
  mlir::Value absolute(mlir::Value value);
  mlir::Value negate(mlir::Value value);
  mlir::Value sigmoid(mlir::Value value);

  /// The result of a comparison, i1 of the operands' shape. NaN is unequal to
  /// every number and neither less nor greater.
  mlir::Value compare(Relation relation, mlir::Value lhs, mlir::Value rhs);
  mlir::Value select(mlir::Value condition, mlir::Value onTrue,
                     mlir::Value onFalse);

  template <typename MathOp> mlir::Value unary(mlir::Value value) {
    return MathOp::create(builder, location, value);
  }
  template <typename MathOp>
  mlir::Value binary(mlir::Value lhs, mlir::Value rhs) {
    return MathOp::create(builder, location, lhs, rhs);
  }
  template <typename IntegerOp>
  mlir::Value integer(mlir::Value lhs, mlir::Value rhs) {
    return IntegerOp::create(builder, location, lhs, rhs);
  }

private:
  mlir::Value integerQuotient(mlir::Value lhs, mlir::Value rhs,
                              bool wantRemainder);
};

} // namespace aitune

#endif // AITUNE_COMPILER_CODEGEN_LINALG_SCALARBUILDER_H
