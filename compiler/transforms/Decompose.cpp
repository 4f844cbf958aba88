// Normalisations and softmax in primitives.
#include "compiler/transforms/Passes.h"

#include "compiler/dialect/Ait.h"
#include "compiler/dialect/KernelAttributes.h"
#include "compiler/transforms/PrimitiveBuilder.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"
#include "llvm/ADT/STLExtras.h"

namespace aitune {
#define GEN_PASS_DEF_DECOMPOSE
#include "compiler/transforms/Passes.h.inc"
} // namespace aitune

using namespace mlir;
using namespace mlir::ait;
using aitune::PrimitiveBuilder;

namespace {
/// `input` in the type of the arithmetic. Of a kernel that computes it, it is
/// read as eager stores it: scores that a mask of the least number was added to
/// are all the same then, and the variance may be nothing but the rounding.
Value readInput(PrimitiveBuilder &b, Value input) {
  Value read = b.convert(input, b.getArithmeticType(input));
  if (read != input)
    setMustRound(read.getDefiningOp());
  return read;
}

struct DecomposeSoftmax : OpRewritePattern<SoftmaxOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(SoftmaxOp op,
                                PatternRewriter &rewriter) const override {
    PrimitiveBuilder b(rewriter, op.getLoc());
    Type elementType = op.getType().getElementType();
    if (!isa<FloatType>(elementType))
      return failure();
    Value x = readInput(b, op.getInput());
    int64_t dim = op.getDim();
    Value greatest = b.reduce<AmaxOp>(x, dim);
    Value shifted = b.binary<SubOp>(x, b.expand(greatest, x));
    Value exponential = b.unary<ExpOp>(shifted);
    Value sum = b.reduce<SumOp>(exponential, dim);
    Value result =
        op.getLog() ? b.binary<SubOp>(shifted, b.expand(b.unary<LogOp>(sum), x))
                    : b.binary<DivOp>(exponential, b.expand(sum, x));
    rewriter.replaceOp(op, b.convert(result, elementType));
    return success();
  }
};

Value subtractMean(PrimitiveBuilder &b, Value x, Value mean) {
  return b.binary<SubOp>(x, b.expand(mean, x));
}

Value meanOfSquares(PrimitiveBuilder &b, Value x, ArrayRef<int64_t> dims) {
  return b.reduce<MeanOp>(b.binary<MulOp>(x, x), dims);
}

/// 1 / sqrt(variance + eps).
Value getReciprocalDeviation(PrimitiveBuilder &b, Value variance, double eps) {
  return b.unary<RsqrtOp>(b.binary<AddOp>(variance, b.full(variance, eps)));
}

/// centered / sqrt(variance + eps).
Value divideByDeviation(PrimitiveBuilder &b, Value centered, Value variance,
                        double eps) {
  return b.binary<MulOp>(
      centered, b.expand(getReciprocalDeviation(b, variance, eps), centered));
}

/// (x - mean) / sqrt(variance + eps) over `dims`; without the mean for RMS
/// norms.
Value normalize(PrimitiveBuilder &b, Value x, ArrayRef<int64_t> dims,
                double eps, bool center) {
  Value centered = center ? subtractMean(b, x, b.reduce<MeanOp>(x, dims)) : x;
  return divideByDeviation(b, centered, meanOfSquares(b, centered, dims), eps);
}

/// As above, where a plain sum of so many elements in f32 rounds too much: of
/// nearly constant data nothing but the mean's error is left, which the
/// division makes greater. The centered elements are exact there, and their
/// mean is that error (Chan, Golub, LeVeque: Algorithms for Computing the
/// Sample Variance, 1983: the corrected two-pass algorithm).
Value normalizeManyElements(PrimitiveBuilder &b, Value x,
                            ArrayRef<int64_t> dims, double eps) {
  Value centered = subtractMean(b, x, b.reduce<MeanOp>(x, dims));
  Value corrected = subtractMean(b, centered, b.reduce<MeanOp>(centered, dims));
  return divideByDeviation(b, corrected, meanOfSquares(b, centered, dims), eps);
}

