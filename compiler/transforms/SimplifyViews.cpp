#include "compiler/transforms/SimplifyPatterns.h"

#include "compiler/dialect/Ait.h"
#include "compiler/dialect/KernelAttributes.h"
#include "compiler/dialect/ReshapedSizes.h"
#include "compiler/dialect/SizeBounds.h"
#include "compiler/transforms/PrimitiveBuilder.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace mlir::ait;

namespace {
RankedTensorType getType(Value value) {
  return cast<RankedTensorType>(value.getType());
}

/// A copy of the pointwise `op` with other operands and the sizes they have.
Value clonePointwise(PatternRewriter &rewriter, Operation *op,
                     ValueRange operands, ArrayRef<AffineExpr> sizes) {
  Type result =
      getTensorType(sizes, getType(op->getResult(0)).getElementType());
  OperationState state(op->getLoc(), op->getName(), operands, result,
                       op->getAttrs());
  state.propertiesAttr = op->getPropertiesAsAttribute();
  return rewriter.create(state)->getResult(0);
}

/// pointwise(reshape(x), ...) -> reshape(pointwise(x, ...)) if the other
/// operands are reshaped from the same sizes, filled or broadcast. The reshape
/// then meets the next one, or reaches the function's end, where it is free,
/// instead of parting two loops.
struct SinkReshapeBelowPointwise : RewritePattern {
  SinkReshapeBelowPointwise(MLIRContext *context)
      : RewritePattern(MatchAnyOpTypeTag(), 1, context) {}

  LogicalResult matchAndRewrite(Operation *op,
                                PatternRewriter &rewriter) const override {
    if (!isPointwise(op))
      return failure();
    ReshapeOp first;
    for (Value operand : op->getOperands())
      if (auto reshape = operand.getDefiningOp<ReshapeOp>();
          reshape && !isReshapedConstant(operand)) {
        first = reshape;
        break;
      }
    if (!first)
      return failure();
    SmallVector<AffineExpr> inner =
        getSymbolicSizes(first.getInput().getType());
    for (Value operand : op->getOperands())
      if (!canReshape(operand, first))
        return failure();
    SmallVector<Value> operands =
        llvm::map_to_vector(op->getOperands(), [&](Value operand) {
          return reshape(rewriter, operand, inner);
        });
    Value result = clonePointwise(rewriter, op, operands, inner);
    rewriter.replaceOpWithNewOp<ReshapeOp>(op, op->getResult(0).getType(),
                                           result);
    return success();
  }

private:
  static bool canReshape(Value operand, ReshapeOp like) {
    if (operand.getDefiningOp<FullOp>() || isReshapedConstant(operand))
      return true;
    if (auto reshape = operand.getDefiningOp<ReshapeOp>())
      return withElementType(reshape.getInput().getType(),
                             like.getType().getElementType()) ==
             withElementType(like.getInput().getType(),
                             like.getType().getElementType());
    auto expand = operand.getDefiningOp<ExpandOp>();
    return expand &&
           reshapeBroadcast(getSymbolicSizes(expand.getInput().getType()),
                            getSymbolicSizes(expand.getType()),
                            getSymbolicSizes(like.getInput().getType()));
  }

  static Value reshape(PatternRewriter &rewriter, Value operand,
                       ArrayRef<AffineExpr> inner) {
    Type elementType = getType(operand).getElementType();
    RankedTensorType target = getTensorType(inner, elementType);
    if (auto full = operand.getDefiningOp<FullOp>())
      return FullOp::create(rewriter, full.getLoc(), target,
                            full.getValueAttr());
    if (auto reshape = operand.getDefiningOp<ReshapeOp>();
        reshape && reshape.getInput().getType() == target)
      return reshape.getInput();
    if (auto expand = operand.getDefiningOp<ExpandOp>()) {
      RankedTensorType source = getTensorType(
          *reshapeBroadcast(getSymbolicSizes(expand.getInput().getType()),
                            getSymbolicSizes(expand.getType()), inner),
          elementType);
      Value input = expand.getInput();
      if (source != input.getType())
        input = ReshapeOp::create(rewriter, expand.getLoc(), source, input);
      return ExpandOp::create(rewriter, expand.getLoc(), target, input);
    }
    return ReshapeOp::create(rewriter, operand.getLoc(), target, operand);
  }
};

/// Reductions of axes that the reshape left alone, put axes of one element
/// beside, or merged of several: these are reduced together.
struct SinkReshapeBelowReduction : RewritePattern {
  SinkReshapeBelowReduction(MLIRContext *context)
      : RewritePattern(MatchAnyOpTypeTag(), 1, context) {}

