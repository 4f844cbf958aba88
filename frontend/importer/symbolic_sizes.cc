#include "frontend/importer/symbolic_sizes.h"

#include <algorithm>

#include "compiler/dialect/Ait.h"

namespace aitune::frontend {

using mlir::AffineExpr;

SymbolicSizes::SymbolicSizes(
    mlir::MLIRContext* context,
    const std::vector<std::pair<int64_t, int64_t>>& ranges,
    absl::Span<const SizeConstraint> constraints)
    : comparison_(context, ranges, constraints) {}

AffineExpr SymbolicSizes::Canonical(AffineExpr size) {
  if (mlir::isa<mlir::AffineConstantExpr>(size)) return size;
  auto [known, inserted] = canonical_.try_emplace(size, size);
  if (!inserted) return known->second;
  const std::vector<int64_t> values = comparison_.ValuesAtSamples(size);
  const bool is_symbol = mlir::isa<mlir::AffineSymbolExpr>(size);
  // A symbol of one value is still a symbol: its range is the caller's to say.
  if (!is_symbol && values.size() > 1 &&
      std::all_of(values.begin(), values.end(),
                  [&](int64_t v) { return v == values[0]; })) {
    AffineExpr constant =
        mlir::getAffineConstantExpr(values[0], size.getContext());
    if (comparison_.AreEqual(size, constant))
      return canonical_[size] = constant;
  }
  Sizes& alike = by_values_[values];
  const auto equal = std::find_if(
      alike.begin(), alike.end(),
      [&](AffineExpr other) { return comparison_.AreEqual(size, other); });
  AffineExpr own = mlir::ait::canonicalizeSize(size);
  if (equal == alike.end()) {
    alike.push_back(own);
    return canonical_[size] = own;
  }
  // A symbol is what its axis has in any case, whatever constraints make it
  // equal to.
  return canonical_[size] = is_symbol ? own : *equal;
}

std::pair<int64_t, int64_t> SymbolicSizes::Bounds(AffineExpr size) {
  const auto known = bounds_.find(size);
  if (known != bounds_.end()) return known->second;
  return bounds_[size] = comparison_.Bounds(size);
}

}  // namespace aitune::frontend
