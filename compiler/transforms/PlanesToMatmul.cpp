// Convolutions of single pixels as matmuls of planes, where nothing else wants
// another layout.
#include "compiler/transforms/Passes.h"

#include "compiler/dialect/Ait.h"
#include "compiler/transforms/LayoutNeighbours.h"
#include "compiler/transforms/PrimitiveBuilder.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/PatternMatch.h"
#include "llvm/ADT/STLExtras.h"

namespace aitune {
#define GEN_PASS_DEF_PLANESTOMATMUL
#include "compiler/transforms/Passes.h.inc"
} // namespace aitune

using namespace mlir;
using namespace mlir::ait;

namespace {
/// Multiplications and additions for each element that is read or written, up
/// to which a matmul of planes is faster. More of them take a fifth longer than
/// in channels-last order, which is as much as the two permutes of about 300
/// (an AMD EPYC with AVX2: 240 to 240 channels in 4 groups, 60, take 1.2 ms
/// and 2.1 with permutes; 256 to 512, 341, take 30 ms and 25).
constexpr double kMostWork = 128;

/// Whether the convolution's result is the product of its filter and of planes
/// as they lie in memory.
bool isProductOfPlanes(Operation *op) {
  auto convolution = dyn_cast<ConvolutionOp>(op);
  if (!convolution || convolution.getChannelsLast())
    return false;
  RankedTensorType input = convolution.getInput().getType(),
                   filter = convolution.getFilter().getType();
  // 16-bit planes would have to be packed in pairs of channels.
  if (!input.getElementType().isF32() || !filter.hasStaticShape() ||
      !aitune::isAll(filter.getShape().drop_front(2), 1) ||
      !aitune::isAll(convolution.getStride(), 1) ||
      !aitune::isAll(convolution.getPadding(), 0) ||
      llvm::any_of(input.getShape().drop_front(1), ShapedType::isDynamic))
    return false;
  const double results = double(filter.getDimSize(0)),
               channels = double(input.getDimSize(1));
  const double groups = double(convolution.getGroups());
  // One channel a group is a depthwise convolution, which is no product.
  return filter.getDimSize(1) > 1 &&
         2 * results * channels / groups <= kMostWork * (results + channels);
}

void replace(ConvolutionOp op, PatternRewriter &rewriter) {
  rewriter.setInsertionPoint(op);
  aitune::PrimitiveBuilder builder(rewriter, op.getLoc());
  RankedTensorType input = op.getInput().getType(),
                   filter = op.getFilter().getType();
  const AffineExpr images = builder.sizesOf(op.getInput())[0];
  auto sizes = [&](ArrayRef<int64_t> after) {
    SmallVector<AffineExpr> all{images};
    for (int64_t size : after)
      all.push_back(rewriter.getAffineConstantExpr(size));
    return all;
  };
  const int64_t groups = op.getGroups(), rows = filter.getDimSize(0) / groups,
                steps = filter.getDimSize(1),
                pixels = llvm::product_of(input.getShape().drop_front(2));
  SmallVector<AffineExpr> matrices = sizes({groups, rows, steps});
  Value left = builder.reshape(op.getFilter(),
                               ArrayRef<AffineExpr>(matrices).drop_front());
  left = builder.expand(left, matrices);
  Value right = builder.reshape(op.getInput(), sizes({groups, steps, pixels}));
  Value product = builder.matmul(left, right, aitune::Transposed::No);
  rewriter.replaceOp(op,
                     builder.reshape(product, builder.sizesOf(op.getResult())));
}

struct PlanesToMatmul : aitune::impl::PlanesToMatmulBase<PlanesToMatmul> {
  void runOnOperation() override {
    SmallVector<ConvolutionOp> found;
    getOperation().walk([&](ConvolutionOp op) {
      if (isProductOfPlanes(op) && aitune::standsAlone(op, isProductOfPlanes))
        found.push_back(op);
    });
    PatternRewriter rewriter(&getContext());
    for (ConvolutionOp op : found)
      replace(op, rewriter);
  }
};
} // namespace
