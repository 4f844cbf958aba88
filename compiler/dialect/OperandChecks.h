// Checks that verifiers of several families of operations share. Each reports
// an error at `op` that says what to do.
#ifndef AITUNE_COMPILER_DIALECT_OPERANDCHECKS_H
#define AITUNE_COMPILER_DIALECT_OPERANDCHECKS_H

#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Operation.h"

namespace mlir::ait {

/// Whether `dim` is the number of an axis of `type`.
bool isAxis(int64_t dim, RankedTensorType type);
/// An error if isAxis does not hold.
LogicalResult verifyDim(Operation *op, int64_t dim, RankedTensorType type);
/// An error if an operand has another element type than the first result.
LogicalResult verifySameElementType(Operation *op);
/// An error if the elements of `indices` are neither i32 nor i64.
LogicalResult verifyIndices(Operation *op, RankedTensorType indices);

} // namespace mlir::ait

#endif // AITUNE_COMPILER_DIALECT_OPERANDCHECKS_H
