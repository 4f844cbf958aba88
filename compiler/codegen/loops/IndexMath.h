// Index expressions of loop kernels: affine expressions over loop dims
// (numbered as they are made) and the module's symbols. Schedules are decided
// by asking such an expression how it moves when one dim does.
#ifndef AITUNE_COMPILER_CODEGEN_LOOPS_INDEXMATH_H
#define AITUNE_COMPILER_CODEGEN_LOOPS_INDEXMATH_H

#include <optional>

#include "mlir/IR/AffineExpr.h"
#include "mlir/Support/LLVM.h"

namespace aitune {

/// The values a dim takes: 0 <= dim < size unless a loop covers a part.
struct DimRange {
  mlir::AffineExpr lower, upper; ///< upper is exclusive; of symbols only
};
using RangeLookup = llvm::function_ref<std::optional<DimRange>(unsigned dim)>;

/// An expression as sum of coefficient * term + constant. Terms are dims, or
/// quotients and remainders that could not be resolved; coefficients and the
/// constant are expressions of symbols.
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

/// Also joins n * (e floordiv n) + e mod n to e.
LinearForm decompose(mlir::AffineExpr expr);

/// expr = quotient * size + remainder, 0 <= remainder < size, resolved by
/// divisibility and ranges where possible.
struct Division {
  mlir::AffineExpr quotient, remainder;
};
Division divide(mlir::AffineExpr expr, mlir::AffineExpr size,
                RangeLookup ranges);

/// The constant bounds of an expression, inclusive, if they are known.
struct ConstantBounds {
  std::optional<int64_t> lower, upper;
};
ConstantBounds getBounds(mlir::AffineExpr expr, RangeLookup ranges);

/// The value of a constant expression.
std::optional<int64_t> getConstant(mlir::AffineExpr expr);
/// As mlir::ait::canonicalizeSize, quick for constants.
mlir::AffineExpr canonical(mlir::AffineExpr size);
/// Dims that occur in the expression, ascending.
llvm::SmallVector<unsigned, 4> dimsOf(mlir::AffineExpr expr);
bool hasDims(mlir::AffineExpr expr);
/// Whether the value may be below 0 though no dim or symbol is: it decides
/// between unsigned division, the cheaper one, and affine expressions' own,
/// which rounds down.
bool mayBeNegative(mlir::AffineExpr expr);

} // namespace aitune

#endif // AITUNE_COMPILER_CODEGEN_LOOPS_INDEXMATH_H
