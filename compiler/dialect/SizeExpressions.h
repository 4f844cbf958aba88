// Converts sizes between the two forms that they have: SizeExpression in the
// frontend and in the plan, affine expressions in tensor types. Symbol i of one
// form is symbol i of the other. Divides sizes of tensor types. Thread-safe.
#ifndef AITUNE_COMPILER_DIALECT_SIZEEXPRESSIONS_H
#define AITUNE_COMPILER_DIALECT_SIZEEXPRESSIONS_H

#include "mlir/IR/AffineExpr.h"
#include "runtime/tensor/size_expression.h"

namespace mlir::ait {

/// The expression over symbols that has the value of `size` for all values of
/// the symbols. It is semi-affine if `size` has products of symbols.
AffineExpr toAffineExpr(const aitune::SizeExpression &size,
                        MLIRContext *context);

/// The inverse of toAffineExpr. Precondition: `size` has no dimensions and no
/// division or remainder by the constant 0.
aitune::SizeExpression toSizeExpression(AffineExpr size);

/// dividend / divisor, canonical, if the divisor provably divides it; null
/// otherwise. The divisor is a size: it is not negative.
AffineExpr divideExactly(AffineExpr dividend, AffineExpr divisor);

} // namespace mlir::ait

#endif // AITUNE_COMPILER_DIALECT_SIZEEXPRESSIONS_H
