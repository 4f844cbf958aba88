// Normalisations and softmax in primitives.
#include "compiler/transforms/Passes.h"

#include "compiler/dialect/Ait.h"
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

namespace {
/// Writes primitives at one location, with the types they imply.
class PrimitiveBuilder {
public:
  PrimitiveBuilder(PatternRewriter &rewriter, Location location)
      : rewriter(rewriter), location(location) {}

  template <typename Op, typename... Args>
  Value create(Type type, Args &&...args) {
    return Op::create(rewriter, location, type, std::forward<Args>(args)...);
  }
  template <typename Op> Value unary(Value input) {
    return create<Op>(input.getType(), input);
  }
  template <typename Op> Value binary(Value lhs, Value rhs) {
    return create<Op>(lhs.getType(), lhs, rhs);
  }
  template <typename Op> Value reduce(Value input, ArrayRef<int64_t> dims) {
    auto type = cast<RankedTensorType>(input.getType());
    SmallVector<AffineExpr> sizes = getSymbolicSizes(type);
    for (int64_t dim : dims)
      sizes[dim] = getAffineConstantExpr(1, type.getContext());
    return create<Op>(getTensorType(sizes, type.getElementType()), input, dims);
  }
  /// `input` repeated to the sizes of `like`.
  Value expand(Value input, Value like) {
    auto type = cast<RankedTensorType>(input.getType());
    auto target = withElementType(cast<RankedTensorType>(like.getType()),
                                  type.getElementType());
    return type == target ? input : create<ExpandOp>(target, input);
  }
  Value full(Value like, double number) {
    auto type = cast<RankedTensorType>(like.getType());
    return create<FullOp>(type,
                          rewriter.getFloatAttr(type.getElementType(), number));
  }
  Value convert(Value input, Type elementType) {
    auto type = cast<RankedTensorType>(input.getType());
    auto target = withElementType(type, elementType);
    return type == target ? input : create<ConvertOp>(target, input);
  }
  Value reshape(Value input, ArrayRef<AffineExpr> sizes) {
    auto type = cast<RankedTensorType>(input.getType());
    auto target = getTensorType(sizes, type.getElementType());
    return type == target ? input : create<ReshapeOp>(target, input);
  }
  /// f32 for the narrow floating types: eager normalises in f32 and rounds
  /// once.
  static Type getArithmeticType(Value value) {
    Type type = cast<RankedTensorType>(value.getType()).getElementType();
    return type.isF16() || type.isBF16() ? Float32Type::get(type.getContext())
                                         : type;
  }

private:
  PatternRewriter &rewriter;
  Location location;
};

struct DecomposeSoftmax : OpRewritePattern<SoftmaxOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(SoftmaxOp op,
                                PatternRewriter &rewriter) const override {
    PrimitiveBuilder b(rewriter, op.getLoc());
    Type elementType = op.getType().getElementType();
    if (!isa<FloatType>(elementType))
      return failure();
    Value x = b.convert(op.getInput(), b.getArithmeticType(op.getInput()));
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

/// (x - mean) / sqrt(var + eps) over `dims`; without the mean for RMS norms.
Value normalize(PrimitiveBuilder &b, Value x, ArrayRef<int64_t> dims,
                double eps, bool center) {
  Value centered = x;
  if (center)
    centered = b.binary<SubOp>(x, b.expand(b.reduce<MeanOp>(x, dims), x));
  Value variance = b.reduce<MeanOp>(b.binary<MulOp>(centered, centered), dims);
  Value scale =
      b.unary<RsqrtOp>(b.binary<AddOp>(variance, b.full(variance, eps)));
  return b.binary<MulOp>(centered, b.expand(scale, x));
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
    Value x = b.convert(op.getInput(), b.getArithmeticType(op.getInput()));
    Value normal = normalize(b, x, dims, op.getEps().convertToDouble(),
                             std::is_same_v<NormOp, LayerNormOp>);
    Value result =
        scaleAndShift(b, op, normal, [](Value value) { return value; });
    rewriter.replaceOp(op, b.convert(result, elementType));
    return success();
  }
};

struct DecomposeGroupNorm : OpRewritePattern<GroupNormOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(GroupNormOp op,
                                PatternRewriter &rewriter) const override {
    PrimitiveBuilder b(rewriter, op.getLoc());
    RankedTensorType type = op.getType();
    Type elementType = type.getElementType();
    if (!isa<FloatType>(elementType))
      return failure();
    AffineExpr groups = rewriter.getAffineConstantExpr(op.getGroups());
    SmallVector<AffineExpr> sizes = getSymbolicSizes(type);
    SmallVector<AffineExpr> grouped = {sizes[0], groups,
                                       sizes[1].floorDiv(groups)};
    grouped.append(sizes.begin() + 2, sizes.end());
    auto dims = llvm::to_vector(
        llvm::seq<int64_t>(2, static_cast<int64_t>(grouped.size())));
    Value x = b.convert(op.getInput(), b.getArithmeticType(op.getInput()));
    Value normal = normalize(b, b.reshape(x, grouped), dims,
                             op.getEps().convertToDouble(), true);
    // One value a channel: [groups, channels / groups, 1, ...].
    SmallVector<AffineExpr> perChannel(grouped.size() - 1,
                                       rewriter.getAffineConstantExpr(1));
    perChannel[0] = grouped[1];
    perChannel[1] = grouped[2];
    Value result = scaleAndShift(b, op, normal, [&](Value value) {
      return b.reshape(value, perChannel);
    });
    rewriter.replaceOp(op, b.convert(b.reshape(result, sizes), elementType));
    return success();
  }
};

struct Decompose : aitune::impl::DecomposeBase<Decompose> {
  void runOnOperation() override {
    RewritePatternSet patterns(&getContext());
    patterns.add<DecomposeSoftmax, DecomposeLastAxesNorm<LayerNormOp>,
                 DecomposeLastAxesNorm<RmsNormOp>, DecomposeGroupNorm>(
        &getContext());
    if (failed(applyPatternsGreedily(getOperation(), std::move(patterns))))
      signalPassFailure();
  }
};
} // namespace
