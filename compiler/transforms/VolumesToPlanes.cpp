// Convolutions of volumes as convolutions of images, for devices whose kernels
// are for these.
#include "compiler/transforms/Passes.h"

#include "compiler/dialect/Ait.h"
#include "compiler/transforms/PrimitiveBuilder.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"
#include "llvm/ADT/STLExtras.h"

namespace aitune {
#define GEN_PASS_DEF_VOLUMESTOPLANES
#include "compiler/transforms/Passes.h.inc"
} // namespace aitune

using namespace mlir;
using namespace mlir::ait;
using aitune::PrimitiveBuilder;

namespace {

/// Makes operations at one place, with the types that follow from their
/// operands.
class PlaneBuilder : public PrimitiveBuilder {
public:
  using PrimitiveBuilder::PrimitiveBuilder;

  /// Axes `first` and `first` + 1 as one.
  Value join(Value value, unsigned first) {
    SmallVector<AffineExpr> sizes = sizesOf(value);
    sizes[first] = canonicalizeSize(sizes[first] * sizes[first + 1]);
    sizes.erase(sizes.begin() + first + 1);
    return reshape(value, sizes);
  }
  /// With axes 1 and 2 exchanged.
  Value exchange(Value value) {
    SmallVector<int64_t> permutation =
        llvm::to_vector(llvm::seq<int64_t>(0, sizesOf(value).size()));
    std::swap(permutation[1], permutation[2]);
    return permute(value, permutation);
  }
  Value padDepth(Value value, int64_t padding) {
    SmallVector<int64_t> numbers(sizesOf(value).size(), 0);
    numbers[2] = padding;
    return pad(value, numbers, numbers);
  }
  /// `size` elements along axis 2 from `start` on, `step` apart.
  Value sliceDepth(Value value, int64_t start, AffineExpr size, int64_t step) {
    SmallVector<AffineExpr> sizes = sizesOf(value);
    SmallVector<int64_t> starts(sizes.size(), 0), steps(sizes.size(), 1);
    starts[2] = start;
    steps[2] = step;
    sizes[2] = size;
    return create<SliceOp>(typeLike(value, sizes), value, starts, steps);
  }
  Value concatChannels(ArrayRef<Value> values) {
    if (values.size() == 1)
      return values[0];
    SmallVector<AffineExpr> sizes = sizesOf(values[0]);
    sizes[1] = canonicalizeSize(sizes[1] * static_cast<int64_t>(values.size()));
    return create<ConcatOp>(typeLike(values[0], sizes), values, /*dim=*/1);
  }
  /// The convolution of images with the attributes of `op`, of which those with
  /// a number for each spatial axis are `numbersOf`, with a result of `type`.
  Value convolve(ConvolutionOp op, Value input, Value filter,
                 RankedTensorType type,
                 llvm::function_ref<SmallVector<int64_t>(ArrayRef<int64_t>,
                                                         int64_t neutral)>
                     numbersOf) {
    return create<ConvolutionOp>(
        type, input, filter, numbersOf(op.getStride(), 1),
        numbersOf(op.getPadding(), 0), numbersOf(op.getDilation(), 1),
        op.getGroups());
  }
};

/// Whether positions are combined along depth alone: height and width are read
/// where they are written.
bool isAlongDepth(ConvolutionOp op) {
  ArrayRef<int64_t> filter = op.getFilter().getType().getShape();
  for (int axis : {1, 2})
    if (filter[2 + axis] != 1 || op.getStride()[axis] != 1 ||
        op.getPadding()[axis] != 0)
      return false;
  return true;
}

/// One convolution whose rows are positions along depth and whose columns are
/// the pixels of a plane.
Value convolveAlongDepth(PlaneBuilder &build, ConvolutionOp op) {
  SmallVector<AffineExpr> result = PlaneBuilder::sizesOf(op.getResult());
  SmallVector<AffineExpr> rows = result;
  rows[3] = canonicalizeSize(rows[3] * rows[4]);
  rows.pop_back();
  Value value = build.convolve(
      op, build.join(op.getInput(), 3), build.join(op.getFilter(), 3),
      PrimitiveBuilder::typeLike(op.getResult(), rows),
      [](ArrayRef<int64_t> numbers, int64_t neutral) {
        return SmallVector<int64_t>{numbers[0], neutral};
      });
  return build.reshape(value, result);
}

/// Positions along depth become a part of the batch, and the channels under all
/// taps along depth become the channels of one pixel. With groups, whose
/// channels must stay together, there is one convolution for each tap along
/// depth, and their results are added, of half precision in f32.
Value convolvePlanes(PlaneBuilder &build, ConvolutionOp op) {
  const SmallVector<AffineExpr> result = PlaneBuilder::sizesOf(op.getResult());
  const int64_t taps = op.getFilter().getType().getDimSize(2);
  Value input = build.padDepth(op.getInput(), op.getPadding()[0]);
  SmallVector<Value> planes;
  for (int64_t tap = 0; tap < taps; ++tap) {
    Value taken = build.sliceDepth(input, tap * op.getDilation()[0], result[2],
                                   op.getStride()[0]);
    planes.push_back(build.join(build.exchange(taken), 0));
  }
  const SmallVector<AffineExpr> sizes = {
      canonicalizeSize(result[0] * result[2]), result[1], result[3], result[4]};
  auto convolve = [&](Value of, Value filter, Type elementType) {
    return build.convolve(op, of, filter, getTensorType(sizes, elementType),
                          [](ArrayRef<int64_t> numbers, int64_t) {
                            return llvm::to_vector(numbers.drop_front());
                          });
  };
  const Type elementType = op.getType().getElementType();
  Value sum;
  if (op.getGroups() == 1) {
    sum = convolve(build.concatChannels(planes),
                   build.join(build.exchange(op.getFilter()), 1), elementType);
  } else {
    for (int64_t tap = 0; tap < taps; ++tap) {
      Value filter = build.sliceDepth(
          op.getFilter(), tap, getAffineConstantExpr(1, op.getContext()), 1);
      Value part = convolve(planes[tap], build.join(filter, 2),
                            PlaneBuilder::getArithmeticType(op.getResult()));
      sum = sum ? build.binary<AddOp>(sum, part) : part;
    }
    sum = build.convert(sum, elementType);
  }
  return build.exchange(build.reshape(
      sum, {result[0], result[2], result[1], result[3], result[4]}));
}

struct VolumesToPlanesPattern : OpRewritePattern<ConvolutionOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(ConvolutionOp op,
                                PatternRewriter &rewriter) const override {
    if (op.getType().getRank() != 5 || op.getChannelsLast())
      return failure();
    PlaneBuilder build(rewriter, op.getLoc());
    rewriter.replaceOp(op, isAlongDepth(op) ? convolveAlongDepth(build, op)
                                            : convolvePlanes(build, op));
    return success();
  }
};

struct VolumesToPlanes : aitune::impl::VolumesToPlanesBase<VolumesToPlanes> {
  void runOnOperation() override {
    RewritePatternSet patterns(&getContext());
    patterns.add<VolumesToPlanesPattern>(&getContext());
    if (failed(applyPatternsGreedily(getOperation(), std::move(patterns))))
      signalPassFailure();
  }
};
} // namespace