/// The mean over `dims` and the variance around it, each with these sizes 1.
struct Moments {
  Value mean, variance;
};

Moments getMoments(PrimitiveBuilder &b, Value x, ArrayRef<int64_t> dims) {
  Value mean = b.reduce<MeanOp>(x, dims);
  return {mean, meanOfSquares(b, subtractMean(b, x, mean), dims)};
}

/// The moments over `dims` of what `parts` are the moments of, which are of one
/// size: the variance of all is the mean of the parts' variances and the
/// variance of their means (Chan, Golub, LeVeque: Updating Formulae and a
/// Pairwise Algorithm for Computing Sample Variances, 1979).
Moments combine(PrimitiveBuilder &b, Moments parts, ArrayRef<int64_t> dims) {
  Value mean = b.reduce<MeanOp>(parts.mean, dims);
  Value between = subtractMean(b, parts.mean, mean);
  Value squares =
      b.binary<AddOp>(parts.variance, b.binary<MulOp>(between, between));
  return {mean, b.reduce<MeanOp>(squares, dims)};
}

/// `x * weight + bias`, each broadcast after `view` gave it its axes.
template <typename Op, typename View>
Value scaleAndShift(PrimitiveBuilder &b, Op op, Value x, View view) {
  Type arithmetic = cast<RankedTensorType>(x.getType()).getElementType();
  if (Value weight = op.getWeight())
    x = b.binary<MulOp>(x, b.expand(view(b.convert(weight, arithmetic)), x));
  if (Value bias = op.getBias())
    x = b.binary<AddOp>(x, b.expand(view(b.convert(bias, arithmetic)), x));
  return x;
}

template <typename NormOp>
struct DecomposeLastAxesNorm : OpRewritePattern<NormOp> {
  using OpRewritePattern<NormOp>::OpRewritePattern;
  LogicalResult matchAndRewrite(NormOp op,
                                PatternRewriter &rewriter) const override {
    PrimitiveBuilder b(rewriter, op.getLoc());
    Type elementType = op.getType().getElementType();
    if (!isa<FloatType>(elementType))
      return failure();
    int64_t rank = op.getType().getRank();
    auto dims = llvm::to_vector(
        llvm::seq<int64_t>(rank - op.getNormalizedRank(), rank));
    Value x = readInput(b, op.getInput());
    Value normal = normalize(b, x, dims, op.getEps().convertToDouble(),
                             std::is_same_v<NormOp, LayerNormOp>);
    Value result =
        scaleAndShift(b, op, normal, [](Value value) { return value; });
    rewriter.replaceOp(op, b.convert(result, elementType));
    return success();
  }
};

/// The product of the sizes of `dims`; dynamic sizes count as 1.
int64_t countStatic(RankedTensorType type, ArrayRef<int64_t> dims) {
  int64_t count = 1;
  for (int64_t dim : dims)
    count *= type.isDynamicDim(dim) ? 1 : type.getDimSize(dim);
  return count;
}

/// Whether `value` is computed element by element from what a convolution or a
/// pool gives, which will have its channels last. `reshapes` may stand between,
/// as behind a convolution of one dimension.
bool comesFromWindow(Value value, bool reshapes = false) {
  // Steps upwards; a residual network's sums are much longer.
  for (int step = 0; step < 8; ++step) {
    Operation *op = value.getDefiningOp();
    if (!op)
      return false;
    if (isa<ConvolutionOp, MaxPool2dOp, AvgPool2dOp>(op))
      return true;
    if (!isPointwise(op) && !(reshapes && isa<ReshapeOp>(op)))
      return false;
    value = op->getOperand(0);
  }
  return false;
}

struct DecomposeGroupNorm : OpRewritePattern<GroupNormOp> {
  DecomposeGroupNorm(MLIRContext *context, int64_t enoughGroups)
      : OpRewritePattern(context), enoughGroups(enoughGroups) {}