  LogicalResult matchAndRewrite(Operation *op,
                                PatternRewriter &rewriter) const override {
    if (!isReduction(op))
      return failure();
    auto reshape = op->getOperand(0).getDefiningOp<ReshapeOp>();
    if (!reshape)
      return failure();
    SmallVector<AffineExpr> inner =
        getSymbolicSizes(reshape.getInput().getType());
    SmallVector<AffineExpr> outer = getSymbolicSizes(reshape.getType());
    auto blocks = findReshapeBlocks(inner, outer);
    if (!blocks)
      return failure();
    SmallVector<int64_t> dims;
    for (int64_t dim :
         op->getAttrOfType<DenseI64ArrayAttr>("dims").asArrayRef()) {
      // Axes of one element beside it make no other one of it.
      auto block = llvm::find_if(*blocks, [&](const ReshapeBlock &block) {
        return block.toBegin <= dim && dim < block.toEnd &&
               block.fromEnd > block.fromBegin &&
               llvm::all_of(llvm::seq<int64_t>(block.toBegin, block.toEnd),
                            [&](int64_t axis) {
                              return axis == dim || outer[axis] == 1;
                            });
      });
      if (block == blocks->end())
        return failure();
      for (int64_t axis : llvm::seq<int64_t>(block->fromBegin, block->fromEnd))
        if (!llvm::is_contained(dims, axis))
          dims.push_back(axis);
    }
    // An index is one along one axis.
    if (isa<ArgmaxOp, ArgminOp>(op) && dims.size() != 1)
      return failure();
    Value result = aitune::PrimitiveBuilder(rewriter, op->getLoc())
                       .reduceLike(op, reshape.getInput(), dims,
                                   getType(op->getResult(0)).getElementType());
    rewriter.replaceOpWithNewOp<ReshapeOp>(op, op->getResult(0).getType(),
                                           result);
    return success();
  }
};

/// Whether `type` has elements wherever one of the smaller `sizes`, to which
/// it is broadcast, has.
bool hasElementsOf(ArrayRef<AffineExpr> sizes, RankedTensorType type,
                   ArrayAttr symbols) {
  return llvm::all_of(
      llvm::zip_equal(sizes, getSymbolicSizes(type)), [&](auto pair) {
        auto [size, broadcast] = pair;
        if (size == broadcast)
          return true;
        std::optional<SizeBounds> bounds = getSizeBounds(broadcast, symbols);
        return bounds && bounds->low > 0;
      });
}

/// pointwise(expand(x), full, ...) -> expand(pointwise(x, ...)) at the
/// smallest sizes that hold all operands: fewer elements to compute, and
/// attention can broadcast the mask itself. A check stays where it may have no
/// elements to look at.
struct SinkExpandBelowPointwise : RewritePattern {
  SinkExpandBelowPointwise(MLIRContext *context)
      : RewritePattern(MatchAnyOpTypeTag(), 1, context) {}

