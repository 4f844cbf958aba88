// How the operands of a contraction are stored, scaled, multiplied and added
// up.
//
// Templates ask this instead of testing element types. The table in
// OperandFormat.cpp has a row for each pair of operands for which there is
// code, with the type of their sums. A template that has an instruction for
// operands as they are stored (MicrokernelKind on a CPU) changes the types of
// the factors and the number of steps.
//
// The scales of quantised operands lie along the rows or the columns of the
// result, so that they multiply the sums like any other operation after the
// contraction: generated kernels need no code for them. A library that rounds
// its result must apply them before that (LibraryRules).
#ifndef AITUNE_COMPILER_CODEGEN_CONTRACTION_OPERANDFORMAT_H
#define AITUNE_COMPILER_CODEGEN_CONTRACTION_OPERANDFORMAT_H

#include <string>

#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Types.h"
#include "mlir/Support/LLVM.h"

namespace aitune {

/// Of which axis of the result each entry has a scale.
enum class ScaleAxis { None, Row, Column };

/// The format of a pair of operands.
struct OperandFormat {
  /// The element types of the left and the right side in memory.
  mlir::Type lhs, rhs;
  /// The element types of the two sides in the multiplication. A side that is
  /// stored in another type is converted first.
  mlir::Type lhsFactor, rhsFactor;
  /// The element type of the sums of the products.
  mlir::Type sum;
  /// The number of steps of the contracted axis that are multiplied at once. A
  /// packed right side has as many elements of each column side by side.
  int64_t stepsTogether = 1;
  /// For what the scales are that the codes of the two sides stand for: the
  /// numbers of a side are its codes times its scales. None: no codes.
  ScaleAxis lhsScale = ScaleAxis::None, rhsScale = ScaleAxis::None;

  /// Whether the right side holds codes of 8 bits that are widened to be
  /// multiplied with floats.
  bool widensCodes() const {
    return rhsBytes() == 1 && llvm::isa<mlir::FloatType>(lhs) &&
           lhs.getIntOrFloatBitWidth() > 8;
  }
  /// The bytes of an element of the right side in memory.
  int64_t rhsBytes() const { return rhs.getIntOrFloatBitWidth() / 8; }
  /// The bytes of a sum.
  int64_t sumBytes() const { return sum.getIntOrFloatBitWidth() / 8; }
};

/// The format of a contraction whose operands are stored with the element types
/// `lhs` and `rhs` and whose result has the element type `result`: one step at
/// a time, both sides converted to the type of the sums. Fails, and sets
/// `reason`, if there is no code for such operands.
mlir::FailureOr<OperandFormat> getOperandFormat(mlir::Type lhs, mlir::Type rhs,
                                                mlir::Type result,
                                                std::string &reason);

} // namespace aitune

#endif // AITUNE_COMPILER_CODEGEN_CONTRACTION_OPERANDFORMAT_H
