// Convolutions of patches that do not overlap as matmuls: the first layer of a
// vision transformer.
#include "compiler/transforms/Passes.h"

#include "compiler/dialect/Ait.h"
#include "compiler/transforms/PrimitiveBuilder.h"
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
    if (op.getChannelsLast() || op.getGroups() != 1 ||
        !filterType.hasStaticShape())
      return failure();
    ArrayRef<int64_t> filter = filterType.getShape(),
                      input = inputType.getShape();
    if (!aitune::isAll(op.getPadding(), 0) ||
        !aitune::isAll(op.getDilation(), 1) ||
        ArrayRef<int64_t>(op.getStride()) != filter.drop_front(2))
      return failure();
    const int64_t reduced = llvm::product_of(filter.drop_front());
    if (filter[1] % kChunk == 0 || reduced % kChunk != 0)
      return failure();
    const int64_t rank = inputType.getRank();
    // Of the input with each spatial axis as patches and taps, and the order in
    // which the taps are together behind the channels.
    SmallVector<int64_t> split{filter[1]}, patches, joined{0};
    for (int64_t axis = 2; axis < rank; ++axis) {
      if (inputType.isDynamicDim(axis) || input[axis] % filter[axis] != 0)
        return failure();
      patches.push_back(input[axis] / filter[axis]);
      split.append({patches.back(), filter[axis]});
      joined.push_back(2 * axis - 2);
    }
    joined.push_back(1);
    for (int64_t axis = 2; axis < rank; ++axis)
      joined.push_back(2 * axis - 1);
    const int64_t rows = llvm::product_of(patches);
    SmallVector<AffineExpr> sizes = getSymbolicSizes(inputType);
    auto sizesOf = [&](ArrayRef<int64_t> after) {
      SmallVector<AffineExpr> all = {sizes[0]};
      for (int64_t size : after)
        all.push_back(rewriter.getAffineConstantExpr(size));
      return all;
    };
    aitune::PrimitiveBuilder build(rewriter, op.getLoc());
    Value left = build.reshape(op.getInput(), sizesOf(split));
    left = build.reshape(build.permute(left, joined), sizesOf({rows, reduced}));
    Value weight = build.reshape(op.getFilter(),
                                 {rewriter.getAffineConstantExpr(filter[0]),
                                  rewriter.getAffineConstantExpr(reduced)});
    Value result = build.matmul(left, weight, aitune::Transposed::Yes);
    SmallVector<int64_t> last = patches, channelsFirst{0, rank - 1};
    last.push_back(filter[0]);
    for (int64_t axis = 1; axis < rank - 1; ++axis)
      channelsFirst.push_back(axis);
    result = build.reshape(result, sizesOf(last));
    rewriter.replaceOp(op, build.permute(result, channelsFirst));
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
