// Equality and bounds of sizes that are expressions over a model's symbols.
//
// Two expressions may be equal for every size the model accepts and still look
// different ("(s0 * 4) floordiv 4" and "s0"), and algebra alone doesn't find
// all such pairs. Sizes come from probes of the model to begin with, so they
// are compared the same way: by value, at every size of a small range and at
// many of a large one, as far as the model's constraints accept them (where the
// model is for multiples of 4, "(s0 floordiv 4) * 4" is s0). Each class of
// equal sizes has one representative, which makes equal types of the dialect
// identical.
#ifndef AITUNE_FRONTEND_IMPORTER_SYMBOLIC_SIZES_H_
#define AITUNE_FRONTEND_IMPORTER_SYMBOLIC_SIZES_H_

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "absl/types/span.h"
#include "frontend/importer/size_comparison.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/SmallVector.h"
#include "mlir/IR/AffineExpr.h"
#include "runtime/tensor/size_constraint.h"

namespace aitune::frontend {

// The sizes of a tensor in elements: for each axis an expression over symbols.
using Sizes = llvm::SmallVector<mlir::AffineExpr>;

// Not thread-safe: remembers what it has seen.
class SymbolicSizes {
 public:
  // `ranges` are the least and greatest value of each symbol, in order, and
  // `constraints` what all sizes fulfil.
  SymbolicSizes(mlir::MLIRContext* context,
                const std::vector<std::pair<int64_t, int64_t>>& ranges,
                absl::Span<const SizeConstraint> constraints);

  // The representative of the sizes equal to `size`: constant if it has the
  // same value everywhere. Precondition: only symbols of `ranges`.
  mlir::AffineExpr Canonical(mlir::AffineExpr size);

  // Whether the two are equal for all values of the symbols.
  bool Equal(mlir::AffineExpr a, mlir::AffineExpr b) {
    return Canonical(a) == Canonical(b);
  }

  // The least and the greatest value of `size`.
  std::pair<int64_t, int64_t> Bounds(mlir::AffineExpr size);

 private:
  SizeComparison comparison_;
  llvm::DenseMap<mlir::AffineExpr, mlir::AffineExpr> canonical_;
  llvm::DenseMap<mlir::AffineExpr, std::pair<int64_t, int64_t>> bounds_;
  // The representatives, by their values at the samples.
  std::map<std::vector<int64_t>, Sizes> by_values_;
};

}  // namespace aitune::frontend

#endif  // AITUNE_FRONTEND_IMPORTER_SYMBOLIC_SIZES_H_
