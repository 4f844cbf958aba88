#include "compiler/transforms/SimplifyPatterns.h"

#include "compiler/dialect/Ait.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace mlir::ait;

namespace {
/// matmul(reshape(x), w) -> reshape(matmul(x, w)) for a shared w if the reshape
/// keeps the contracted axis: the rows need not be one axis for the kernel, and
/// the reshape after it usually undoes this one.
struct SinkReshapeBelowMatmul : OpRewritePattern<MatmulOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(MatmulOp op,
                                PatternRewriter &rewriter) const override {
    auto reshape = op.getLhs().getDefiningOp<ReshapeOp>();
    if (!reshape || op.getRhs().getType().getRank() != 2 ||
        op.getTransposeLhs())
      return failure();
    RankedTensorType inner = reshape.getInput().getType();
    if (inner.getRank() < 2)
      return failure();
    SmallVector<AffineExpr> sizes = getSymbolicSizes(inner);
    if (canonicalizeSize(sizes.back()) !=
        canonicalizeSize(getSymbolicSizes(reshape.getType()).back()))
      return failure();
    sizes.back() = getSymbolicSizes(op.getType()).back();
    RankedTensorType type = getTensorType(sizes, op.getType().getElementType());
    // A sum over no elements has rows that a reshape may change the number of.
    if (getElementCount(type) != getElementCount(op.getType()))
      return failure();
    Value result =
        MatmulOp::create(rewriter, op.getLoc(), type, reshape.getInput(),
                         op.getRhs(), false, op.getTransposeRhs());
    rewriter.replaceOpWithNewOp<ReshapeOp>(op, op.getType(), result);
    return success();
  }
};

/// A right-hand side that is the same for the whole batch needs no batch axes.
struct ShareRhs : OpRewritePattern<MatmulOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(MatmulOp op,
                                PatternRewriter &rewriter) const override {
    RankedTensorType type = op.getRhs().getType();
    if (type.getRank() == 2 || op.getTransposeLhs())
      return failure();
    Value source = op.getRhs();
    if (auto expand = source.getDefiningOp<ExpandOp>())
      source = expand.getInput();
    auto sourceType = cast<RankedTensorType>(source.getType());
    SmallVector<AffineExpr> sizes = getSymbolicSizes(sourceType);
    SmallVector<AffineExpr> matrix(
        ArrayRef<AffineExpr>(getSymbolicSizes(type)).take_back(2));
    // One matrix, and not another number of rows or columns that the expand
    // repeats: then the axes before it have size 1.
    for (size_t fromEnd : {1, 2}) {
      AffineExpr size = sizes.size() >= fromEnd
                            ? sizes[sizes.size() - fromEnd]
                            : getAffineConstantExpr(1, op.getContext());
      if (canonicalizeSize(size) != canonicalizeSize(matrix[2 - fromEnd]))
        return failure();
    }
    if (getElementCount(sourceType) != canonicalizeSize(matrix[0] * matrix[1]))
      return failure();
    RankedTensorType shared = getTensorType(matrix, type.getElementType());
    if (shared != sourceType)
      source = ReshapeOp::create(rewriter, op.getLoc(), shared, source);
    rewriter.replaceOpWithNewOp<MatmulOp>(op, op.getType(), op.getLhs(), source,
                                          op.getTransposeLhs(),
                                          op.getTransposeRhs());
    return success();
  }
};

/// A permute that moves the input's last axis to the last but one is a
/// transposition after one that does not: kernels then read rows in order.
struct SplitTransposition : OpRewritePattern<MatmulOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(MatmulOp op,
                                PatternRewriter &rewriter) const override {
    // Rows of what is multiplied with codes are read whole.
    bool hasCodes = op.getRhs().getType().getElementTypeBitWidth() == 8;
    Value lhs = hasCodes ? Value() : split(rewriter, op.getLhs());
    Value rhs = split(rewriter, op.getRhs());
    if (!lhs && !rhs)
      return failure();
    rewriter.replaceOpWithNewOp<MatmulOp>(
        op, op.getType(), lhs ? lhs : op.getLhs(), rhs ? rhs : op.getRhs(),
        op.getTransposeLhs() != static_cast<bool>(lhs),
        op.getTransposeRhs() != static_cast<bool>(rhs));
    return success();
  }

private:
  /// The operand with its last two axes exchanged, if that is the better
  /// order; else null.
  static Value split(PatternRewriter &rewriter, Value operand) {
    auto permute = operand.getDefiningOp<PermuteOp>();
    if (!permute)
      return {};
    SmallVector<int64_t> permutation(permute.getPermutation());
    int64_t rank = permutation.size();
    if (rank < 3 || permutation[rank - 2] != rank - 1)
      return {};
    std::swap(permutation[rank - 2], permutation[rank - 1]);
    SmallVector<AffineExpr> sizes = getSymbolicSizes(permute.getType());
    std::swap(sizes[rank - 2], sizes[rank - 1]);
    return PermuteOp::create(
        rewriter, permute.getLoc(),
        getTensorType(sizes, permute.getType().getElementType()),
        permute.getInput(), permutation);
  }
};

/// The most results of a product of a row or a column that are sums of their
/// own, and the greatest depth of such sums, where threads share a sum.
constexpr int64_t kMostSums = 8, kMostSummands = 32768;
/// The least depth at which a vector of its products pays for any number of
/// results, where one thread computes a sum.
constexpr int64_t kLeastSummands = 64;

