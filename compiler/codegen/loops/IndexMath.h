// Index expressions of loop kernels: affine expressions over loop dims, which
// are numbered in the order in which they are made, and the module's symbols. A
// schedule is chosen by how such expressions change when one dim changes.
#ifndef AITUNE_COMPILER_CODEGEN_LOOPS_INDEXMATH_H
#define AITUNE_COMPILER_CODEGEN_LOOPS_INDEXMATH_H

#include <optional>

#include "mlir/IR/AffineExpr.h"
#include "mlir/Support/LLVM.h"

namespace aitune {

/// The values of a dim: 0 <= dim < size, or a part of them if a loop covers
/// only a part.
struct DimRange {
  /// Expressions of symbols; the upper bound is exclusive.
  mlir::AffineExpr lower, upper;
};
using RangeLookup = llvm::function_ref<std::optional<DimRange>(unsigned dim)>;

/// An expression as a sum of coefficient * term plus a constant. Terms are
/// dims, or quotients and remainders that could not be simplified; coefficients
/// and the constant are expressions of symbols.
struct LinearForm {
  struct Term {
    mlir::AffineExpr term, coefficient;
  };
  llvm::SmallVector<Term, 4> terms;
  mlir::AffineExpr constant;

  /// The coefficient of a dim, the constant 0 if it does not occur as a term.
  mlir::AffineExpr coefficientOf(unsigned dim) const;
  /// Whether a quotient or remainder contains the dim.
  bool isNonlinearIn(unsigned dim) const;
  bool involves(unsigned dim) const;
  mlir::AffineExpr toExpr() const;
};

/// The linear form of `expr`, in which n * (e floordiv n) + e mod n became e.
LinearForm decompose(mlir::AffineExpr expr);

/// The solution of expr = quotient * size + remainder, 0 <= remainder < size,
/// simplified by divisibility and ranges where possible.
struct Division {
  mlir::AffineExpr quotient, remainder;
};
Division divide(mlir::AffineExpr expr, mlir::AffineExpr size,
                RangeLookup ranges);

/// The constant bounds of an expression for all sizes that symbols may have,
/// both included; not set if unknown.
struct ConstantBounds {
  std::optional<int64_t> lower, upper;
};
ConstantBounds getBounds(mlir::AffineExpr expr, RangeLookup ranges);

/// The value of a constant expression; not set for other expressions.
std::optional<int64_t> getConstant(mlir::AffineExpr expr);
/// As mlir::ait::canonicalizeSize, with a fast path for constants.
mlir::AffineExpr canonical(mlir::AffineExpr size);
/// The dims that occur in the expression, in ascending order.
llvm::SmallVector<unsigned, 4> dimsOf(mlir::AffineExpr expr);
bool hasDims(mlir::AffineExpr expr);
/// Whether the value may be negative although dims and symbols are not. If it
/// may not, division can be unsigned, which is cheaper than the division of
/// affine expressions, which rounds down.
bool mayBeNegative(mlir::AffineExpr expr);

} // namespace aitune

#endif // AITUNE_COMPILER_CODEGEN_LOOPS_INDEXMATH_H