  LogicalResult matchAndRewrite(Operation *op,
                                PatternRewriter &rewriter) const override {
    if (!isPointwise(op))
      return failure();
    RankedTensorType outer = getType(op->getResult(0));
    AffineExpr one = rewriter.getAffineConstantExpr(1);
    SmallVector<AffineExpr> sizes(outer.getRank(), one);
    bool anyExpand = false;
    for (Value operand : op->getOperands()) {
      if (operand.getDefiningOp<FullOp>())
        continue;
      auto expand = operand.getDefiningOp<ExpandOp>();
      if (!expand)
        return failure();
      anyExpand = true;
      SmallVector<AffineExpr> source =
          getSymbolicSizes(expand.getInput().getType());
      size_t missing = sizes.size() - source.size();
      for (auto [axis, size] : llvm::enumerate(source))
        if (size != 1)
          sizes[axis + missing] = size;
    }
    if (!anyExpand)
      return failure();
    RankedTensorType inner = getTensorType(sizes, outer.getElementType());
    if (haveSameSizes(inner, outer))
      return failure();
    if (isa<CheckOp>(op) &&
        !hasElementsOf(sizes, outer,
                       getModuleSymbols(op->getParentOfType<ModuleOp>())))
      return failure();
    SmallVector<Value> operands =
        llvm::map_to_vector(op->getOperands(), [&](Value operand) -> Value {
          RankedTensorType target =
              getTensorType(sizes, getType(operand).getElementType());
          if (auto full = operand.getDefiningOp<FullOp>())
            return FullOp::create(rewriter, full.getLoc(), target,
                                  full.getValueAttr());
          Value source = operand.getDefiningOp<ExpandOp>().getInput();
          if (source.getType() == target)
            return source;
          return ExpandOp::create(rewriter, op->getLoc(), target, source);
        });
    Value result = clonePointwise(rewriter, op, operands, sizes);
    rewriter.replaceOpWithNewOp<ExpandOp>(op, outer, result);
    return success();
  }
};

/// reshape(slice(x)) -> slice(reshape(x)) if the slice is of one axis which the
/// reshape splits at a multiple of the slice, or moves among axes of size 1:
/// the parts of a fused query-key-value projection become slices of heads,
/// which attention reads in place, of one token too.
struct SinkSliceBelowReshape : OpRewritePattern<ReshapeOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(ReshapeOp op,
                                PatternRewriter &rewriter) const override {
    auto slice = op.getInput().getDefiningOp<SliceOp>();
    if (!slice)
      return failure();
    RankedTensorType whole = slice.getInput().getType();
    RankedTensorType part = slice.getType();
    std::optional<unsigned> axis = findSlicedAxis(slice);
    if (!axis || whole.isDynamicDim(*axis) || part.isDynamicDim(*axis))
      return failure();
    auto sizes = getSymbolicSizes(op.getType()),
         partSizes = getSymbolicSizes(part);
    auto blocks = findReshapeBlocks(partSizes, sizes);
    if (!blocks)
      return failure();
    auto block = llvm::find_if(*blocks, [&](const ReshapeBlock &block) {
      const bool isSame = block.fromEnd == block.fromBegin + 1 &&
                          block.toEnd == block.toBegin + 1;
      return block.fromBegin <= *axis && *axis < block.fromEnd && !isSame &&
             block.toBegin < block.toEnd &&
             llvm::all_of(
                 llvm::seq(block.fromBegin, block.fromEnd),
                 [&](unsigned other) {
                   return other == *axis || partSizes[other] == 1;
                 });
    });
    if (block == blocks->end())
      return failure();
    // The first axis of size > 1 takes the slice.
    unsigned target = block->toBegin;
    while (target + 1 < block->toEnd && sizes[target] == 1)
      ++target;
    int64_t partSize = part.getDimSize(*axis);
    int64_t outerSize = op.getType().getDimSize(target);
    if (ShapedType::isDynamic(outerSize) || outerSize == 0 ||
        partSize % outerSize)
      return failure();
    int64_t unit = partSize / outerSize;
    int64_t start = slice.getStarts()[*axis];
    if (unit == 0 || start % unit || whole.getDimSize(*axis) % unit)
      return failure();
    SmallVector<AffineExpr> reshaped(sizes);
    reshaped[target] =
        rewriter.getAffineConstantExpr(whole.getDimSize(*axis) / unit);
    SmallVector<int64_t> starts(sizes.size(), 0), steps(sizes.size(), 1);
    starts[target] = start / unit;
    Value input = ReshapeOp::create(
        rewriter, op.getLoc(), getTensorType(reshaped, whole.getElementType()),
        slice.getInput());
    rewriter.replaceOpWithNewOp<SliceOp>(op, op.getType(), input, starts,
                                         steps);
    return success();
  }

private:
  /// The only axis on which `slice` does not take all, if its step is 1.
  static std::optional<unsigned> findSlicedAxis(SliceOp slice) {
    auto whole = getSymbolicSizes(slice.getInput().getType());
    auto part = getSymbolicSizes(slice.getType());
    std::optional<unsigned> sliced;
    for (unsigned axis = 0; axis < whole.size(); ++axis) {
      if (slice.getSteps()[axis] != 1)
        return std::nullopt;
      if (slice.getStarts()[axis] == 0 &&
          canonicalizeSize(whole[axis]) == canonicalizeSize(part[axis]))
        continue;
      if (sliced)
        return std::nullopt;
      sliced = axis;
    }
    return sliced;
  }
};

