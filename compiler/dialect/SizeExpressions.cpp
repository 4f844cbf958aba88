#include "compiler/dialect/SizeExpressions.h"

#include "compiler/dialect/Ait.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/ErrorHandling.h"

using aitune::SizeExpression;

namespace mlir::ait {

AffineExpr toAffineExpr(const SizeExpression &size, MLIRContext *context) {
  switch (size.kind()) {
  case SizeExpression::Kind::kConstant:
    return getAffineConstantExpr(*size.constant(), context);
  case SizeExpression::Kind::kSymbol:
    return getAffineSymbolExpr(size.symbol(), context);
  default:
    break;
  }
  AffineExpr lhs = toAffineExpr(size.lhs(), context);
  AffineExpr rhs = toAffineExpr(size.rhs(), context);
  switch (size.kind()) {
  case SizeExpression::Kind::kAdd:
    return lhs + rhs;
  case SizeExpression::Kind::kMultiply:
    return lhs * rhs;
  case SizeExpression::Kind::kFloorDivide:
    return lhs.floorDiv(rhs);
  case SizeExpression::Kind::kCeilDivide:
    return lhs.ceilDiv(rhs);
  case SizeExpression::Kind::kModulo:
    return lhs % rhs;
  default:
    llvm_unreachable("leaves are handled above");
  }
}

SizeExpression toSizeExpression(AffineExpr size) {
  if (auto constant = dyn_cast<AffineConstantExpr>(size))
    return SizeExpression(constant.getValue());
  if (auto symbol = dyn_cast<AffineSymbolExpr>(size))
    return SizeExpression::Symbol(symbol.getPosition());
  auto binary = cast<AffineBinaryOpExpr>(size);
  SizeExpression::Kind kind;
  switch (size.getKind()) {
  case AffineExprKind::Add:
    kind = SizeExpression::Kind::kAdd;
    break;
  case AffineExprKind::Mul:
    kind = SizeExpression::Kind::kMultiply;
    break;
  case AffineExprKind::FloorDiv:
    kind = SizeExpression::Kind::kFloorDivide;
    break;
  case AffineExprKind::CeilDiv:
    kind = SizeExpression::Kind::kCeilDivide;
    break;
  case AffineExprKind::Mod:
    kind = SizeExpression::Kind::kModulo;
    break;
  default:
    llvm_unreachable("a size has no dimensions");
  }
  return SizeExpression::Binary(kind, toSizeExpression(binary.getLHS()),
                                toSizeExpression(binary.getRHS()));
}

static void collectFactors(AffineExpr expr,
                           SmallVectorImpl<AffineExpr> &factors) {
  if (expr.getKind() == AffineExprKind::Mul) {
    auto product = cast<AffineBinaryOpExpr>(expr);
    collectFactors(product.getLHS(), factors);
    collectFactors(product.getRHS(), factors);
  } else if (expr != 1) {
    factors.push_back(expr);
  }
}

AffineExpr divideExactly(AffineExpr dividend, AffineExpr divisor) {
  MLIRContext *context = dividend.getContext();
  if (dividend == divisor)
    return getAffineConstantExpr(1, context);
  SmallVector<AffineExpr> divisorFactors;
  collectFactors(divisor, divisorFactors);
  AffineExpr quotient = dividend;
  for (AffineExpr factor : divisorFactors) {
    if (auto constant = dyn_cast<AffineConstantExpr>(factor)) {
      if (constant.getValue() <= 0 ||
          !quotient.isMultipleOf(constant.getValue()))
        return nullptr;
      quotient = canonicalizeSize(quotient.floorDiv(constant));
      continue;
    }
    SmallVector<AffineExpr> factors;
    collectFactors(quotient, factors);
    auto *found = llvm::find(factors, factor);
    if (found == factors.end())
      return nullptr;
    factors.erase(found);
    quotient = getAffineConstantExpr(1, context);
    for (AffineExpr other : factors)
      quotient = quotient * other;
    quotient = canonicalizeSize(quotient);
  }
  return quotient;
}

} // namespace mlir::ait
