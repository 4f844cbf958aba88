// How the operands of a contraction are stored, multiplied and added up.
//
// What a template asks in place of testing element types itself: the row of the
// table in OperandFormat.cpp says which operands there is code for and the type
// of their sums. A template that has an instruction for operands as they are
// stored (MicrokernelKind on a CPU) replaces the factors' types and says how
// many steps the instruction takes.
//
// Scales of quantised operands are no part of a format: a weight's scale is one
// number for each column, the same for all steps, so that it multiplies the sum
// like any other operation that follows the contraction.
#ifndef AITUNE_COMPILER_CODEGEN_CONTRACTION_OPERANDFORMAT_H
#define AITUNE_COMPILER_CODEGEN_CONTRACTION_OPERANDFORMAT_H

#include <string>

#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Types.h"
#include "mlir/Support/LLVM.h"

namespace aitune {

struct OperandFormat {
  /// Element types of the left and the right side in memory.
  mlir::Type lhs, rhs;
  /// Element types that the two sides are multiplied in: a side that is stored
  /// in another one is converted first.
  mlir::Type lhsFactor, rhsFactor;
  /// Element type that the products are added up in.
  mlir::Type sum;
  /// Steps of the contracted axis that are multiplied at once. A right side
  /// that is packed for it holds as many of each column side by side.
  int64_t stepsTogether = 1;

  /// Whether the right side holds codes of 8 bits that are widened to be
  /// multiplied with floats.
  bool widensCodes() const {
    return rhsBytes() == 1 && llvm::isa<mlir::FloatType>(lhs);
  }
  /// Bytes of an element of the right side in memory.
  int64_t rhsBytes() const { return rhs.getIntOrFloatBitWidth() / 8; }
  /// Bytes of a sum.
  int64_t sumBytes() const { return sum.getIntOrFloatBitWidth() / 8; }
};

/// The format of a contraction whose operands are stored as `lhs` and `rhs` and
/// whose result is of `result`, all element types: one step at a time, both
/// sides converted to the sums' type. Fails, with `reason`, if there is no code
/// for such operands.
mlir::FailureOr<OperandFormat> getOperandFormat(mlir::Type lhs, mlir::Type rhs,
                                                mlir::Type result,
                                                std::string &reason);

} // namespace aitune

#endif // AITUNE_COMPILER_CODEGEN_CONTRACTION_OPERANDFORMAT_H
