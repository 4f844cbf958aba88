// Sizes as polynomials over the module's symbols.
#include "compiler/dialect/Ait.h"

#include "mlir/IR/AffineMap.h"
#include "llvm/ADT/STLExtras.h"

#include <map>

using namespace mlir;
using namespace mlir::ait;

namespace {
/// A product of atoms (symbols, divisions, remainders), in a fixed order.
using Monomial = SmallVector<AffineExpr, 2>;

/// Orders atoms by their structure, never by address: the order shows in types
/// and must not differ from run to run.
int compareAtoms(AffineExpr lhs, AffineExpr rhs) {
  if (lhs == rhs)
    return 0;
  if (lhs.getKind() != rhs.getKind())
    return lhs.getKind() == AffineExprKind::SymbolId ||
                   (rhs.getKind() != AffineExprKind::SymbolId &&
                    lhs.getKind() < rhs.getKind())
               ? -1
               : 1;
  if (auto symbol = dyn_cast<AffineSymbolExpr>(lhs))
    return symbol.getPosition() < cast<AffineSymbolExpr>(rhs).getPosition() ? -1
                                                                            : 1;
  if (auto dim = dyn_cast<AffineDimExpr>(lhs))
    return dim.getPosition() < cast<AffineDimExpr>(rhs).getPosition() ? -1 : 1;
  if (auto constant = dyn_cast<AffineConstantExpr>(lhs))
    return constant.getValue() < cast<AffineConstantExpr>(rhs).getValue() ? -1
                                                                          : 1;
  auto left = cast<AffineBinaryOpExpr>(lhs);
  auto right = cast<AffineBinaryOpExpr>(rhs);
  if (int order = compareAtoms(left.getLHS(), right.getLHS()))
    return order;
  return compareAtoms(left.getRHS(), right.getRHS());
}

struct MonomialLess {
  bool operator()(const Monomial &lhs, const Monomial &rhs) const {
    if (lhs.size() != rhs.size())
      return lhs.size() > rhs.size();
    for (auto [left, right] : llvm::zip(lhs, rhs))
      if (int order = compareAtoms(left, right))
        return order < 0;
    return false;
  }
};

/// Coefficients of monomials; none of them is zero.
using Polynomial = std::map<Monomial, int64_t, MonomialLess>;

void addTerm(Polynomial &polynomial, const Monomial &monomial,
             int64_t coefficient) {
  auto [it, inserted] = polynomial.try_emplace(monomial, coefficient);
  if (!inserted)
    it->second += coefficient;
  if (it->second == 0)
    polynomial.erase(it);
}

AffineExpr toExpression(const Polynomial &polynomial, MLIRContext *context) {
  AffineExpr sum;
  for (const auto &[monomial, coefficient] : polynomial) {
    AffineExpr product;
    for (AffineExpr atom : monomial)
      product = product ? product * atom : atom;
    if (!product)
      product = getAffineConstantExpr(coefficient, context);
    else if (coefficient != 1)
      product = product * coefficient;
    sum = sum ? sum + product : product;
  }
  return sum ? sum : getAffineConstantExpr(0, context);
}

Polynomial toPolynomial(AffineExpr expr) {
  Polynomial result;
  if (auto constant = dyn_cast<AffineConstantExpr>(expr)) {
    addTerm(result, {}, constant.getValue());
    return result;
  }
  auto binary = dyn_cast<AffineBinaryOpExpr>(expr);
  if (!binary) {
    addTerm(result, {expr}, 1);
    return result;
  }
  Polynomial lhs = toPolynomial(binary.getLHS());
  Polynomial rhs = toPolynomial(binary.getRHS());
  switch (expr.getKind()) {
  case AffineExprKind::Add:
    result = std::move(lhs);
    for (const auto &[monomial, coefficient] : rhs)
      addTerm(result, monomial, coefficient);
    return result;
  case AffineExprKind::Mul:
    for (const auto &[left, leftCoefficient] : lhs)
      for (const auto &[right, rightCoefficient] : rhs) {
        Monomial product(left);
        product.append(right.begin(), right.end());
        llvm::sort(product, [](AffineExpr a, AffineExpr b) {
          return compareAtoms(a, b) < 0;
        });
        addTerm(result, product, leftCoefficient * rightCoefficient);
      }
    return result;
  default: {
    MLIRContext *context = expr.getContext();
    AffineExpr left = toExpression(lhs, context);
    AffineExpr right = toExpression(rhs, context);
    AffineExpr atom = getAffineBinaryOpExpr(expr.getKind(), left, right);
    // Construction may have folded the division away.
    if (atom.getKind() == expr.getKind())
      addTerm(result, {atom}, 1);
    else
      result = toPolynomial(atom);
    return result;
  }
  }
}

/// One more than the highest symbol in `sizes`: every type then has the one
/// map that its sizes need.
unsigned countSymbols(ArrayRef<AffineExpr> sizes) {
  unsigned count = 0;
  for (AffineExpr size : sizes)
    size.walk([&](AffineExpr expr) {
      if (auto symbol = dyn_cast<AffineSymbolExpr>(expr))
        count = std::max(count, symbol.getPosition() + 1);
    });
  return count;
}
} // namespace

