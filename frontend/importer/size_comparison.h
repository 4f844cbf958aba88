// What holds of sizes, which are expressions over a model's symbols, at all
// sizes that the model accepts.
//
// Sizes that agree at some hundred of a model's sizes need not agree at all of
// them: n floordiv 400 + 1 and n ceildiv 400 differ at one in 400. Short ranges
// are looked at in full. Of long ones a part suffices, as sums, products and
// divisions by constants repeat themselves: where n grows by the product of the
// divisors, they grow as a polynomial does, which is known from as many places
// as it has coefficients.
#ifndef AITUNE_FRONTEND_IMPORTER_SIZE_COMPARISON_H_
#define AITUNE_FRONTEND_IMPORTER_SIZE_COMPARISON_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "absl/types/span.h"
#include "llvm/ADT/DenseMap.h"
#include "mlir/IR/AffineExpr.h"
#include "runtime/tensor/size_constraint.h"

namespace aitune::frontend {

// Sizes of all symbols, at `count` places.
struct SizePoints {
  std::vector<std::vector<int64_t>> of_symbol;
  size_t count = 0;
};

// Not thread-safe: keeps what it has drawn.
class SizeComparison {
 public:
  // `ranges` are the least and greatest value of each symbol, in order, and
  // `constraints` what all sizes fulfil.
  SizeComparison(mlir::MLIRContext* context,
                 const std::vector<std::pair<int64_t, int64_t>>& ranges,
                 absl::Span<const SizeConstraint> constraints);

  // The values of `size` at some hundred of the sizes, or at all where there
  // are no more: sizes whose values differ are not equal. A division by 0 gives
  // 0. Precondition, here and below: only symbols of `ranges`.
  std::vector<int64_t> ValuesAtSamples(mlir::AffineExpr size) const;

  // Whether two sizes, whose values at the samples are equal, are so
  // everywhere. Where that can't be shown, as one of them divides by a symbol
  // or repeats itself only after many sizes, or constraints relate long ranges,
  // the answer is that of thousands of sizes, drawn at random.
  bool AreEqual(mlir::AffineExpr a, mlir::AffineExpr b);

  // The least and the greatest value of `size`; of thousands of sizes, where
  // AreEqual looks at such, or `size` has products of one symbol.
  std::pair<int64_t, int64_t> Bounds(mlir::AffineExpr size);

 private:
  struct Relation {
    mlir::AffineExpr expression;  // of a SizeConstraint
    SizeConstraint::Relation relation;
    std::vector<int> symbols;  // that it reads
  };
  // How an expression depends on one symbol.
  struct Dependence {
    int64_t period = 1;  // after so many sizes, it grows as a polynomial does
    int64_t degree = 0;  // of this polynomial
  };
  // By symbol; not set for what does not repeat itself, or too late.
  std::optional<std::vector<Dependence>> DependenceOf(mlir::AffineExpr size);
  // DependenceOf, for what it has not looked at before.
  std::optional<std::vector<Dependence>> FindDependence(mlir::AffineExpr size);
  // Those symbols that `symbols` are related to by constraints, and these.
  std::vector<bool> Related(std::vector<bool> symbols) const;
  // Those of the points that fulfil what reads no other than `symbols`.
  SizePoints Accepted(SizePoints points,
                      const std::vector<bool>& symbols) const;
  // Of `symbols` all combinations of their first `firsts` and last `lasts`
  // sizes, by symbol, that are accepted; not set where there are too many. No
  // `lasts`: 0 of each.
  std::optional<SizePoints> Combinations(const std::vector<bool>& symbols,
                                         absl::Span<const int64_t> firsts,
                                         absl::Span<const int64_t> lasts) const;
  // Sizes that show whether `sizes` are equal everywhere or, `of_ends`, what
  // their least and greatest values are.
  std::vector<SizePoints> TellingPoints(
      absl::Span<const mlir::AffineExpr> sizes, bool of_ends);
  // The corners and sizes that are drawn at random, `count` in all.
  SizePoints Draw(size_t count) const;

  std::vector<std::pair<int64_t, int64_t>> ranges_;
  std::vector<Relation> constraints_;
  SizePoints samples_;
  bool samples_are_all_ = false;
  llvm::DenseMap<mlir::AffineExpr, std::optional<std::vector<Dependence>>>
      dependences_;
  std::optional<SizePoints> many_samples_;  // once they are needed
};

}  // namespace aitune::frontend

#endif  // AITUNE_FRONTEND_IMPORTER_SIZE_COMPARISON_H_
