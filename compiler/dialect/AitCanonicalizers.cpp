// Canonicalisation of views: chains become one operation, and of two ways to
// say the same the cheaper one is kept (a reshape is free, a permute is not).
#include "compiler/dialect/Ait.h"

#include "mlir/IR/PatternMatch.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace mlir::ait;

namespace {
/// A view of a splat is a splat.
template <typename ViewOp> struct ViewOfFull : OpRewritePattern<ViewOp> {
  using OpRewritePattern<ViewOp>::OpRewritePattern;
  LogicalResult matchAndRewrite(ViewOp op,
                                PatternRewriter &rewriter) const override {
    auto full = op.getInput().template getDefiningOp<FullOp>();
    if (!full)
      return failure();
    rewriter.replaceOpWithNewOp<FullOp>(op, op.getType(), full.getValueAttr());
    return success();
  }
};

struct ReshapeOfReshape : OpRewritePattern<ReshapeOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(ReshapeOp op,
                                PatternRewriter &rewriter) const override {
    auto previous = op.getInput().getDefiningOp<ReshapeOp>();
    if (!previous)
      return failure();
    rewriter.replaceOpWithNewOp<ReshapeOp>(op, op.getType(),
                                           previous.getInput());
    return success();
  }
};

struct PermuteOfPermute : OpRewritePattern<PermuteOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(PermuteOp op,
                                PatternRewriter &rewriter) const override {
    auto previous = op.getInput().getDefiningOp<PermuteOp>();
    if (!previous)
      return failure();
    SmallVector<int64_t> permutation =
        llvm::map_to_vector(op.getPermutation(), [&](int64_t axis) {
          return previous.getPermutation()[axis];
        });
    rewriter.replaceOpWithNewOp<PermuteOp>(op, op.getType(),
                                           previous.getInput(), permutation);
    return success();
  }
};

/// Moving axes of size 1 only leaves the elements in their order.
struct PermuteOfUnitAxes : OpRewritePattern<PermuteOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(PermuteOp op,
                                PatternRewriter &rewriter) const override {
    int64_t last = -1;
    for (int64_t axis : op.getPermutation()) {
      if (op.getInput().getType().getDimSize(axis) == 1)
        continue;
      if (axis < last)
        return failure();
      last = axis;
    }
    rewriter.replaceOpWithNewOp<ReshapeOp>(op, op.getType(), op.getInput());
    return success();
  }
};

struct ExpandOfExpand : OpRewritePattern<ExpandOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(ExpandOp op,
                                PatternRewriter &rewriter) const override {
    auto previous = op.getInput().getDefiningOp<ExpandOp>();
    if (!previous)
      return failure();
    rewriter.replaceOpWithNewOp<ExpandOp>(op, op.getType(),
                                          previous.getInput());
    return success();
  }
};

/// Leading axes of size 1 are what ait.expand adds by itself, and they may be
/// there. Without the reshape every broadcast of a bias looks alike, and a
/// reduction and what broadcasts its result meet.
struct ExpandOfLeadingUnitReshape : OpRewritePattern<ExpandOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(ExpandOp op,
                                PatternRewriter &rewriter) const override {
    auto reshape = op.getInput().getDefiningOp<ReshapeOp>();
    if (!reshape)
      return failure();
    RankedTensorType source = reshape.getInput().getType();
    RankedTensorType target = reshape.getType();
    const int64_t rank = op.getType().getRank();
    if (source.getRank() > rank)
      return failure();
    // Both with as many leading axes of size 1 as the expansion has axes.
    auto aligned = [&](RankedTensorType type) {
      SmallVector<AffineExpr> sizes(rank - type.getRank(),
                                    getAffineConstantExpr(1, op.getContext()));
      llvm::append_range(sizes, getSymbolicSizes(type));
      return getTensorType(sizes, type.getElementType());
    };
    if (!haveSameSizes(aligned(source), aligned(target)))
      return failure();
    rewriter.replaceOpWithNewOp<ExpandOp>(op, op.getType(), reshape.getInput());
    return success();
  }
};

