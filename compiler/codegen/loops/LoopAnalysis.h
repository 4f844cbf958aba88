// What a linalg kernel function reads, and how: the questions that schedules
// ask before any code is emitted.
//
// A function's values are seen as pure functions of an index: the element of a
// tensor at an index is found by following linalg.generic bodies to the
// arguments. `LoopAnalysis` follows them without writing code; a PointWalker
// (PointWalker.h) follows the same paths and writes.
#ifndef AITUNE_COMPILER_CODEGEN_LOOPS_LOOPANALYSIS_H
#define AITUNE_COMPILER_CODEGEN_LOOPS_LOOPANALYSIS_H

#include "compiler/codegen/loops/IndexMath.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "llvm/ADT/DenseSet.h"

namespace aitune {

/// Dims made so far, with their sizes (expressions of symbols).
class DimTable {
public:
  mlir::AffineExpr make(mlir::AffineExpr size) {
    sizes.push_back(size);
    return mlir::getAffineDimExpr(sizes.size() - 1, size.getContext());
  }
  unsigned count() const { return sizes.size(); }
  mlir::AffineExpr size(unsigned dim) const { return sizes[dim]; }
  /// Null size: a value computed from data; no range.
  std::optional<DimRange> range(unsigned dim) const {
    if (!sizes[dim])
      return std::nullopt;
    return DimRange{mlir::getAffineConstantExpr(0, sizes[dim].getContext()),
                    sizes[dim]};
  }
  mlir::AffineExpr makeOpaque(mlir::MLIRContext *context) {
    sizes.push_back(nullptr);
    return mlir::getAffineDimExpr(sizes.size() - 1, context);
  }

private:
  llvm::SmallVector<mlir::AffineExpr> sizes;
};

/// An index as one value, to look things up by.
mlir::AffineMap toKey(llvm::ArrayRef<mlir::AffineExpr> exprs,
                      mlir::MLIRContext *context);

/// The tensor that has a value's memory: reshapes of a dense tensor leave its
/// elements in place.
mlir::Value stripReshapes(mlir::Value value);

/// The sizes of a tensor's axes, as expressions of symbols.
llvm::SmallVector<mlir::AffineExpr> sizesOf(mlir::Value tensor);

/// The sizes of a generic's loops, as expressions of symbols.
llvm::SmallVector<mlir::AffineExpr>
getLoopSizes(mlir::linalg::GenericOp generic);

/// A generic with reduction loops. A scan also has a result of full size.
bool hasReductionLoops(mlir::linalg::GenericOp generic);
bool isScan(mlir::linalg::GenericOp generic);

/// The expressions of a generic's parallel loops when result `number` is read
/// at `exprs`; loops that this does not determine (reductions) stay null.
llvm::SmallVector<mlir::AffineExpr>
bindLoops(mlir::linalg::GenericOp generic, unsigned number,
          llvm::ArrayRef<mlir::AffineExpr> exprs);

/// Gives each reduction loop of a generic a dim of its own in `loops`,
/// outermost first, or 0 where its size is 1. Returns the dims.
llvm::SmallVector<unsigned>
openReducedLoops(mlir::linalg::GenericOp generic,
                 llvm::MutableArrayRef<mlir::AffineExpr> loops, DimTable &dims);

/// The constant that a result of a reduction starts from; null if it is none.
mlir::TypedAttr getNeutral(mlir::linalg::GenericOp generic, unsigned result);

/// The index of the source of a tensor.collapse_shape or expand_shape.
llvm::SmallVector<mlir::AffineExpr>
reshapeIndex(mlir::Operation *reshape, llvm::ArrayRef<mlir::AffineExpr> exprs,
             RangeLookup ranges);

/// An index-typed (or i64 cast of such) body value as expression, with the
/// generic's loops at `loops`; null if it depends on data.
mlir::AffineExpr trackIndex(mlir::Value value,
                            llvm::ArrayRef<mlir::AffineExpr> loops);

/// As trackIndex; what depends on data is what `ofData` gives for it.
mlir::AffineExpr
trackIndex(mlir::Value value, llvm::ArrayRef<mlir::AffineExpr> loops,
           llvm::function_ref<mlir::AffineExpr(mlir::Value)> ofData);

/// Whether a body's comparison of indices (slt or sge), or a conjunction of
/// them, is the same for all values that the dims take; nothing if it is not,
/// or depends on data.
std::optional<bool> decideCondition(mlir::Value condition,
                                    llvm::ArrayRef<mlir::AffineExpr> loops,
                                    RangeLookup ranges);

/// The address of an element, in elements, of a dense tensor type.
mlir::AffineExpr linearize(mlir::RankedTensorType type,
                           llvm::ArrayRef<mlir::AffineExpr> exprs);

class LoopAnalysis {
public:
  explicit LoopAnalysis(DimTable &dims) : dims(dims) {}

  struct Access {
    LinearForm address;
    bool inReduction;
    unsigned elementBits;
  };
  struct Reduction {
    mlir::linalg::GenericOp generic;
    unsigned result;
    llvm::SmallVector<mlir::AffineExpr> exprs;
    llvm::SmallVector<unsigned> reducedDims;
    double cost; ///< simple operations for one result
  };
  /// Where the body of an scf.if changes along a dim: expr compared with 0.
  llvm::SmallVector<mlir::AffineExpr> thresholds;
  llvm::SmallVector<Access> accesses;
  llvm::SmallVector<Reduction> reductions; ///< in the order of evaluation
  /// Dims used for more than addresses; they keep their own loop.
  llvm::DenseSet<unsigned> observed;
  /// Dims that a scan runs along; lanes cannot lie along them.
  llvm::DenseSet<unsigned> scanned;
  /// Simple operations to compute one element, with static trip counts
  /// (unknown ones count as 64).
  double cost = 0;

  /// Follows the element of `tensor` at `exprs`.
  void visit(mlir::Value tensor, llvm::ArrayRef<mlir::AffineExpr> exprs);
  /// Follows one step of a generic's body, with all its loops at `loops`.
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

/// Simple operations that one scalar operation costs.
double getCost(mlir::Operation *op);

/// Vector lanes for a loop of `steps` steps (nothing: known at a call only): a
/// power of two from 1, for a loop without steps too, to `most`, itself one.
int64_t chooseLanes(std::optional<int64_t> steps, int64_t most);

} // namespace aitune

#endif // AITUNE_COMPILER_CODEGEN_LOOPS_LOOPANALYSIS_H