  LogicalResult matchAndRewrite(GroupNormOp op,
                                PatternRewriter &rewriter) const override {
    RankedTensorType type = op.getType();
    if (!isa<FloatType>(type.getElementType()))
      return failure();
    PrimitiveBuilder b(rewriter, op.getLoc());
    Value result =
        isTakenApart(op) ? normalizeImage(b, op) : normalizeGroups(b, op);
    rewriter.replaceOp(op, b.convert(result, type.getElementType()));
    return success();
  }

private:
  /// Elements of a group that one group of threads can't keep in registers.
  static constexpr int64_t kLargeGroup = 16384;
  /// Elements of a group of which the plain sum of a constant was seen 5 times
  /// as far from float64 as eager's mean (799 and more; 256 was not).
  static constexpr int64_t kManyElements = 512;
  /// The same where one vector lane adds up a channel's elements one by one:
  /// 128 were 9 times, 320 20 times as far.
  static constexpr int64_t kManyElementsOfLane = 64;

  /// Images of which the groups are too few for the device, and those with
  /// channels last, of which a group of channels is scattered in memory.
  bool isTakenApart(GroupNormOp op) const {
    RankedTensorType type = op.getType();
    if (enoughGroups == 0 || type.getRank() != 4)
      return false;
    const int64_t groups = op.getGroups();
    return (countStatic(type, {1, 2, 3}) / groups >= kLargeGroup &&
            countStatic(type, 0) * groups < enoughGroups) ||
           comesFromWindow(op.getInput());
  }

  /// Whether a group may have more elements than a plain sum in f32 keeps as
  /// exact as eager's running means do.
  bool isMany(GroupNormOp op, RankedTensorType type,
              ArrayRef<int64_t> dims) const {
    const bool isOfLane =
        enoughGroups == 0 && comesFromWindow(op.getInput(), /*reshapes=*/true);
    return countStatic(type, dims) >=
               (isOfLane ? kManyElementsOfLane : kManyElements) ||
           llvm::any_of(dims,
                        [&](int64_t dim) { return type.isDynamicDim(dim); });
  }

  static bool hasGroupPerChannel(GroupNormOp op) {
    return op.getType().getDimSize(1) == static_cast<int64_t>(op.getGroups());
  }

  /// In one loop over the groups: [N, groups, channels of a group, ...].
  Value normalizeGroups(PrimitiveBuilder &b, GroupNormOp op) const {
    SmallVector<AffineExpr> sizes = getSymbolicSizes(op.getType());
    // Without an axis for them where each is all channels, or one.
    const bool isOneGroup = op.getGroups() == 1;
    const bool isSplit = !isOneGroup && !hasGroupPerChannel(op);
    SmallVector<AffineExpr> grouped =
        isSplit ? splitChannels(op, sizes) : sizes;
    auto dims = llvm::to_vector(llvm::seq<int64_t>(
        isOneGroup ? 1 : 2, static_cast<int64_t>(grouped.size())));
    Value x = readInput(b, b.reshape(op.getInput(), grouped));
    const double eps = op.getEps().convertToDouble();
    Value normal = isMany(op, cast<RankedTensorType>(x.getType()), dims)
                       ? normalizeManyElements(b, x, dims, eps)
                       : normalize(b, x, dims, eps, /*center=*/true);
    return b.reshape(scaleChannels(b, op, normal, grouped), sizes);
  }

  /// With the moments of each row of the image first, of all channels or of
  /// each: as many reductions as there are rows.
  static Value normalizeImage(PrimitiveBuilder &b, GroupNormOp op) {
    SmallVector<AffineExpr> sizes = getSymbolicSizes(op.getType());
    Value x = readInput(b, op.getInput());
    const double eps = op.getEps().convertToDouble();
    const bool isOneGroup = op.getGroups() == 1;
    if (!isOneGroup && !hasGroupPerChannel(op))
      return normalizeChannels(b, op, x, getMoments(b, x, 3), eps);
    Moments rows = isOneGroup ? getMoments(b, x, {1, 3}) : getMoments(b, x, 3);
    Moments moments = combine(b, rows, 2);
    Value normal = divideByDeviation(b, subtractMean(b, x, moments.mean),
                                     moments.variance, eps);
    return scaleChannels(b, op, normal, sizes);
  }