/// A product of a row with few rows, or of few rows with a column, is a sum for
/// each of them: kernels of tiles have nothing to keep, and loops are vectors
/// along the depth. (On a CPU with AVX-512, of a depth of 5000: 2 us in place
/// of 6.) Where one thread computes a sum, the same holds for many, as long as
/// no constant could be packed: 1000 rows of 1000 take 39 us in place of 152.
struct FewResultsToSums : OpRewritePattern<MatmulOp> {
  FewResultsToSums(MLIRContext *context, bool threadsShareSums)
      : OpRewritePattern(context), threadsShareSums(threadsShareSums) {}

  bool threadsShareSums;

  /// Whether the results, as many as `count` says if that is known, may be sums
  /// of so many summands.
  bool areSums(std::optional<int64_t> count, int64_t summands,
               bool mayBeMany) const {
    if (count && *count <= kMostSums)
      return *count > 0 && summands > 0 &&
             (summands <= kMostSummands || !threadsShareSums);
    return mayBeMany && summands >= kLeastSummands && !threadsShareSums;
  }

  LogicalResult matchAndRewrite(MatmulOp op,
                                PatternRewriter &rewriter) const override {
    const RankedTensorType type = op.getType(), lhsType = op.getLhs().getType(),
                           rhsType = op.getRhs().getType();
    const Type element = type.getElementType();
    if (!isa<FloatType>(element) || lhsType.getElementType() != element ||
        rhsType.getElementType() != element ||
        (element.isF64() && threadsShareSums))
      return failure();
    SmallVector<AffineExpr> sizes = getSymbolicSizes(type);
    const AffineExpr
        depth = getSymbolicSizes(
            lhsType)[lhsType.getRank() - (op.getTransposeLhs() ? 2 : 1)],
        rows = sizes[sizes.size() - 2], columns = sizes.back();
    auto summands = dyn_cast<AffineConstantExpr>(depth);
    if (!summands)
      return failure();
    const bool isColumn = columns == 1 && (rows == 1 || !op.getTransposeLhs());
    if (!isColumn && (rows != 1 || !op.getTransposeRhs()))
      return failure();
    const AffineExpr results = isColumn ? rows : columns;
    std::optional<int64_t> count;
    if (auto constant = dyn_cast<AffineConstantExpr>(results))
      count = constant.getValue();
    if (!areSums(count, summands.getValue(),
                 isColumn || !op.getRhs().getDefiningOp<ConstantOp>()))
      return failure();
    // [..., m, 1] of [..., m, k], or [..., n, 1] of [..., n, k].
    SmallVector<AffineExpr> all(sizes);
    all[all.size() - 2] = results;
    all.back() = depth;
    const Type wide = element.isF64() ? element : Type(rewriter.getF32Type());
    const RankedTensorType products = getTensorType(all, wide);
    auto spread = [&](Value operand, AffineExpr operandRows) {
      const RankedTensorType own = cast<RankedTensorType>(operand.getType());
      SmallVector<AffineExpr> shape = getSymbolicSizes(own);
      shape[shape.size() - 2] = operandRows;
      shape.back() = depth;
      if (const RankedTensorType rowsOfDepth =
              getTensorType(shape, own.getElementType());
          rowsOfDepth != own)
        operand =
            ReshapeOp::create(rewriter, op.getLoc(), rowsOfDepth, operand);
      if (element != wide)
        operand = ConvertOp::create(rewriter, op.getLoc(),
                                    getTensorType(shape, wide), operand);
      if (operand.getType() != products)
        operand = ExpandOp::create(rewriter, op.getLoc(), products, operand);
      return operand;
    };
    const Value lhs = spread(op.getLhs(), rows),
                rhs = spread(op.getRhs(), columns);
    const Value product = MulOp::create(rewriter, op.getLoc(), lhs, rhs);
    all.back() = getAffineConstantExpr(1, op.getContext());
    Value sum = SumOp::create(rewriter, op.getLoc(), getTensorType(all, wide),
                              product, {static_cast<int64_t>(all.size()) - 1});
    if (element != wide)
      sum = ConvertOp::create(rewriter, op.getLoc(),
                              getTensorType(all, element), sum);
    if (sum.getType() != type)
      sum = ReshapeOp::create(rewriter, op.getLoc(), type, sum);
    rewriter.replaceOp(op, sum);
    return success();
  }
};

/// A contraction broadcasts what it reads element by element, such as a mask,
/// itself.
struct ReadThroughExpand : OpInterfaceRewritePattern<Contraction> {
  using OpInterfaceRewritePattern::OpInterfaceRewritePattern;

  LogicalResult matchAndRewrite(Contraction op,
                                PatternRewriter &rewriter) const override {
    for (OpOperand &operand : op->getOpOperands()) {
      auto expand = operand.get().getDefiningOp<ExpandOp>();
      if (!expand || op.getOperandRead(operand) != OperandRead::Elementwise)
        continue;
      rewriter.modifyOpInPlace(op, [&] { operand.set(expand.getInput()); });
      return success();
    }
    return failure();
  }
};
} // namespace

void aitune::populateContractionPatterns(RewritePatternSet &patterns,
                                         bool threadsShareSums) {
  patterns.add<SinkReshapeBelowMatmul, ShareRhs, SplitTransposition,
               ReadThroughExpand>(patterns.getContext());
  patterns.add<FewResultsToSums>(patterns.getContext(), threadsShareSums);
}