/// An expansion that only adds axes of size 1 is a reshape.
struct ExpandToReshape : OpRewritePattern<ExpandOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(ExpandOp op,
                                PatternRewriter &rewriter) const override {
    if (getElementCount(op.getInput().getType()) !=
        getElementCount(op.getType()))
      return failure();
    rewriter.replaceOpWithNewOp<ReshapeOp>(op, op.getType(), op.getInput());
    return success();
  }
};

struct SliceOfSlice : OpRewritePattern<SliceOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(SliceOp op,
                                PatternRewriter &rewriter) const override {
    auto previous = op.getInput().getDefiningOp<SliceOp>();
    if (!previous)
      return failure();
    SmallVector<int64_t> starts, steps;
    for (auto [start, step, previousStart, previousStep] :
         llvm::zip(op.getStarts(), op.getSteps(), previous.getStarts(),
                   previous.getSteps())) {
      int64_t offset;
      if (llvm::MulOverflow(previousStep, start, offset) ||
          llvm::AddOverflow(previousStart, offset, starts.emplace_back()) ||
          llvm::MulOverflow(previousStep, step, steps.emplace_back()))
        return failure();
    }
    rewriter.replaceOpWithNewOp<SliceOp>(op, op.getType(), previous.getInput(),
                                         starts, steps);
    return success();
  }
};

/// A transposed operand is a flag: both kinds of matrices are read in place,
/// but for what is multiplied with codes.
struct MatmulOfPermute : OpRewritePattern<MatmulOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(MatmulOp op,
                                PatternRewriter &rewriter) const override {
    bool transposeLhs = op.getTransposeLhs();
    bool transposeRhs = op.getTransposeRhs();
    bool hasCodes = op.getRhs().getType().getElementTypeBitWidth() == 8;
    Value lhs = hasCodes ? Value(op.getLhs())
                         : skipTranspose(op.getLhs(), transposeLhs);
    Value rhs = skipTranspose(op.getRhs(), transposeRhs);
    if (lhs == op.getLhs() && rhs == op.getRhs())
      return failure();
    rewriter.replaceOpWithNewOp<MatmulOp>(op, op.getType(), lhs, rhs,
                                          transposeLhs, transposeRhs);
    return success();
  }

private:
  static Value skipTranspose(Value operand, bool &transpose) {
    auto permute = operand.getDefiningOp<PermuteOp>();
    if (!permute)
      return operand;
    SmallVector<int64_t> swap =
        llvm::to_vector(llvm::seq<int64_t>(permute.getType().getRank()));
    std::swap(swap[swap.size() - 1], swap[swap.size() - 2]);
    if (permute.getPermutation() != ArrayRef<int64_t>(swap))
      return operand;
    transpose = !transpose;
    return permute.getInput();
  }
};
} // namespace

void ReshapeOp::getCanonicalizationPatterns(RewritePatternSet &patterns,
                                            MLIRContext *context) {
  patterns.add<ViewOfFull<ReshapeOp>, ReshapeOfReshape>(context);
}

void PermuteOp::getCanonicalizationPatterns(RewritePatternSet &patterns,
                                            MLIRContext *context) {
  patterns.add<ViewOfFull<PermuteOp>, PermuteOfPermute, PermuteOfUnitAxes>(
      context);
}

void ExpandOp::getCanonicalizationPatterns(RewritePatternSet &patterns,
                                           MLIRContext *context) {
  patterns.add<ViewOfFull<ExpandOp>, ExpandOfExpand, ExpandOfLeadingUnitReshape,
               ExpandToReshape>(context);
}

void SliceOp::getCanonicalizationPatterns(RewritePatternSet &patterns,
                                          MLIRContext *context) {
  patterns.add<ViewOfFull<SliceOp>, SliceOfSlice>(context);
}

void MatmulOp::getCanonicalizationPatterns(RewritePatternSet &patterns,
                                           MLIRContext *context) {
  patterns.add<MatmulOfPermute>(context);
}
