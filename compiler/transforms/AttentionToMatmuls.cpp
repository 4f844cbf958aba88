// Attention of depths that no kernel of the device has, as two matmuls and a
// softmax.
#include "compiler/transforms/Passes.h"

#include "compiler/dialect/Ait.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

#include <cmath>
#include <limits>

namespace aitune {
#define GEN_PASS_DEF_ATTENTIONTOMATMULS
#include "compiler/transforms/Passes.h.inc"
} // namespace aitune

using namespace mlir;
using namespace mlir::ait;

namespace {

/// Writes what an attention is made of. Scores are of `type`, in the floating
/// type that eager's softmax computes in.
class Scores {
public:
  Scores(PatternRewriter &rewriter, AttentionOp op)
      : rewriter(rewriter), op(op), location(op.getLoc()) {
    SmallVector<AffineExpr> sizes = getSymbolicSizes(op.getQuery().getType());
    sizes.back() = getSymbolicSizes(op.getKey().getType())[sizes.size() - 2];
    Type element = op.getType().getElementType();
    type = getTensorType(sizes, element.isF16() || element.isBF16()
                                    ? Type(rewriter.getF32Type())
                                    : element);
    const double scale = op.getScale().convertToDouble();
    // Sums of products of long rows overflow f16 unless the queries are scaled
    // before.
    const bool scalesQuery = element.isF16() && std::abs(scale) < 1;
    Value query = op.getQuery();
    if (scalesQuery)
      query = convert(multiply(convert(query, type.getElementType()), scale),
                      element);
    value = MatmulOp::create(rewriter, location, withElementType(type, element),
                             query, op.getKey(),
                             /*transpose_lhs=*/false, /*transpose_rhs=*/true);
    value = convert(value, type.getElementType());
    if (!scalesQuery && scale != 1)
      value = multiply(value, scale);
    if (op.getMask())
      addMask();
    if (op.getIsCausal())
      leaveOutLaterKeys();
  }

  /// The weights of the values, in the attention's element type.
  Value getWeights() {
    Value weights = SoftmaxOp::create(rewriter, location, type, value,
                                      type.getRank() - 1, /*log=*/false);
    if (op.getMask() && !op.getMaskedRowsAreNan())
      weights = WhereOp::create(rewriter, location, type, findEmptyRows(),
                                full(0), weights);
    return convert(weights, op.getType().getElementType());
  }

private:
  static constexpr double kNone = -std::numeric_limits<double>::infinity();

  Value convert(Value input, Type elementType) {
    auto target =
        withElementType(cast<RankedTensorType>(input.getType()), elementType);
    return input.getType() == target
               ? input
               : ConvertOp::create(rewriter, location, target, input);
  }
  Value full(double number) { return full(type, number); }
  Value full(RankedTensorType of, double number) {
    return FullOp::create(rewriter, location, of,
                          rewriter.getFloatAttr(of.getElementType(), number));
  }
  Value multiply(Value input, double factor) {
    auto of = cast<RankedTensorType>(input.getType());
    return MulOp::create(rewriter, location, of, input, full(of, factor));
  }
  RankedTensorType typeOf(Type elementType) {
    return withElementType(type, elementType);
  }
  void keepWhere(Value condition, double otherwise) {
    value = WhereOp::create(rewriter, location, type, condition, value,
                            full(otherwise));
  }

  void addMask() {
    Value mask = op.getMask();
    const bool isBoolean =
        cast<RankedTensorType>(mask.getType()).getElementType().isInteger(1);
    if (!isBoolean)
      mask = convert(mask, type.getElementType());
    RankedTensorType target =
        typeOf(cast<RankedTensorType>(mask.getType()).getElementType());
    if (mask.getType() != target)
      mask = ExpandOp::create(rewriter, location, target, mask);
    if (isBoolean)
      keepWhere(mask, op.getMaskedScore()
                          ? op.getMaskedScore()->convertToDouble()
                          : kNone);
    else
      value = AddOp::create(rewriter, location, type, value, mask);
  }

  void leaveOutLaterKeys() {
    const int64_t rank = type.getRank();
    auto position = [&](int64_t axis) {
      return IotaOp::create(rewriter, location, typeOf(rewriter.getI64Type()),
                            axis, llvm::APFloat(0.0), llvm::APFloat(1.0));
    };
    keepWhere(LeOp::create(rewriter, location, typeOf(rewriter.getI1Type()),
                           position(rank - 1), position(rank - 2)),
              kNone);
  }

  /// Where no key is left for a query: its greatest score is -infinity.
  Value findEmptyRows() {
    const int64_t keys = type.getRank() - 1;
    SmallVector<AffineExpr> sizes = getSymbolicSizes(type);
    sizes[keys] = rewriter.getAffineConstantExpr(1);
    Value greatest = AmaxOp::create(rewriter, location,
                                    getTensorType(sizes, type.getElementType()),
                                    value, ArrayRef<int64_t>(keys));
    greatest = ExpandOp::create(rewriter, location, type, greatest);
    return EqOp::create(rewriter, location, typeOf(rewriter.getI1Type()),
                        greatest, full(kNone));
  }

  PatternRewriter &rewriter;
  AttentionOp op;
  const Location location;
  RankedTensorType type;
  Value value;
};

struct AttentionToProducts : OpRewritePattern<AttentionOp> {
  AttentionToProducts(MLIRContext *context, int64_t mostDepth)
      : OpRewritePattern(context), mostDepth(mostDepth) {}

  LogicalResult matchAndRewrite(AttentionOp op,
                                PatternRewriter &rewriter) const override {
    auto hasKernel = [&](Value operand) {
      auto type = cast<RankedTensorType>(operand.getType());
      const int64_t depth = type.getDimSize(type.getRank() - 1);
      return !ShapedType::isDynamic(depth) && depth <= mostDepth;
    };
    if (hasKernel(op.getQuery()) && hasKernel(op.getKey()) &&
        hasKernel(op.getValue()))
      return failure();
    Value weights = Scores(rewriter, op).getWeights();
    rewriter.replaceOpWithNewOp<MatmulOp>(op, op.getType(), weights,
                                          op.getValue(),
                                          /*transpose_lhs=*/false,
                                          /*transpose_rhs=*/false);
    return success();
  }

  int64_t mostDepth;
};

struct AttentionToMatmuls
    : aitune::impl::AttentionToMatmulsBase<AttentionToMatmuls> {
  using AttentionToMatmulsBase::AttentionToMatmulsBase;

  void runOnOperation() override {
    RewritePatternSet patterns(&getContext());
    patterns.add<AttentionToProducts>(&getContext(), mostDepth);
    if (failed(applyPatternsGreedily(getOperation(), std::move(patterns))))
      signalPassFailure();
  }
};
} // namespace
