// argmax and argmin as two reductions of numbers, which the threads of a GPU
// share; of one with two results they share none.
#include "compiler/transforms/Passes.h"

#include "compiler/dialect/Ait.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

#include <limits>

namespace aitune {
#define GEN_PASS_DEF_ARGEXTREMATOREDUCTIONS
#include "compiler/transforms/Passes.h.inc"
} // namespace aitune

using namespace mlir;
using namespace mlir::ait;

namespace {
/// Shorter axes are left to one thread each.
constexpr int64_t kLeastElements = 64;

/// The least position of an element that is the extremum, or NaN: a NaN makes
/// the extremum NaN, which equals nothing, and is never equal to itself.
template <typename ArgOp, typename ExtremumOp>
struct ArgToReductions : OpRewritePattern<ArgOp> {
  using OpRewritePattern<ArgOp>::OpRewritePattern;

  LogicalResult matchAndRewrite(ArgOp op,
                                PatternRewriter &rewriter) const override {
    auto type = cast<RankedTensorType>(op.getInput().getType());
    if (op.getDims().size() != 1 || type.getElementType().isInteger(1))
      return failure();
    const int64_t axis = op.getDims().front();
    const int64_t size = type.getDimSize(axis);
    if (ShapedType::isDynamic(size) || size < kLeastElements ||
        size > std::numeric_limits<int32_t>::max())
      return failure();
    Location location = op.getLoc();
    SmallVector<AffineExpr> all = getSymbolicSizes(type),
                            reduced = getSymbolicSizes(op.getType());
    Type position = rewriter.getIntegerType(32);
    RankedTensorType flags = getTensorType(all, rewriter.getI1Type()),
                     positions = getTensorType(all, position);
    Value extremum = ExtremumOp::create(
        rewriter, location, getTensorType(reduced, type.getElementType()),
        op.getInput(), op.getDims());
    extremum = ExpandOp::create(rewriter, location, type, extremum);
    Value found =
        EqOp::create(rewriter, location, flags, op.getInput(), extremum);
    if (isa<FloatType>(type.getElementType())) {
      Value nan =
          NeOp::create(rewriter, location, flags, op.getInput(), op.getInput());
      found = BitwiseOrOp::create(rewriter, location, flags, found, nan);
    }
    Value index = IotaOp::create(rewriter, location, positions, axis,
                                 llvm::APFloat(0.0), llvm::APFloat(1.0));
    Value none = FullOp::create(rewriter, location, positions,
                                rewriter.getIntegerAttr(position, size));
    index = WhereOp::create(rewriter, location, positions, found, index, none);
    Value first =
        AminOp::create(rewriter, location, getTensorType(reduced, position),
                       index, op.getDims());
    rewriter.replaceOpWithNewOp<ConvertOp>(op, op.getType(), first);
    return success();
  }
};

struct ArgExtremaToReductions
    : aitune::impl::ArgExtremaToReductionsBase<ArgExtremaToReductions> {
  void runOnOperation() override {
    RewritePatternSet patterns(&getContext());
    patterns.add<ArgToReductions<ArgmaxOp, AmaxOp>,
                 ArgToReductions<ArgminOp, AminOp>>(&getContext());
    if (failed(applyPatternsGreedily(getOperation(), std::move(patterns))))
      signalPassFailure();
  }
};
} // namespace
