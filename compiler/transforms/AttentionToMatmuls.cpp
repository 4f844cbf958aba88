// Attention of depths that no kernel of the device has, as two matmuls and a
// softmax.
#include "compiler/transforms/Passes.h"

#include "compiler/dialect/Ait.h"
#include "compiler/transforms/PrimitiveBuilder.h"
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
using aitune::PrimitiveBuilder;

namespace {

/// The scores of an attention, in the floating type that eager's softmax
/// computes in.
class Scores {
public:
  Scores(PatternRewriter &rewriter, AttentionOp op)
      : b(rewriter, op.getLoc()), op(op) {
    const Type element = op.getType().getElementType(),
               arithmetic = b.getArithmeticType(op.getQuery());
    const double scale = op.getScale().convertToDouble();
    // Sums of products of long rows overflow f16 unless the queries are scaled
    // before.
    const bool scalesQuery = element.isF16() && std::abs(scale) < 1;
    Value query = op.getQuery();
    if (scalesQuery)
      query = b.convert(multiply(b.convert(query, arithmetic), scale), element);
    value = b.convert(b.matmul(query, op.getKey(), aitune::Transposed::Yes),
                      arithmetic);
    if (!scalesQuery && scale != 1)
      value = multiply(value, scale);
    if (op.getMask())
      addMask();
    if (op.getIsCausal())
      leaveOutLaterKeys();
  }

  /// The weights of the values, in the attention's element type.
  Value getWeights() {
    Value weights = b.create<SoftmaxOp>(value.getType(), value, keyAxis(),
                                        /*log=*/false);
    if (op.getMask() && !op.getMaskedRowsAreNan())
      weights = b.create<WhereOp>(value.getType(), findEmptyRows(),
                                  b.full(value, 0), weights);
    return b.convert(weights, op.getType().getElementType());
  }

private:
  static constexpr double kNone = -std::numeric_limits<double>::infinity();

  RankedTensorType typeOf(Type elementType) {
    return withElementType(cast<RankedTensorType>(value.getType()),
                           elementType);
  }
  int64_t keyAxis() { return op.getType().getRank() - 1; }
  Value multiply(Value input, double factor) {
    return b.binary<MulOp>(input, b.full(input, factor));
  }
  void keepWhere(Value condition, double otherwise) {
    value = b.create<WhereOp>(value.getType(), condition, value,
                              b.full(value, otherwise));
  }

  void addMask() {
    Value mask = op.getMask();
    if (cast<RankedTensorType>(mask.getType()).getElementType().isInteger(1)) {
      keepWhere(b.expand(mask, value),
                op.getMaskedScore() ? op.getMaskedScore()->convertToDouble()
                                    : kNone);
      return;
    }
    const Value added =
        b.expand(b.convert(mask, getElementTypeOrSelf(value)), value);
    value = b.binary<AddOp>(value, added);
    if (op.getMaskedScore())
      keepWhere(b.create<NeOp>(typeOf(IntegerType::get(op.getContext(), 1)),
                               added, b.full(added, kMaskedPair)),
                op.getMaskedScore()->convertToDouble());
  }

  void leaveOutLaterKeys() {
    auto position = [&](int64_t axis) {
      return b.create<IotaOp>(typeOf(IntegerType::get(op.getContext(), 64)),
                              axis, llvm::APFloat(0.0), llvm::APFloat(1.0));
    };
    keepWhere(b.create<LeOp>(typeOf(IntegerType::get(op.getContext(), 1)),
                             position(keyAxis()), position(keyAxis() - 1)),
              kNone);
  }

  /// Where no key is left for a query: its greatest score is -infinity.
  Value findEmptyRows() {
    Value greatest = b.expand(b.reduce<AmaxOp>(value, keyAxis()), value);
    return b.create<EqOp>(typeOf(IntegerType::get(op.getContext(), 1)),
                          greatest, b.full(value, kNone));
  }

  PrimitiveBuilder b;
  AttentionOp op;
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
    rewriter.replaceOp(
        op, PrimitiveBuilder(rewriter, op.getLoc())
                .matmul(weights, op.getValue(), aitune::Transposed::No));
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
