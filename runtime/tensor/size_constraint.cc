#include "runtime/tensor/size_constraint.h"

#include <set>

namespace aitune {
namespace {

using Kind = SizeExpression::Kind;

void Collect(const SizeExpression& expression, std::set<int>& symbols) {
  switch (expression.kind()) {
    case Kind::kConstant:
      return;
    case Kind::kSymbol:
      symbols.insert(expression.symbol());
      return;
    default:
      Collect(expression.lhs(), symbols);
      Collect(expression.rhs(), symbols);
  }
}

}  // namespace

bool SizeConstraint::Holds(absl::Span<const int64_t> symbols) const {
  const int64_t value = expression.Evaluate(symbols);
  switch (relation) {
    case Relation::kZero:
      return value == 0;
    case Relation::kNonZero:
      return value != 0;
    case Relation::kNonNegative:
      break;
  }
  return value >= 0;
}

std::string SizeConstraint::ToString() const {
  switch (relation) {
    case Relation::kZero:
      return expression.ToString() + " == 0";
    case Relation::kNonZero:
      return expression.ToString() + " != 0";
    case Relation::kNonNegative:
      break;
  }
  return expression.ToString() + " >= 0";
}

SizeExpression Substitute(const SizeExpression& expression,
                          absl::Span<const SizeExpression> replacements) {
  switch (expression.kind()) {
    case Kind::kConstant:
      return expression;
    case Kind::kSymbol:
      return replacements[static_cast<size_t>(expression.symbol())];
    default:
      return SizeExpression::Binary(expression.kind(),
                                    Substitute(expression.lhs(), replacements),
                                    Substitute(expression.rhs(), replacements));
  }
}

std::vector<int> SymbolsOf(const SizeExpression& expression) {
  std::set<int> symbols;
  Collect(expression, symbols);
  return {symbols.begin(), symbols.end()};
}

}  // namespace aitune
