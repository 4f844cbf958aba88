#include "compiler/dialect/SizeBounds.h"

#include <algorithm>

#include "llvm/Support/MathExtras.h"

namespace mlir::ait {
namespace {

std::optional<SizeBounds> limited(SizeBounds bounds) {
  if (bounds.low < -kMostSizeBound || bounds.high > kMostSizeBound)
    return std::nullopt;
  return bounds;
}

std::optional<SizeBounds> boundsOfSymbol(unsigned position, ArrayAttr symbols) {
  auto symbol = symbols && position < symbols.size()
                    ? dyn_cast<DictionaryAttr>(symbols[position])
                    : DictionaryAttr();
  auto min = symbol ? symbol.getAs<IntegerAttr>("min") : IntegerAttr();
  auto max = symbol ? symbol.getAs<IntegerAttr>("max") : IntegerAttr();
  if (!min || !max)
    return std::nullopt;
  return limited({min.getInt(), max.getInt()});
}

} // namespace

std::optional<SizeBounds> getSizeBounds(AffineExpr size, ArrayAttr symbols) {
  if (auto constant = dyn_cast<AffineConstantExpr>(size))
    return limited({constant.getValue(), constant.getValue()});
  if (auto symbol = dyn_cast<AffineSymbolExpr>(size))
    return boundsOfSymbol(symbol.getPosition(), symbols);
  auto binary = dyn_cast<AffineBinaryOpExpr>(size);
  if (!binary)
    return std::nullopt;
  std::optional<SizeBounds> lhs = getSizeBounds(binary.getLHS(), symbols),
                            rhs = getSizeBounds(binary.getRHS(), symbols);
  if (!lhs || !rhs)
    return std::nullopt;
  if (size.getKind() == AffineExprKind::Add) {
    SizeBounds sum;
    if (llvm::AddOverflow(lhs->low, rhs->low, sum.low) ||
        llvm::AddOverflow(lhs->high, rhs->high, sum.high))
      return std::nullopt;
    return limited(sum);
  }
  if (size.getKind() == AffineExprKind::Mul) {
    std::optional<SizeBounds> product;
    for (int64_t a : {lhs->low, lhs->high})
      for (int64_t b : {rhs->low, rhs->high}) {
        int64_t result;
        if (llvm::MulOverflow(a, b, result))
          return std::nullopt;
        product = product ? SizeBounds{std::min(product->low, result),
                                       std::max(product->high, result)}
                          : SizeBounds{result, result};
      }
    return limited(*product);
  }
  if (rhs->low <= 0)
    return std::nullopt;
  if (size.getKind() == AffineExprKind::Mod)
    return limited({0, lhs->low >= 0 ? std::min(lhs->high, rhs->high - 1)
                                     : rhs->high - 1});
  // Quotients grow with a dividend, and lie nearer to 0 for greater divisors.
  auto quotient = [&](int64_t dividend, int64_t divisor) {
    return size.getKind() == AffineExprKind::CeilDiv
               ? llvm::divideCeilSigned(dividend, divisor)
               : llvm::divideFloorSigned(dividend, divisor);
  };
  return limited(
      {std::min(quotient(lhs->low, rhs->low), quotient(lhs->low, rhs->high)),
       std::max(quotient(lhs->high, rhs->low),
                quotient(lhs->high, rhs->high))});
}

} // namespace mlir::ait
