// Attention written out, as one operation.
#include "compiler/transforms/Passes.h"

#include "compiler/dialect/Ait.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"
#include "llvm/ADT/STLExtras.h"

namespace aitune {
#define GEN_PASS_DEF_FORMATTENTION
#include "compiler/transforms/Passes.h.inc"
} // namespace aitune

using namespace mlir;
using namespace mlir::ait;

namespace {
std::optional<double> getNumber(Value value) {
  auto full = value.getDefiningOp<FullOp>();
  auto number = full ? dyn_cast<FloatAttr>(full.getValue()) : FloatAttr();
  if (!number)
    return std::nullopt;
  return number.getValueAsDouble();
}

/// The other operand of a product with a number, or of a division by one, which
/// is multiplied to `scale`; else `value`.
Value skipScale(Value value, double &scale) {
  if (auto mul = value.getDefiningOp<MulOp>()) {
    if (auto number = getNumber(mul.getRhs())) {
      scale *= *number;
      return mul.getLhs();
    }
    if (auto number = getNumber(mul.getLhs())) {
      scale *= *number;
      return mul.getRhs();
    }
  }
  if (auto div = value.getDefiningOp<DivOp>())
    if (auto number = getNumber(div.getRhs()); number && *number != 0) {
      scale /= *number;
      return div.getLhs();
    }
  return value;
}

/// Conversions between the floating types: the arithmetic of attention on
/// `element` is in f32 whatever that is. Not those to a narrower type, or to
/// another of that width, in which scores may be infinite.
Value skipConvert(Value value, Type element) {
  auto convert = value.getDefiningOp<ConvertOp>();
  if (!convert || !isa<FloatType>(element) ||
      !isa<FloatType>(convert.getInput().getType().getElementType()))
    return value;
  auto type = dyn_cast<FloatType>(convert.getType().getElementType());
  if (!type || (type != element &&
                type.getWidth() <= cast<FloatType>(element).getWidth()))
    return value;
  return convert.getInput();
}

/// The parts of softmax(q k^T * scale + mask).
struct Scores {
  MatmulOp product;
  double scale = 1;
  /// Tensors that the scores are multiplied by, each of one number for all keys
  /// of a query.
  SmallVector<Value, 1> queryFactors;
  /// The values that are added to the product, the last one first.
  SmallVector<Value, 2> addends;
  /// Whether a sum with an addend is stored in f16.
  bool isSumInHalf = false;
  /// The condition under which a score is `fill`, or is not, if `isSeen`; null
  /// if there is none.
  Value condition;
  bool isSeen = false;
  double fill = 0;
};

Value stripExpand(Value value) {
  while (auto expand = value.getDefiningOp<ExpandOp>())
    value = expand.getInput();
  return value;
}

/// Whether a tensor of the scores' axes, or of the last of them, has one
/// element along the last one, that of the keys.
bool isOneNumberForAllKeys(Value value) {
  auto type = cast<RankedTensorType>(value.getType());
  return type.getRank() == 0 || type.getDimSize(type.getRank() - 1) == 1;
}

/// The value that is multiplied, of a product with a tensor of one number for
/// all keys, which goes to `factor`; else null.
Value skipQueryFactor(Value value, Value &factor) {
  auto mul = value.getDefiningOp<MulOp>();
  if (!mul)
    return Value();
  Value left = stripExpand(mul.getLhs()), right = stripExpand(mul.getRhs());
  const bool isRight = isOneNumberForAllKeys(right);
  if (!isRight && !isOneNumberForAllKeys(left))
    return Value();
  factor = isRight ? right : left;
  return isRight ? mul.getLhs() : mul.getRhs();
}

/// Sums that scores may be made of: a product, a bias and masks.
constexpr unsigned mostSums = 3;

/// Whether a matmul is found behind conversions, factors and at most `sums`
/// sums.
bool isOfProduct(Value value, Type element, unsigned sums) {
  double ignored = 1;
  Value factor;
  value = skipConvert(skipScale(skipConvert(value, element), ignored), element);
  if (Value multiplied = skipQueryFactor(value, factor))
    return isOfProduct(multiplied, element, 0);
  auto add = value.getDefiningOp<AddOp>();
  if (!add)
    return value.getDefiningOp<MatmulOp>() != nullptr;
  return sums > 0 && (isOfProduct(add.getLhs(), element, sums - 1) ||
                      isOfProduct(add.getRhs(), element, sums - 1));
}

/// Of the input of a softmax in attention on `element`.
std::optional<Scores> matchScores(Value value, Type element) {
  Scores scores;
  // From the softmax up: mask, scale, product. Each step has one reader, or
  // the scores would have to be in memory anyway.
  auto step = [](Value value) { return value.hasOneUse(); };
  if (!step(value))
    return std::nullopt;
  value = skipConvert(value, element);
  if (auto where = value.getDefiningOp<WhereOp>()) {
    std::optional<double> fill = getNumber(where.getOnTrue());
    scores.isSeen = !fill;
    if (!fill)
      fill = getNumber(where.getOnFalse());
    if (!fill || std::isnan(*fill) || !step(value))
      return std::nullopt;
    scores.condition = where.getCondition();
    scores.fill = *fill;
    value = skipConvert(scores.isSeen ? where.getOnTrue() : where.getOnFalse(),
                        element);
  }
  // A bias of positions and a mask of windows, for example.
  while (auto add = value.getDefiningOp<AddOp>()) {
    if (!step(value))
      return std::nullopt;
    // A product itself comes before a sum that has one, such as a layer's.
    const bool left = isOfProduct(add.getLhs(), element, 0) ||
                      (!isOfProduct(add.getRhs(), element, 0) &&
                       isOfProduct(add.getLhs(), element, mostSums));
    scores.addends.push_back(left ? add.getRhs() : add.getLhs());
    scores.isSumInHalf |= add.getType().getElementType().isF16();
    value = skipConvert(left ? add.getLhs() : add.getRhs(), element);
  }
  if (!step(value))
    return std::nullopt;
  value = skipConvert(skipScale(value, scores.scale), element);
  // Such as a temperature of each head.
  Value factor;
  while (Value multiplied = skipQueryFactor(value, factor)) {
    if (!step(value) || !step(multiplied))
      return std::nullopt;
    scores.queryFactors.push_back(factor);
    value = skipConvert(
        skipScale(skipConvert(multiplied, element), scores.scale), element);
  }
  scores.product = value.getDefiningOp<MatmulOp>();
  if (!scores.product || !step(value))
    return std::nullopt;
  return scores;
}

Value transposeLastAxes(PatternRewriter &rewriter, Value value) {
  auto type = cast<RankedTensorType>(value.getType());
  SmallVector<AffineExpr> sizes = getSymbolicSizes(type);
  int64_t rank = type.getRank();
  SmallVector<int64_t> permutation = llvm::to_vector(llvm::seq<int64_t>(rank));
  std::swap(sizes[rank - 2], sizes[rank - 1]);
  std::swap(permutation[rank - 2], permutation[rank - 1]);
  return PermuteOp::create(rewriter, value.getLoc(),
                           getTensorType(sizes, type.getElementType()), value,
                           permutation);
}

struct FormFromSoftmax : OpRewritePattern<MatmulOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(MatmulOp op,
                                PatternRewriter &rewriter) const override {
    int64_t rank = op.getType().getRank();
    Value weights = op.getLhs();
    if (!weights.hasOneUse() || op.getTransposeLhs() ||
        op.getRhs().getType().getRank() != rank)
      return failure();
    Type elementType = op.getType().getElementType();
    auto softmax = skipConvert(weights, elementType).getDefiningOp<SoftmaxOp>();
    if (!softmax || softmax.getLog() || !softmax->hasOneUse() ||
        static_cast<int64_t>(softmax.getDim()) != rank - 1)
      return failure();
    std::optional<Scores> scores = matchScores(softmax.getInput(), elementType);
    if (!scores)
      return failure();
    MatmulOp product = scores->product;
    if (product.getType().getRank() != rank ||
        product.getRhs().getType().getRank() != rank ||
        product.getLhs().getType().getElementType() != elementType ||
        op.getRhs().getType().getElementType() != elementType ||
        !isa<FloatType>(elementType))
      return failure();
    // A factor times a query may be more than f16 holds where it is not times
    // the scores.
    if (!scores->queryFactors.empty() && !elementType.isF32() &&
        !elementType.isBF16())
      return failure();
    Value query = skipOperandScale(product.getLhs(), scores->scale);
    Value key = skipOperandScale(product.getRhs(), scores->scale);
    Value mask = createMask(rewriter, *scores);
    if (product.getTransposeLhs())
      query = transposeLastAxes(rewriter, query);
    if (!product.getTransposeRhs())
      key = transposeLastAxes(rewriter, key);
    for (Value factor : scores->queryFactors)
      query = multiply(rewriter, product.getLoc(), query, factor);
    Value value = op.getRhs();
    if (op.getTransposeRhs())
      value = transposeLastAxes(rewriter, value);
    // Pairs that a boolean mask alone leaves out have -infinity by themselves.
    FloatAttr maskedScore;
    if (scores->condition &&
        (!scores->addends.empty() ||
         scores->fill != -std::numeric_limits<double>::infinity()))
      maskedScore = rewriter.getF64FloatAttr(scores->fill);
    rewriter.replaceOpWithNewOp<AttentionOp>(
        op, op.getType(), query, key, value, mask,
        rewriter.getF64FloatAttr(scores->scale), /*is_causal=*/UnitAttr(),
        /*masked_rows_are_nan=*/rewriter.getUnitAttr(), maskedScore);
    return success();
  }

private:
  /// A query or key scaled before the product, by a factor that can be moved
  /// without another rounding, and that makes no product without it infinite.
  static Value skipOperandScale(Value value, double &scale) {
    double factor = 1;
    Value source = skipScale(value, factor);
    int exponent;
    bool exact =
        std::frexp(std::abs(factor), &exponent) == 0.5 ||
        cast<RankedTensorType>(value.getType()).getElementType().isF32();
    const bool isModerate =
        std::abs(factor) >= 0x1p-16 && std::abs(factor) <= 0x1p16;
    if (source == value || !exact || !isModerate)
      return value;
    scale *= factor;
    return source;
  }

