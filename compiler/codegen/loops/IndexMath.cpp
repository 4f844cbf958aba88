#include "compiler/codegen/loops/IndexMath.h"

#include "compiler/dialect/Ait.h"
#include "compiler/dialect/SizeExpressions.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;

namespace aitune {
namespace {

AffineExpr constantLike(AffineExpr expr, int64_t value) {
  return getAffineConstantExpr(value, expr.getContext());
}

void addTerm(LinearForm &form, AffineExpr term, AffineExpr coefficient) {
  for (LinearForm::Term &existing : form.terms)
    if (existing.term == term) {
      existing.coefficient = canonical(existing.coefficient + coefficient);
      return;
    }
  form.terms.push_back({term, canonical(coefficient)});
}

void decomposeInto(LinearForm &form, AffineExpr expr, AffineExpr factor) {
  if (!hasDims(expr)) {
    form.constant = form.constant + expr * factor;
    return;
  }
  if (auto binary = dyn_cast<AffineBinaryOpExpr>(expr)) {
    if (expr.getKind() == AffineExprKind::Add) {
      decomposeInto(form, binary.getLHS(), factor);
      decomposeInto(form, binary.getRHS(), factor);
      return;
    }
    if (expr.getKind() == AffineExprKind::Mul && !hasDims(binary.getRHS()))
      return decomposeInto(form, binary.getLHS(), factor * binary.getRHS());
    if (expr.getKind() == AffineExprKind::Mul && !hasDims(binary.getLHS()))
      return decomposeInto(form, binary.getRHS(), factor * binary.getLHS());
  }
  addTerm(form, expr, factor);
}

/// Replaces the first pair c * n * (e floordiv n) + c * (e mod n) by c * e.
bool joinDivision(LinearForm &form) {
  for (size_t i = 0; i < form.terms.size(); ++i) {
    auto rest = dyn_cast<AffineBinaryOpExpr>(form.terms[i].term);
    if (!rest || rest.getKind() != AffineExprKind::Mod)
      continue;
    AffineExpr wanted = rest.getLHS().floorDiv(rest.getRHS());
    AffineExpr coefficient = form.terms[i].coefficient;
    AffineExpr wantedCoefficient = canonical(coefficient * rest.getRHS());
    for (size_t j = 0; j < form.terms.size(); ++j) {
      if (form.terms[j].term != wanted ||
          form.terms[j].coefficient != wantedCoefficient)
        continue;
      form.terms.erase(form.terms.begin() + std::max(i, j));
      form.terms.erase(form.terms.begin() + std::min(i, j));
      decomposeInto(form, rest.getLHS(), coefficient);
      return true;
    }
  }
  return false;
}

void collectFactors(AffineExpr expr, SmallVectorImpl<AffineExpr> &symbols,
                    int64_t &constant) {
  auto binary = dyn_cast<AffineBinaryOpExpr>(expr);
  if (binary && expr.getKind() == AffineExprKind::Mul) {
    collectFactors(binary.getLHS(), symbols, constant);
    collectFactors(binary.getRHS(), symbols, constant);
  } else if (auto number = dyn_cast<AffineConstantExpr>(expr)) {
    constant *= number.getValue();
  } else {
    symbols.push_back(expr);
  }
}

bool isKnownNonNegative(AffineExpr size) {
  if (std::optional<int64_t> value = getConstant(size))
    return *value >= 0;
  SmallVector<AffineExpr> factors;
  int64_t constant = 1;
  collectFactors(size, factors, constant);
  return constant >= 0 && llvm::all_of(factors, [](AffineExpr factor) {
           // Symbols are sizes.
           if (isa<AffineSymbolExpr>(factor))
             return true;
           auto binary = dyn_cast<AffineBinaryOpExpr>(factor);
           if (!binary || binary.getKind() == AffineExprKind::Mul)
             return false;
           if (binary.getKind() == AffineExprKind::Add)
             return isKnownNonNegative(binary.getLHS()) &&
                    isKnownNonNegative(binary.getRHS());
           return getConstant(binary.getRHS()).value_or(0) > 0 &&
                  isKnownNonNegative(binary.getLHS());
         });
}

/// A number that is not greater than `size`, an expression of symbols; not set
/// if none is known.
std::optional<int64_t> getLowerBound(AffineExpr size) {
  if (auto sum = dyn_cast<AffineBinaryOpExpr>(size);
      sum && sum.getKind() == AffineExprKind::Add) {
    std::optional<int64_t> lhs = getLowerBound(sum.getLHS()),
                           rhs = getLowerBound(sum.getRHS());
    return lhs && rhs ? std::optional<int64_t>(*lhs + *rhs) : std::nullopt;
  }
  if (std::optional<int64_t> constant = getConstant(size))
    return constant;
  return isKnownNonNegative(size) ? std::optional<int64_t>(0) : std::nullopt;
}

} // namespace

std::optional<int64_t> getConstant(AffineExpr expr) {
  if (auto constant = dyn_cast<AffineConstantExpr>(expr))
    return constant.getValue();
  return std::nullopt;
}

AffineExpr canonical(AffineExpr size) {
  return isa<AffineConstantExpr>(size) ? size
                                       : mlir::ait::canonicalizeSize(size);
}

SmallVector<unsigned, 4> dimsOf(AffineExpr expr) {
  SmallVector<unsigned, 4> dims;
  expr.walk([&](AffineExpr part) {
    if (auto dim = dyn_cast<AffineDimExpr>(part);
        dim && !llvm::is_contained(dims, dim.getPosition()))
      dims.push_back(dim.getPosition());
  });
  llvm::sort(dims);
  return dims;
}

bool mayBeNegative(AffineExpr expr) {
  if (auto constant = dyn_cast<AffineConstantExpr>(expr))
    return constant.getValue() < 0;
  auto binary = dyn_cast<AffineBinaryOpExpr>(expr);
  // A remainder has the sign of its divisor, which is positive.
  if (!binary || expr.getKind() == AffineExprKind::Mod)
    return false;
  return mayBeNegative(binary.getLHS()) || mayBeNegative(binary.getRHS());
}

bool hasDims(AffineExpr expr) {
  if (isa<AffineDimExpr>(expr))
    return true;
  auto binary = dyn_cast<AffineBinaryOpExpr>(expr);
  return binary && (hasDims(binary.getLHS()) || hasDims(binary.getRHS()));
}

AffineExpr LinearForm::coefficientOf(unsigned dim) const {
  for (const Term &term : terms)
    if (auto single = dyn_cast<AffineDimExpr>(term.term);
        single && single.getPosition() == dim)
      return term.coefficient;
  return constantLike(constant, 0);
}

bool LinearForm::isNonlinearIn(unsigned dim) const {
  return llvm::any_of(terms, [&](const Term &term) {
    return !isa<AffineDimExpr>(term.term) && term.term.isFunctionOfDim(dim);
  });
}

bool LinearForm::involves(unsigned dim) const {
  return llvm::any_of(
      terms, [&](const Term &term) { return term.term.isFunctionOfDim(dim); });
}

AffineExpr LinearForm::toExpr() const {
  AffineExpr sum = constant;
  for (const Term &term : terms)
    sum = sum + term.term * term.coefficient;
  return sum;
}

LinearForm decompose(AffineExpr expr) {
  LinearForm form;
  form.constant = constantLike(expr, 0);
  decomposeInto(form, expr, constantLike(expr, 1));
  while (joinDivision(form)) {
  }
  llvm::erase_if(form.terms, [](const LinearForm::Term &term) {
    return term.coefficient == 0;
  });
  form.constant = canonical(form.constant);
  return form;
}

Division divide(AffineExpr expr, AffineExpr size, RangeLookup ranges) {
  AffineExpr zero = constantLike(expr, 0);
  if (size == 1)
    return {expr, zero};
  LinearForm form = decompose(expr);
  AffineExpr quotient = zero, remainder = zero, greatest = zero;
  bool resolved = true;
  auto take = [&](AffineExpr term, AffineExpr coefficient) {
    if (AffineExpr exact = mlir::ait::divideExactly(coefficient, size)) {
      quotient = quotient + term * exact;
      return;
    }
    remainder = remainder + term * coefficient;
    auto dim = dyn_cast<AffineDimExpr>(term);
    std::optional<DimRange> range =
        dim ? ranges(dim.getPosition()) : std::nullopt;
    if (auto binary = dyn_cast<AffineBinaryOpExpr>(term);
        binary && binary.getKind() == AffineExprKind::Mod)
      range = DimRange{zero, binary.getRHS()};
    if (!range || !isKnownNonNegative(coefficient)) {
      resolved = false;
      return;
    }
    greatest = greatest + (range->upper - 1) * coefficient;
  };
  for (const LinearForm::Term &term : form.terms)
    take(term.term, term.coefficient);
  std::optional<int64_t> constant = getConstant(form.constant);
  if (constant && *constant == 0) {
    // Nothing to add.
  } else if (AffineExpr exact = mlir::ait::divideExactly(form.constant, size)) {
    quotient = quotient + exact;
  } else {
    remainder = remainder + form.constant;
    greatest = greatest + form.constant;
    resolved &= constant && *constant > 0;
  }
  if (resolved) {
    std::optional<int64_t> margin = getConstant(canonical(size - 1 - greatest));
    if (margin && *margin >= 0)
      return {quotient, remainder};
  }
  return {expr.floorDiv(size), expr % size};
}

ConstantBounds getBounds(AffineExpr expr, RangeLookup ranges) {
  LinearForm form = decompose(expr);
  AffineExpr least = form.constant, greatest = form.constant;
  for (const LinearForm::Term &term : form.terms) {
    AffineExpr low, high;
    if (auto dim = dyn_cast<AffineDimExpr>(term.term)) {
      if (std::optional<DimRange> range = ranges(dim.getPosition())) {
        low = range->lower;
        high = range->upper - 1;
      }
    } else if (auto binary = dyn_cast<AffineBinaryOpExpr>(term.term);
               binary && binary.getKind() == AffineExprKind::Mod) {
      low = constantLike(expr, 0);
      high = binary.getRHS() - 1;
    }
    if (isKnownNonNegative(canonical(-term.coefficient)))
      std::swap(low, high);
    else if (!isKnownNonNegative(term.coefficient))
      return {};
    auto add = [&](AffineExpr &bound, AffineExpr part) {
      bound = bound && part ? bound + part * term.coefficient : AffineExpr();
    };
    add(least, low);
    add(greatest, high);
  }
  ConstantBounds bounds;
  // What the ends have in common cancels.
  if (least)
    bounds.lower = getLowerBound(canonical(least));
  if (greatest)
    if (std::optional<int64_t> bound = getLowerBound(canonical(-greatest)))
      bounds.upper = -*bound;
  return bounds;
}

} // namespace aitune
