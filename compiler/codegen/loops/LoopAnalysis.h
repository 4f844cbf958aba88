// Analyses which elements a linalg kernel function reads and what it computes,
// so that a schedule can be chosen before code is emitted.
//
// A function's values are treated as pure functions of an index: the element of
// a tensor at an index is found by following linalg.generic bodies to the
// arguments. `LoopAnalysis` follows them without emitting code; a PointWalker
// (PointWalker.h) follows the same paths and emits code.
#ifndef AITUNE_COMPILER_CODEGEN_LOOPS_LOOPANALYSIS_H
#define AITUNE_COMPILER_CODEGEN_LOOPS_LOOPANALYSIS_H

#include "compiler/codegen/loops/IndexMath.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "llvm/ADT/DenseSet.h"

namespace aitune {

/// The dims made so far, with their sizes (expressions of symbols).
class DimTable {
public:
  /// A new dim with values 0 ... size - 1.
  mlir::AffineExpr make(mlir::AffineExpr size) {
    sizes.push_back(size);
    return mlir::getAffineDimExpr(sizes.size() - 1, size.getContext());
  }
  unsigned count() const { return sizes.size(); }
  mlir::AffineExpr size(unsigned dim) const { return sizes[dim]; }
  /// The values of a dim; not set for one that makeOpaque made.
  std::optional<DimRange> range(unsigned dim) const {
    if (!sizes[dim])
      return std::nullopt;
    return DimRange{mlir::getAffineConstantExpr(0, sizes[dim].getContext()),
                    sizes[dim]};
  }
  /// A new dim that stands for an index computed from data.
  mlir::AffineExpr makeOpaque(mlir::MLIRContext *context) {
    sizes.push_back(nullptr);
    return mlir::getAffineDimExpr(sizes.size() - 1, context);
  }

private:
  llvm::SmallVector<mlir::AffineExpr> sizes;
};

/// An index as one value, for use as the key of a map.
mlir::AffineMap toKey(llvm::ArrayRef<mlir::AffineExpr> exprs,
                      mlir::MLIRContext *context);

/// The tensor whose memory `value` has: the operand of the reshapes that made
/// it, since reshapes of a dense tensor leave its elements in place.
mlir::Value stripReshapes(mlir::Value value);

/// The sizes of a tensor's axes, as expressions of symbols.
llvm::SmallVector<mlir::AffineExpr> sizesOf(mlir::Value tensor);

/// The sizes of a generic's loops, as expressions of symbols.
llvm::SmallVector<mlir::AffineExpr>
getLoopSizes(mlir::linalg::GenericOp generic);

/// Whether a generic has reduction loops.
bool hasReductionLoops(mlir::linalg::GenericOp generic);
/// Whether it is a scan: it has a reduction loop and a result of full size.
bool isScan(mlir::linalg::GenericOp generic);

/// The values of a generic's loops when its result `number` is read at `exprs`.
/// Loops that the index of the result does not determine (reductions) are null.
llvm::SmallVector<mlir::AffineExpr>
bindLoops(mlir::linalg::GenericOp generic, unsigned number,
          llvm::ArrayRef<mlir::AffineExpr> exprs);

/// Sets each reduction loop in `loops` to a new dim, outermost first, or to 0
/// if its size is 1. Returns the new dims.
llvm::SmallVector<unsigned>
openReducedLoops(mlir::linalg::GenericOp generic,
                 llvm::MutableArrayRef<mlir::AffineExpr> loops, DimTable &dims);

/// The constant that a result of a reduction starts from; null if it starts
/// from something that is not a constant.
mlir::TypedAttr getNeutral(mlir::linalg::GenericOp generic, unsigned result);

/// The index into the source of a tensor.collapse_shape or expand_shape of the
/// element that is read at `exprs`.
llvm::SmallVector<mlir::AffineExpr>
reshapeIndex(mlir::Operation *reshape, llvm::ArrayRef<mlir::AffineExpr> exprs,
             RangeLookup ranges);

/// The expression of a value of type index in a generic's body (or of its cast
/// to i64), when the generic's loops have the values `loops`; null if it
/// depends on data.
mlir::AffineExpr trackIndex(mlir::Value value,
                            llvm::ArrayRef<mlir::AffineExpr> loops);

/// The same, with the result of `ofData` for each value that depends on data.
mlir::AffineExpr
trackIndex(mlir::Value value, llvm::ArrayRef<mlir::AffineExpr> loops,
           llvm::function_ref<mlir::AffineExpr(mlir::Value)> ofData);

/// The result of a comparison of indices (slt or sge) in a generic's body, or
/// of a conjunction of such, if it is the same for all values of the dims. Not
/// set if it is not, or depends on data.
std::optional<bool> decideCondition(mlir::Value condition,
                                    llvm::ArrayRef<mlir::AffineExpr> loops,
                                    RangeLookup ranges);

/// The address of the element at `exprs` of a dense tensor, in elements from
/// its beginning.
mlir::AffineExpr linearize(mlir::RankedTensorType type,
                           llvm::ArrayRef<mlir::AffineExpr> exprs);

class LoopAnalysis {
public:
  explicit LoopAnalysis(DimTable &dims) : dims(dims) {}

