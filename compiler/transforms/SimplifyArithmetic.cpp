#include "compiler/transforms/SimplifyPatterns.h"

#include "compiler/dialect/Ait.h"
#include "compiler/dialect/ElementTypes.h"
#include "compiler/dialect/KernelAttributes.h"
#include "llvm/ADT/APFloat.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace mlir::ait;

namespace {
std::optional<double> getFloat(Value value) {
  if (auto full = value.getDefiningOp<FullOp>())
    if (auto number = dyn_cast<FloatAttr>(full.getValue()))
      return number.getValueAsDouble();
  return std::nullopt;
}

std::optional<int64_t> getInteger(Value value) {
  if (auto full = value.getDefiningOp<FullOp>())
    if (auto number = dyn_cast<IntegerAttr>(full.getValue())) {
      if (number.getType().isInteger(1))
        return static_cast<int64_t>(!number.getValue().isZero());
      return number.getType().isUnsignedInteger()
                 ? static_cast<int64_t>(number.getValue().getZExtValue())
                 : number.getValue().getSExtValue();
    }
  return std::nullopt;
}

bool isNumber(Value value, double number) {
  if (std::optional<double> known = getFloat(value))
    return *known == number;
  if (std::optional<int64_t> known = getInteger(value))
    return static_cast<double>(*known) == number;
  return false;
}

Value createFull(PatternRewriter &rewriter, Operation *like, double number) {
  auto type = cast<RankedTensorType>(like->getResult(0).getType());
  TypedAttr value =
      isa<FloatType>(type.getElementType())
          ? TypedAttr(rewriter.getFloatAttr(type.getElementType(), number))
          : TypedAttr(rewriter.getIntegerAttr(type.getElementType(),
                                              static_cast<int64_t>(number)));
  return FullOp::create(rewriter, like->getLoc(), type, value);
}

/// Rounds once to the element type, as the operation itself would: f64 holds
/// the exact sum or product of the narrower types that are folded here.
struct FoldBinary : RewritePattern {
  FoldBinary(MLIRContext *context)
      : RewritePattern(MatchAnyOpTypeTag(), 1, context) {}
  LogicalResult matchAndRewrite(Operation *op,
                                PatternRewriter &rewriter) const override {
    if (!isa<AddOp, SubOp, MulOp, DivOp>(op))
      return failure();
    auto type = cast<RankedTensorType>(op->getResult(0).getType());
    std::optional<double> lhs = getFloat(op->getOperand(0));
    std::optional<double> rhs = getFloat(op->getOperand(1));
    if (!lhs || !rhs || type.getElementType().isF64())
      return failure();
    double result = isa<AddOp>(op)   ? *lhs + *rhs
                    : isa<SubOp>(op) ? *lhs - *rhs
                    : isa<MulOp>(op) ? *lhs * *rhs
                                     : *lhs / *rhs;
    rewriter.replaceOp(op, createFull(rewriter, op, result));
    return success();
  }
};

struct FoldConvert : OpRewritePattern<ConvertOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(ConvertOp op,
                                PatternRewriter &rewriter) const override {
    Type elementType = op.getType().getElementType();
    if (std::optional<double> number = getFloat(op.getInput())) {
      if (!isa<FloatType>(elementType))
        return failure();
      rewriter.replaceOp(op, createFull(rewriter, op, *number));
      return success();
    }
    std::optional<int64_t> number = getInteger(op.getInput());
    // f64 holds integers of up to 53 bits.
    if (!number || std::abs(*number) > (int64_t(1) << 53))
      return failure();
    if (isa<FloatType>(elementType)) {
      rewriter.replaceOp(
          op, createFull(rewriter, op, static_cast<double>(*number)));
      return success();
    }
    auto integer = dyn_cast<IntegerType>(elementType);
    if (!integer || integer.getWidth() < 32)
      return failure();
    if (integer.getWidth() == 32 && *number != static_cast<int32_t>(*number))
      return failure();
    rewriter.replaceOp(op,
                       createFull(rewriter, op, static_cast<double>(*number)));
    return success();
  }
};

