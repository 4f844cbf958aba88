// Convolutions of patches that do not overlap as matmuls: the first layer of a
// vision transformer.
#include "compiler/transforms/Passes.h"

#include "compiler/dialect/Ait.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"
#include "llvm/ADT/STLExtras.h"

namespace aitune {
#define GEN_PASS_DEF_PATCHESTOMATMUL
#include "compiler/transforms/Passes.h.inc"
} // namespace aitune

using namespace mlir;
using namespace mlir::ait;

namespace {
/// Elements of the 16 bytes that kernels copy at once, in halves.
constexpr int64_t kChunk = 8;

/// One patch is one row of the matmul's left side, in the filter's own order,
/// so that the filter stays where it is. Channels that fill whole chunks are
/// left to convolutions, which read the image in place.
struct PatchesToMatmulPattern : OpRewritePattern<ConvolutionOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(ConvolutionOp op,
                                PatternRewriter &rewriter) const override {
    RankedTensorType inputType = op.getInput().getType(),
                     filterType = op.getFilter().getType();
    if (inputType.getRank() != 4 || op.getTransposed() ||
        op.getChannelsLast() || op.getGroups() != 1 ||
        !filterType.hasStaticShape())
      return failure();
    auto isAll = [](ArrayRef<int64_t> values, int64_t wanted) {
      return llvm::all_of(values, [&](int64_t v) { return v == wanted; });
    };
    ArrayRef<int64_t> filter = filterType.getShape(),
                      input = inputType.getShape();
    if (!isAll(op.getPadding(), 0) || !isAll(op.getDilation(), 1) ||
        ArrayRef<int64_t>(op.getStride()) != filter.drop_front(2))
      return failure();
    const int64_t reduced = filter[1] * filter[2] * filter[3];
    if (filter[1] % kChunk == 0 || reduced % kChunk != 0)
      return failure();
    for (int axis : {2, 3})
      if (inputType.isDynamicDim(axis) || input[axis] % filter[axis] != 0)
        return failure();
    const int64_t rows = input[2] / filter[2], columns = input[3] / filter[3];
    SmallVector<AffineExpr> sizes = getSymbolicSizes(inputType);
    auto typeOf = [&](ArrayRef<int64_t> after) {
      SmallVector<AffineExpr> all = {sizes[0]};
      for (int64_t size : after)
        all.push_back(rewriter.getAffineConstantExpr(size));
      return getTensorType(all, inputType.getElementType());
    };
    Location location = op.getLoc();
    Value patches = ReshapeOp::create(
        rewriter, location,
        typeOf({filter[1], rows, filter[2], columns, filter[3]}),
        op.getInput());
    patches = PermuteOp::create(
        rewriter, location,
        typeOf({rows, columns, filter[1], filter[2], filter[3]}), patches,
        ArrayRef<int64_t>{0, 2, 4, 1, 3, 5});
    patches = ReshapeOp::create(rewriter, location,
                                typeOf({rows * columns, reduced}), patches);
    Value weight =
        ReshapeOp::create(rewriter, location,
                          RankedTensorType::get({filter[0], reduced},
                                                filterType.getElementType()),
                          op.getFilter());
    Value result = MatmulOp::create(rewriter, location,
                                    typeOf({rows * columns, filter[0]}),
                                    patches, weight, false, true);
    result = ReshapeOp::create(rewriter, location,
                               typeOf({rows, columns, filter[0]}), result);
    rewriter.replaceOpWithNewOp<PermuteOp>(op, op.getType(), result,
                                           ArrayRef<int64_t>{0, 3, 1, 2});
    return success();
  }
};

struct PatchesToMatmul : aitune::impl::PatchesToMatmulBase<PatchesToMatmul> {
  void runOnOperation() override {
    RewritePatternSet patterns(&getContext());
    patterns.add<PatchesToMatmulPattern>(&getContext());
    if (failed(applyPatternsGreedily(getOperation(), std::move(patterns))))
      signalPassFailure();
  }
};
} // namespace