  /// The queries times a factor that broadcasts to them, rounded once.
  static Value multiply(PatternRewriter &rewriter, Location location,
                        Value query, Value factor) {
    auto type = cast<RankedTensorType>(query.getType());
    RankedTensorType arithmetic = withElementType(type, rewriter.getF32Type());
    Value product =
        MulOp::create(rewriter, location, arithmetic,
                      broadcast(rewriter, location, query, arithmetic),
                      broadcast(rewriter, location, factor, arithmetic));
    return broadcast(rewriter, location, product, type);
  }

  /// The mask, of the smallest sizes that broadcast: which scores are seen, or
  /// one floating tensor that is added, with kMaskedPair where a condition
  /// leaves scores out. Null if there is none.
  static Value createMask(PatternRewriter &rewriter, const Scores &scores) {
    MatmulOp product = scores.product;
    Location location = product.getLoc();
    SmallVector<Value, 3> masks;
    for (Value addend : llvm::reverse(scores.addends)) {
      Value mask = stripExpand(addend);
      masks.push_back(
          scores.isSumInHalf ? absorbScores(rewriter, location, mask) : mask);
    }
    Value condition =
        scores.condition ? stripExpand(scores.condition) : Value();
    if (masks.empty())
      return !condition || scores.isSeen
                 ? condition
                 : BitwiseNotOp::create(rewriter, location, condition.getType(),
                                        condition);
    if (masks.size() == 1 && !condition)
      return masks.front();
    SmallVector<Value, 4> operands = llvm::to_vector<4>(masks);
    if (condition)
      operands.push_back(condition);
    const RankedTensorType sizes = broadcastSizes(product, operands);
    Value sum = broadcast(rewriter, location, masks.front(), sizes);
    for (Value mask : llvm::drop_begin(masks))
      sum = AddOp::create(rewriter, location, sizes, sum,
                          broadcast(rewriter, location, mask, sizes));
    if (!condition)
      return sum;
    const Value maskedPair = FullOp::create(
        rewriter, location, sizes, rewriter.getF32FloatAttr(kMaskedPair));
    condition = broadcast(rewriter, location, condition,
                          withElementType(sizes, rewriter.getI1Type()));
    return WhereOp::create(rewriter, location, sizes, condition,
                           scores.isSeen ? sum : maskedPair,
                           scores.isSeen ? maskedPair : sum);
  }

