// Pools of large windows that do not overlap as reductions, of which the
// threads of a GPU share each; a window of a pool is one thread's.
#include "compiler/transforms/Passes.h"

#include "compiler/dialect/Ait.h"
#include "compiler/transforms/PrimitiveBuilder.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"
#include "llvm/ADT/STLExtras.h"

namespace aitune {
#define GEN_PASS_DEF_POOLSTOREDUCTIONS
#include "compiler/transforms/Passes.h.inc"
} // namespace aitune

using namespace mlir;
using namespace mlir::ait;
using aitune::PrimitiveBuilder;

namespace {
/// Elements of a window; smaller ones are left to one thread each.
constexpr int64_t kLeastElements = 64;

/// Whether each window is the whole of its result: nothing else is divided by,
/// and no element is left out.
bool isPlain(MaxPool2dOp op) { return aitune::isAll(op.getDilation(), 1); }
bool isPlain(AvgPool2dOp op) { return !op.getDivisorOverride(); }

template <typename PoolOp, typename ReductionOp>
struct PoolToReduction : OpRewritePattern<PoolOp> {
  using OpRewritePattern<PoolOp>::OpRewritePattern;

  LogicalResult matchAndRewrite(PoolOp op,
                                PatternRewriter &rewriter) const override {
    ArrayRef<int64_t> window = op.getKernelSize();
    if (op.getChannelsLast() || !isPlain(op) || op.getStride() != window ||
        !aitune::isAll(op.getPadding(), 0) ||
        llvm::product_of(window) < kLeastElements)
      return failure();
    auto type = cast<RankedTensorType>(op.getInput().getType());
    SmallVector<AffineExpr> sizes = getSymbolicSizes(type);
    const SmallVector<AffineExpr> result =
        getSymbolicSizes(cast<RankedTensorType>(op.getType()));
    SmallVector<AffineExpr> split = {sizes[0], sizes[1]}, whole = split;
    for (unsigned axis : {0, 1}) {
      const AffineExpr size = sizes[2 + axis], count = result[2 + axis];
      // Windows beyond the end, with ceil_mode, have fewer elements.
      if (canonicalizeSize(size.floorDiv(window[axis])) != count)
        return failure();
      split.append({count, rewriter.getAffineConstantExpr(window[axis])});
      whole.push_back(canonicalizeSize(count * window[axis]));
    }
    PrimitiveBuilder build(rewriter, op.getLoc());
    Value value = build.slice(op.getInput(), {0, 0, 0, 0}, whole);
    value = build.convert(build.reshape(value, split),
                          PrimitiveBuilder::getArithmeticType(value));
    value = build.reduce<ReductionOp>(value, {3, 5});
    rewriter.replaceOp(
        op, build.reshape(build.convert(value, type.getElementType()), result));
    return success();
  }
};

struct PoolsToReductions
    : aitune::impl::PoolsToReductionsBase<PoolsToReductions> {
  void runOnOperation() override {
    RewritePatternSet patterns(&getContext());
    patterns.add<PoolToReduction<MaxPool2dOp, AmaxOp>,
                 PoolToReduction<AvgPool2dOp, MeanOp>>(&getContext());
    if (failed(applyPatternsGreedily(getOperation(), std::move(patterns))))
      signalPassFailure();
  }
};
} // namespace