AffineExpr mlir::ait::canonicalizeSize(AffineExpr size) {
  if (isa<AffineConstantExpr, AffineSymbolExpr>(size))
    return size;
  return toExpression(toPolynomial(size), size.getContext());
}

bool mlir::ait::isValidTensorType(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  if (!tensor)
    return false;
  if (tensor.hasStaticShape())
    return !tensor.getEncoding();
  auto encoding = dyn_cast_or_null<AffineMapAttr>(tensor.getEncoding());
  if (!encoding)
    return false;
  AffineMap map = encoding.getValue();
  if (map.getNumDims() != 0 ||
      map.getNumResults() != static_cast<unsigned>(tensor.getRank()) ||
      map.getNumSymbols() != countSymbols(map.getResults()))
    return false;
  for (auto [size, expr] : llvm::zip(tensor.getShape(), map.getResults())) {
    auto constant = dyn_cast<AffineConstantExpr>(expr);
    if (ShapedType::isDynamic(size) ? static_cast<bool>(constant)
                                    : !constant || constant.getValue() != size)
      return false;
  }
  return true;
}

SmallVector<AffineExpr> mlir::ait::getSymbolicSizes(RankedTensorType type) {
  if (auto encoding = dyn_cast_or_null<AffineMapAttr>(type.getEncoding()))
    return llvm::to_vector(encoding.getValue().getResults());
  assert(type.hasStaticShape() && "dynamic sizes need an encoding");
  return llvm::map_to_vector(type.getShape(), [&](int64_t size) {
    return getAffineConstantExpr(size, type.getContext());
  });
}

RankedTensorType mlir::ait::getTensorType(ArrayRef<AffineExpr> sizes,
                                          Type elementType) {
  SmallVector<AffineExpr> exprs;
  SmallVector<int64_t> shape;
  for (AffineExpr size : sizes) {
    exprs.push_back(canonicalizeSize(size));
    auto constant = dyn_cast<AffineConstantExpr>(exprs.back());
    shape.push_back(constant ? constant.getValue() : ShapedType::kDynamic);
  }
  if (!llvm::is_contained(shape, ShapedType::kDynamic))
    return RankedTensorType::get(shape, elementType);
  AffineMap map =
      AffineMap::get(0, countSymbols(exprs), exprs, elementType.getContext());
  return RankedTensorType::get(shape, elementType, AffineMapAttr::get(map));
}

RankedTensorType mlir::ait::withElementType(RankedTensorType type,
                                            Type elementType) {
  return RankedTensorType::get(type.getShape(), elementType,
                               type.getEncoding());
}

AffineExpr mlir::ait::getElementCount(RankedTensorType type) {
  AffineExpr count = getAffineConstantExpr(1, type.getContext());
  for (AffineExpr size : getSymbolicSizes(type))
    count = count * size;
  return canonicalizeSize(count);
}

bool mlir::ait::haveSameSizes(RankedTensorType lhs, RankedTensorType rhs) {
  if (lhs.getRank() != rhs.getRank())
    return false;
  if (lhs.getShape() == rhs.getShape() &&
      lhs.getEncoding() == rhs.getEncoding())
    return true;
  return llvm::all_of(llvm::zip(getSymbolicSizes(lhs), getSymbolicSizes(rhs)),
                      [](auto pair) {
                        return canonicalizeSize(std::get<0>(pair)) ==
                               canonicalizeSize(std::get<1>(pair));
                      });
}

bool mlir::ait::mayBeEqual(AffineExpr lhs, AffineExpr rhs) {
  auto difference = dyn_cast<AffineConstantExpr>(canonicalizeSize(lhs - rhs));
  return !difference || difference.getValue() == 0;
}