  /// A mask of f16 in which numbers from -32768 down are 65,536 times as large.
  /// Next to them f16 has steps of 16 and 32 and f32 none of more than 1/256:
  /// only so do scores that are masked by them become equal in f32 too.
  static Value absorbScores(PatternRewriter &rewriter, Location location,
                            Value mask) {
    auto type = cast<RankedTensorType>(mask.getType());
    if (!type.getElementType().isF16())
      return mask;
    RankedTensorType wide = withElementType(type, rewriter.getF32Type());
    auto full = [&](float number) {
      return FullOp::create(rewriter, location, wide,
                            rewriter.getF32FloatAttr(number));
    };
    mask = ConvertOp::create(rewriter, location, wide, mask);
    Value isLowest = LeOp::create(rewriter, location,
                                  withElementType(type, rewriter.getI1Type()),
                                  mask, full(-0x1p15f));
    Value absorbing =
        MulOp::create(rewriter, location, wide, mask, full(0x1p16f));
    return WhereOp::create(rewriter, location, wide, isLowest, absorbing, mask);
  }

  /// The scores' sizes, 1 where no mask has more, in f32.
  static RankedTensorType broadcastSizes(MatmulOp product,
                                         ArrayRef<Value> masks) {
    SmallVector<AffineExpr> sizes = getSymbolicSizes(product.getType());
    const size_t rank = sizes.size();
    for (size_t fromEnd = 1; fromEnd <= rank; ++fromEnd) {
      const bool broadcasts = llvm::all_of(masks, [&](Value mask) {
        auto type = cast<RankedTensorType>(mask.getType());
        const size_t own = type.getRank();
        return fromEnd > own || type.getDimSize(own - fromEnd) == 1;
      });
      if (broadcasts)
        sizes[rank - fromEnd] = getAffineConstantExpr(1, product.getContext());
    }
    return getTensorType(sizes, Float32Type::get(product.getContext()));
  }