  /// From the moments of rows, [N, C, H, 1]: a factor and a term of each
  /// channel for x, as eager's kernels on a GPU have them. What is large has no
  /// group in its sizes, so that either layout will do.
  static Value normalizeChannels(PrimitiveBuilder &b, GroupNormOp op, Value x,
                                 Moments rows, double eps) {
    AffineExpr one = getAffineConstantExpr(1, op.getContext());
    SmallVector<AffineExpr> sizes =
        getSymbolicSizes(cast<RankedTensorType>(rows.mean.getType()));
    SmallVector<AffineExpr> grouped = splitChannels(op, sizes);
    Moments moments = combine(
        b, {b.reshape(rows.mean, grouped), b.reshape(rows.variance, grouped)},
        {2, 3});
    SmallVector<AffineExpr> channels = grouped;
    channels[3] = one;
    auto ofChannels = [&](Value constant) {
      Value converted = b.convert(
          constant, cast<RankedTensorType>(x.getType()).getElementType());
      return b.expand(b.reshape(converted, ArrayRef(channels).drop_front()),
                      channels);
    };
    Value factor =
        b.expand(getReciprocalDeviation(b, moments.variance, eps), channels);
    if (Value weight = op.getWeight())
      factor = b.binary<MulOp>(factor, ofChannels(weight));
    Value shift = b.binary<MulOp>(b.expand(moments.mean, channels), factor);
    auto spread = [&](Value value) {
      return b.expand(b.reshape(value, {sizes[0], sizes[1], one, one}), x);
    };
    Value product = b.binary<MulOp>(x, spread(factor));
    if (Value bias = op.getBias())
      return b.binary<AddOp>(product,
                             spread(b.binary<SubOp>(ofChannels(bias), shift)));
    return b.binary<SubOp>(product, spread(shift));
  }

  /// [N, groups, channels of a group, ...] of the sizes [N, C, ...].
  static SmallVector<AffineExpr> splitChannels(GroupNormOp op,
                                               ArrayRef<AffineExpr> sizes) {
    AffineExpr groups = getAffineConstantExpr(op.getGroups(), op.getContext());
    SmallVector<AffineExpr> grouped = {sizes[0], groups,
                                       sizes[1].floorDiv(groups)};
    llvm::append_range(grouped, sizes.drop_front(2));
    return grouped;
  }

  /// With one weight and bias a channel; `sizes` are those of x.
  static Value scaleChannels(PrimitiveBuilder &b, GroupNormOp op, Value x,
                             ArrayRef<AffineExpr> sizes) {
    const size_t channelAxes = sizes.size() - op.getType().getRank() + 1;
    SmallVector<AffineExpr> perChannel(sizes.drop_front());
    for (AffineExpr &size : MutableArrayRef(perChannel).drop_front(channelAxes))
      size = getAffineConstantExpr(1, op.getContext());
    return scaleAndShift(
        b, op, x, [&](Value value) { return b.reshape(value, perChannel); });
  }

  const int64_t enoughGroups;
};

struct Decompose : aitune::impl::DecomposeBase<Decompose> {
  using DecomposeBase::DecomposeBase;

  void runOnOperation() override {
    RewritePatternSet patterns(&getContext());
    patterns.add<DecomposeSoftmax, DecomposeLastAxesNorm<LayerNormOp>,
                 DecomposeLastAxesNorm<RmsNormOp>>(&getContext());
    patterns.add<DecomposeGroupNorm>(&getContext(), enoughGroups);
    if (failed(applyPatternsGreedily(getOperation(), std::move(patterns))))
      signalPassFailure();
  }
};
} // namespace
