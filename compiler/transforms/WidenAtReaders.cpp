// Conversions to wider types beside what reads them.
#include "compiler/transforms/Passes.h"

#include "compiler/dialect/Ait.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

namespace aitune {
#define GEN_PASS_DEF_WIDENATREADERS
#include "compiler/transforms/Passes.h.inc"
} // namespace aitune

using namespace mlir;
using namespace mlir::ait;

namespace {
/// reshape(convert(x)) -> convert(reshape(x)).
struct SinkWideningBelowReshape : OpRewritePattern<ReshapeOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(ReshapeOp op,
                                PatternRewriter &rewriter) const override {
    auto convert = op.getInput().getDefiningOp<ConvertOp>();
    if (!convert)
      return failure();
    Type narrow = convert.getInput().getType().getElementType(),
         wide = op.getType().getElementType();
    if (narrow.getIntOrFloatBitWidth() >= wide.getIntOrFloatBitWidth())
      return failure();
    Value reshaped = ReshapeOp::create(rewriter, op.getLoc(),
                                       withElementType(op.getType(), narrow),
                                       convert.getInput());
    OperationState state(convert.getLoc(), convert->getName(), reshaped,
                         op.getType(), convert->getAttrs());
    rewriter.replaceOp(op, rewriter.create(state)->getResult(0));
    return success();
  }
};

struct WidenAtReaders : aitune::impl::WidenAtReadersBase<WidenAtReaders> {
  void runOnOperation() override {
    RewritePatternSet patterns(&getContext());
    patterns.add<SinkWideningBelowReshape>(&getContext());
    if (failed(applyPatternsGreedily(getOperation(), std::move(patterns))))
      signalPassFailure();
  }
};
} // namespace