  static Value broadcast(PatternRewriter &rewriter, Location location,
                         Value value, RankedTensorType type) {
    auto current = cast<RankedTensorType>(value.getType());
    if (current.getElementType() != type.getElementType())
      value = ConvertOp::create(rewriter, location,
                                withElementType(current, type.getElementType()),
                                value);
    if (value.getType() == type)
      return value;
    return ExpandOp::create(rewriter, location, type, value);
  }
};

/// A mask that adds 0 to all scores, or leaves none out, is none.
struct AttentionWithoutMask : OpRewritePattern<AttentionOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(AttentionOp op,
                                PatternRewriter &rewriter) const override {
    auto full = op.getMask() ? op.getMask().getDefiningOp<FullOp>() : FullOp();
    if (!full)
      return failure();
    auto number = dyn_cast<FloatAttr>(full.getValue());
    auto flag = dyn_cast<IntegerAttr>(full.getValue());
    if (number ? !number.getValue().isZero()
               : !flag || flag.getValue().isZero())
      return failure();
    rewriter.modifyOpInPlace(op, [&] {
      op.getMaskMutable().clear();
      op.removeMaskedScoreAttr();
    });
    return success();
  }
};

struct FormAttention : aitune::impl::FormAttentionBase<FormAttention> {
  void runOnOperation() override {
    RewritePatternSet patterns(&getContext());
    patterns.add<FormFromSoftmax, AttentionWithoutMask>(&getContext());
    if (failed(applyPatternsGreedily(getOperation(), std::move(patterns))))
      signalPassFailure();
  }
};
} // namespace