  /// A read of an element of an argument, or a write of an element of a result.
  struct Access {
    LinearForm address;   ///< elements from the tensor's beginning
    bool inReduction;     ///< whether it is in the loop of a reduction
    unsigned elementBits; ///< bits of an element
  };
  /// A reduction whose result is read at an index.
  struct Reduction {
    mlir::linalg::GenericOp generic;
    unsigned result;                           ///< the number of the result
    llvm::SmallVector<mlir::AffineExpr> exprs; ///< the index
    llvm::SmallVector<unsigned> reducedDims;   ///< dims of its reduced loops
    double cost; ///< simple operations for one element of the result
  };
  /// The places where the condition of an scf.if changes along a dim: where the
  /// expression becomes 0.
  llvm::SmallVector<mlir::AffineExpr> thresholds;
  llvm::SmallVector<Access> accesses;
  /// All reductions in the order of evaluation.
  llvm::SmallVector<Reduction> reductions;
  /// Dims that are used not only in addresses. They keep a loop of their own.
  llvm::DenseSet<unsigned> observed;
  /// Dims along which a scan runs. Lanes cannot lie along them.
  llvm::DenseSet<unsigned> scanned;
  /// The number of simple operations that compute one element. A loop of
  /// unknown length counts as 64 steps.
  double cost = 0;

  /// Analyses the element of `tensor` at `exprs`.
  void visit(mlir::Value tensor, llvm::ArrayRef<mlir::AffineExpr> exprs);
  /// Analyses one step of a generic's body, with its loops at `loops`.
  void visitBody(mlir::linalg::GenericOp generic,
                 llvm::ArrayRef<mlir::AffineExpr> loops);

  /// Whether two neighbouring dims may become one loop.
  bool canMerge(unsigned outer, unsigned inner) const;

private:
  void visitValue(mlir::Value value, mlir::linalg::GenericOp generic,
                  llvm::ArrayRef<mlir::AffineExpr> loops,
                  llvm::DenseSet<mlir::Value> &seen);
  void observe(mlir::AffineExpr expr);

  DimTable &dims;
  double weight = 1;
  bool inReduction = false;
  llvm::DenseSet<std::pair<mlir::Value, mlir::AffineMap>> visited;
};

/// The cost of a scalar operation as a number of simple operations, such as
/// additions.
double getCost(mlir::Operation *op);

/// The number of vector lanes for a loop of `steps` steps (not set: their
/// number is known only when the kernel is called). It is a power of two from 1
/// to `most`, which must be a power of two; 1 for a loop without steps.
int64_t chooseLanes(std::optional<int64_t> steps, int64_t most);

} // namespace aitune

#endif // AITUNE_COMPILER_CODEGEN_LOOPS_LOOPANALYSIS_H
