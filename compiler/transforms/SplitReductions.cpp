// Reductions that would keep few multiprocessors of a GPU busy, in two steps.
#include "compiler/transforms/Passes.h"

#include "compiler/dialect/Ait.h"
#include "compiler/transforms/PrimitiveBuilder.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"
#include "llvm/ADT/SmallPtrSet.h"
#include "llvm/Support/MathExtras.h"

namespace aitune {
#define GEN_PASS_DEF_SPLITREDUCTIONS
#include "compiler/transforms/Passes.h.inc"
} // namespace aitune

using namespace mlir;
using namespace mlir::ait;
using aitune::PrimitiveBuilder;

namespace {
/// What one block of threads of a loop kernel reduces side by side: this many
/// elements of one result, where these lie next to each other in memory ...
constexpr int64_t kElementsOfRow = 4096;
/// ... and where those of several results do, of this many results.
constexpr int64_t kElementsOfColumn = 128, kResultsOfColumn = 16;
/// Fewer steps of such a block take less time than a second kernel: on an H200
/// 24 took 1 us more than one, 98 took 3.5, and the second kernel takes 1.5 ...
constexpr int64_t kLeastSteps = 48;
/// ... and where the block goes on with each element of what it reduced, 24
/// took 8 us more than three kernels.
constexpr int64_t kLeastStepsOfMany = 16;
/// The first step reduces at least this many elements, so that a warp's threads
/// have one each.
constexpr int64_t kLeastElements = 32;

/// An unknown size counts as 1.
int64_t getSize(RankedTensorType type, int64_t axis) {
  return type.isDynamicDim(axis) ? 1 : type.getDimSize(axis);
}

struct SplitReduction : RewritePattern {
  SplitReduction(MLIRContext *context, int64_t enoughGroups)
      : RewritePattern(MatchAnyOpTypeTag(), /*benefit=*/1, context),
        enoughGroups(enoughGroups) {}

  LogicalResult matchAndRewrite(Operation *op,
                                PatternRewriter &rewriter) const override {
    if (!isa<SumOp, MeanOp, AmaxOp, AminOp, AnyOp, AllOp>(op))
      return failure();
    auto type = cast<RankedTensorType>(op->getOperand(0).getType());
    ArrayRef<int64_t> dims =
        op->getAttrOfType<DenseI64ArrayAttr>("dims").asArrayRef();
    const int64_t steps = isSpreadAgain(op) ? kLeastStepsOfMany : kLeastSteps;
    if (!keepsFewBusy(type, dims, steps))
      return failure();
    // The last axes first, whose elements lie next to each other.
    size_t first = dims.size();
    int64_t elements = 1;
    while (first > 0 && elements < kLeastElements)
      elements *= getSize(type, dims[--first]);
    if (llvm::all_of(dims.take_front(first),
                     [&](int64_t axis) { return getSize(type, axis) == 1; }))
      return failure();
    PrimitiveBuilder b(rewriter, op->getLoc());
    Value input = op->getOperand(0);
    // Those of any and all are other than what they reduce.
    const Type element = getElementTypeOrSelf(op->getResult(0));
    const bool isSum = isa<SumOp, MeanOp>(op);
    const Type between = isSum ? b.getArithmeticType(input) : element;
    if (isSum)
      input = b.convert(input, between);
    Value result = b.reduceLike(op, input, dims.drop_front(first), between);
    result = b.reduceLike(op, result, dims.take_front(first), between);
    rewriter.replaceOp(op, b.convert(result, element));
    return success();
  }

private:
  /// Whether the result, or what is computed of it alone, is broadcast to the
  /// sizes of what was reduced: both loops would be one kernel.
  static bool isSpreadAgain(Operation *op) {
    auto reduced = cast<RankedTensorType>(op->getOperand(0).getType());
    SmallVector<Operation *> open(op->getUsers());
    llvm::SmallPtrSet<Operation *, 8> seen;
    while (!open.empty()) {
      Operation *user = open.pop_back_val();
      if (!seen.insert(user).second)
        continue;
      if (auto expand = dyn_cast<ExpandOp>(user);
          expand && haveSameSizes(expand.getType(), reduced))
        return true;
      if (isPointwise(user))
        llvm::append_range(open, user->getUsers());
    }
    return false;
  }

  /// Whether there are so few results that most multiprocessors would have no
  /// block, while each block has at least `steps` to do.
  bool keepsFewBusy(RankedTensorType type, ArrayRef<int64_t> dims,
                    int64_t steps) const {
    int64_t elements = 1, rows = 1, columns = 1;
    bool isRow = false;
    for (int64_t axis = type.getRank() - 1; axis >= 0; --axis) {
      const int64_t size = getSize(type, axis);
      if (llvm::is_contained(dims, axis)) {
        isRow |= size > 1 && columns == 1;
        elements *= size;
      } else {
        (elements == 1 ? columns : rows) *= size;
      }
    }
    if (isRow)
      return rows * 2 <= enoughGroups && elements >= kElementsOfRow * steps;
    return rows * llvm::divideCeil(columns, kResultsOfColumn) * 2 <=
               uint64_t(enoughGroups) &&
           elements >= kElementsOfColumn * steps;
  }

  int64_t enoughGroups;
};

struct SplitReductions : aitune::impl::SplitReductionsBase<SplitReductions> {
  using SplitReductionsBase::SplitReductionsBase;

  void runOnOperation() override {
    RewritePatternSet patterns(&getContext());
    patterns.add<SplitReduction>(&getContext(), enoughGroups);
    if (failed(applyPatternsGreedily(getOperation(), std::move(patterns))))
      signalPassFailure();
  }
};
} // namespace