/// reshape(permute(x)) -> permute(reshape(x)) if every axis that the reshape
/// splits or merges was next to its partners before the permute: flattening the
/// positions of a channels-last image is free, whatever order the model names
/// its axes in.
struct SinkPermuteBelowReshape : OpRewritePattern<ReshapeOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(ReshapeOp op,
                                PatternRewriter &rewriter) const override {
    auto permute = op.getInput().getDefiningOp<PermuteOp>();
    if (!permute)
      return failure();
    SmallVector<AffineExpr> sizes = getSymbolicSizes(op.getType());
    auto blocks = findReshapeBlocks(getSymbolicSizes(permute.getType()), sizes);
    if (!blocks)
      return failure();
    ArrayRef<int64_t> permutation = permute.getPermutation();
    for (const ReshapeBlock &block : *blocks) {
      if (block.fromBegin == block.fromEnd)
        return failure();
      for (unsigned axis = block.fromBegin + 1; axis < block.fromEnd; ++axis)
        if (permutation[axis] != permutation[axis - 1] + 1)
          return failure();
    }
    // The blocks in the order of the permute's input.
    SmallVector<unsigned> order =
        llvm::to_vector(llvm::seq<unsigned>(blocks->size()));
    llvm::sort(order, [&](unsigned lhs, unsigned rhs) {
      return permutation[(*blocks)[lhs].fromBegin] <
             permutation[(*blocks)[rhs].fromBegin];
    });
    SmallVector<AffineExpr> reshaped;
    SmallVector<int64_t> result(sizes.size());
    for (unsigned index : order)
      for (unsigned axis = (*blocks)[index].toBegin;
           axis < (*blocks)[index].toEnd; ++axis) {
        result[axis] = reshaped.size();
        reshaped.push_back(sizes[axis]);
      }
    Value input = ReshapeOp::create(
        rewriter, op.getLoc(),
        getTensorType(reshaped, op.getType().getElementType()),
        permute.getInput());
    rewriter.replaceOpWithNewOp<PermuteOp>(op, op.getType(), input, result);
    return success();
  }
};

/// A slice of a concatenation that is exactly one of the parts.
struct SliceOfConcat : OpRewritePattern<SliceOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(SliceOp op,
                                PatternRewriter &rewriter) const override {
    auto concat = op.getInput().getDefiningOp<ConcatOp>();
    if (!concat)
      return failure();
    unsigned dim = concat.getDim();
    for (unsigned axis = 0; axis < op.getStarts().size(); ++axis)
      if (op.getSteps()[axis] != 1 ||
          (axis != dim && op.getStarts()[axis] != 0))
        return failure();
    AffineExpr offset = rewriter.getAffineConstantExpr(0);
    AffineExpr start = rewriter.getAffineConstantExpr(op.getStarts()[dim]);
    for (Value part : concat.getInputs()) {
      if (canonicalizeSize(offset) == start && part.getType() == op.getType()) {
        rewriter.replaceOp(op, part);
        return success();
      }
      offset = offset + getSymbolicSizes(getType(part))[dim];
    }
    return failure();
  }
};
} // namespace

void aitune::populatePermutePatterns(RewritePatternSet &patterns) {
  patterns.add<SinkPermuteBelowReshape>(patterns.getContext());
}

void aitune::populateViewPatterns(RewritePatternSet &patterns) {
  populatePermutePatterns(patterns);
  patterns.add<SinkReshapeBelowPointwise, SinkReshapeBelowReduction,
               SinkExpandBelowPointwise, SinkSliceBelowReshape, SliceOfConcat>(
      patterns.getContext());
}
