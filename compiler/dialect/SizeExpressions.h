// Sizes between the two worlds that know them: the frontend's and the plan's
// SizeExpression, and the affine expressions of tensor types. Symbol i of one
// is symbol i of the other.
#ifndef AITUNE_COMPILER_DIALECT_SIZEEXPRESSIONS_H
#define AITUNE_COMPILER_DIALECT_SIZEEXPRESSIONS_H

#include "mlir/IR/AffineExpr.h"
#include "runtime/tensor/size_expression.h"

namespace mlir::ait {

/// The affine expression over symbols with the value of `size` for all values
/// of the symbols. Products of symbols give semi-affine expressions.
AffineExpr toAffineExpr(const aitune::SizeExpression &size,
                        MLIRContext *context);

/// The inverse. Precondition: `size` has no dimensions and no division or
/// remainder by the constant 0.
aitune::SizeExpression toSizeExpression(AffineExpr size);

} // namespace mlir::ait

#endif // AITUNE_COMPILER_DIALECT_SIZEEXPRESSIONS_H