/// x * 1, x / 1, x - 0; x + 0 for integers (for floats, -0 + 0 is 0).
struct RemoveIdentity : RewritePattern {
  RemoveIdentity(MLIRContext *context)
      : RewritePattern(MatchAnyOpTypeTag(), 1, context) {}
  LogicalResult matchAndRewrite(Operation *op,
                                PatternRewriter &rewriter) const override {
    if (!isa<AddOp, SubOp, MulOp, DivOp>(op))
      return failure();
    Value lhs = op->getOperand(0), rhs = op->getOperand(1);
    bool commutes = isa<MulOp, AddOp>(op);
    double identity = isa<MulOp, DivOp>(op) ? 1 : 0;
    if (isa<AddOp>(op) && !getInteger(lhs) && !getInteger(rhs))
      return failure();
    if (isNumber(rhs, identity) && !std::signbit(getFloat(rhs).value_or(0)))
      rewriter.replaceOp(op, lhs);
    else if (commutes && isNumber(lhs, identity))
      rewriter.replaceOp(op, rhs);
    else
      return failure();
    return success();
  }
};

/// Division by a power of two is multiplication by its reciprocal, exactly.
struct DivideByPowerOfTwo : OpRewritePattern<DivOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(DivOp op,
                                PatternRewriter &rewriter) const override {
    auto full = op.getRhs().getDefiningOp<FullOp>();
    auto divisor = full ? dyn_cast<FloatAttr>(full.getValue()) : FloatAttr();
    if (!divisor)
      return failure();
    APFloat inverse(divisor.getValue().getSemantics());
    if (!divisor.getValue().getExactInverse(&inverse))
      return failure();
    Value factor = FullOp::create(
        rewriter, op.getLoc(), op.getType(),
        rewriter.getFloatAttr(op.getType().getElementType(), inverse));
    rewriter.replaceOpWithNewOp<MulOp>(op, op.getType(), op.getLhs(), factor);
    return success();
  }
};

/// The exponents that eager computes by multiplication as well, whether they
/// are numbers or tensors. Roots differ for infinities and zeros.
struct SimplifyPow : OpRewritePattern<PowOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(PowOp op,
                                PatternRewriter &rewriter) const override {
    Value base = op.getLhs();
    Type type = op.getType();
    Location location = op.getLoc();
    auto multiply = [&](Value lhs, Value rhs) -> Value {
      return MulOp::create(rewriter, location, type, lhs, rhs);
    };
    if (isNumber(op.getRhs(), 1))
      rewriter.replaceOp(op, base);
    else if (isNumber(op.getRhs(), 2))
      rewriter.replaceOp(op, multiply(base, base));
    else if (isNumber(op.getRhs(), 3))
      rewriter.replaceOp(op, multiply(multiply(base, base), base));
    else if (isa<FloatType>(op.getType().getElementType()) &&
             isNumber(op.getRhs(), -1))
      rewriter.replaceOpWithNewOp<ReciprocalOp>(op, type, base);
    else
      return failure();
    return success();
  }
};

/// A conversion that lost nothing may be skipped by the next one, which then
/// reads what was rounded if the first one did.
struct ConvertOfLosslessConvert : OpRewritePattern<ConvertOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(ConvertOp op,
                                PatternRewriter &rewriter) const override {
    auto previous = op.getInput().getDefiningOp<ConvertOp>();
    if (!previous)
      return failure();
    Type from = previous.getInput().getType().getElementType();
    Type through = op.getInput().getType().getElementType();
    if (!isLossless(from, through))
      return failure();
    rewriter.modifyOpInPlace(op, [&] {
      op.getInputMutable().assign(previous.getInput());
      if (mustRound(previous))
        setMustRound(op);
    });
    return success();
  }

private:
  static bool isLossless(Type from, Type to) {
    if (isHalf(from))
      return to.isF32() || to.isF64();
    if (from.isF32())
      return to.isF64();
    if (from.isInteger(1))
      return to.isIntOrFloat();
    return from.isInteger(32) && (to.isInteger(64) || to.isF64());
  }
};
} // namespace

void aitune::populateArithmeticPatterns(RewritePatternSet &patterns) {
  patterns.add<FoldBinary, FoldConvert, RemoveIdentity, DivideByPowerOfTwo,
               SimplifyPow, ConvertOfLosslessConvert>(patterns.getContext());
}
