// Channels-last layout for convolutions and what stands between them.
#include "compiler/transforms/Passes.h"

#include "compiler/dialect/Ait.h"
#include "compiler/transforms/LayoutNeighbours.h"
#include "compiler/transforms/SimplifyPatterns.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallPtrSet.h"
#include "llvm/ADT/TypeSwitch.h"

namespace aitune {
#define GEN_PASS_DEF_LAYOUT
#include "compiler/transforms/Passes.h.inc"
} // namespace aitune

using namespace mlir;
using namespace mlir::ait;

namespace {
/// Of images (rank 4) or volumes (rank 5): axis i of the target is axis
/// permutation[i] of the source.
ArrayRef<int64_t> permutationToLast(int64_t rank) {
  static constexpr int64_t kOfImages[] = {0, 2, 3, 1},
                           kOfVolumes[] = {0, 2, 3, 4, 1};
  return rank == 4 ? ArrayRef<int64_t>(kOfImages)
                   : ArrayRef<int64_t>(kOfVolumes);
}

/// Operations that keep their layout.
using KeptSet = llvm::SmallPtrSet<Operation *, 8>;

Value permute(OpBuilder &builder, Location location, Value input,
              ArrayRef<int64_t> permutation) {
  auto type = cast<RankedTensorType>(input.getType());
  SmallVector<AffineExpr> sizes = getSymbolicSizes(type);
  SmallVector<AffineExpr> permuted = llvm::map_to_vector(
      permutation, [&](int64_t axis) { return sizes[axis]; });
  return PermuteOp::create(builder, location,
                           getTensorType(permuted, type.getElementType()),
                           input, permutation);
}

/// Axis i of the result is axis `order[i]` of `type`.
RankedTensorType toOrder(Type type, ArrayRef<int64_t> order) {
  auto tensor = cast<RankedTensorType>(type);
  SmallVector<AffineExpr> sizes = getSymbolicSizes(tensor);
  return getTensorType(
      llvm::map_to_vector(order, [&](int64_t axis) { return sizes[axis]; }),
      tensor.getElementType());
}

SmallVector<int64_t> invert(ArrayRef<int64_t> order) {
  SmallVector<int64_t> inverse(order.size());
  for (auto [axis, source] : llvm::enumerate(order))
    inverse[source] = axis;
  return inverse;
}

/// The value whose permute back from `order` is `value`; null if it is none.
Value matchPermuted(Value value, ArrayRef<int64_t> order) {
  auto op = value.getDefiningOp<PermuteOp>();
  return op && op.getPermutation() == ArrayRef<int64_t>(invert(order))
             ? op.getInput()
             : Value();
}

/// `value` in this order of axes, without a permute where what makes it can be
/// made in that order.
Value toOrder(OpBuilder &builder, Location location, Value value,
              ArrayRef<int64_t> order) {
  if (Value source = matchPermuted(value, order))
    return source;
  if (auto full = value.getDefiningOp<FullOp>())
    return FullOp::create(builder, location, toOrder(full.getType(), order),
                          full.getValue());
  if (auto expand = value.getDefiningOp<ExpandOp>()) {
    auto type = cast<RankedTensorType>(expand.getInput().getType());
    const int64_t rank = expand.getType().getRank();
    SmallVector<AffineExpr> sizes(rank - type.getRank(),
                                  getAffineConstantExpr(1, type.getContext()));
    llvm::append_range(sizes, getSymbolicSizes(type));
    Value source = expand.getInput();
    if (type.getRank() != rank)
      source = ReshapeOp::create(builder, location,
                                 getTensorType(sizes, type.getElementType()),
                                 source);
    source = toOrder(builder, location, source, order);
    return ExpandOp::create(builder, location, toOrder(expand.getType(), order),
                            source);
  }
  return permute(builder, location, value, order);
}

/// A copy of `op` on operands in this order, followed by the permute back.
void replaceInOrder(PatternRewriter &rewriter, Operation *op,
                    ArrayRef<Value> operands,
                    ArrayRef<NamedAttribute> attributes,
                    ArrayRef<int64_t> order) {
  OperationState state(op->getLoc(), op->getName());
  state.addOperands(operands);
  state.addTypes(toOrder(op->getResult(0).getType(), order));
  state.addAttributes(attributes);
  Operation *copy = rewriter.create(state);
  rewriter.replaceOp(
      op, permute(rewriter, op->getLoc(), copy->getResult(0), invert(order)));
}

/// Whether a kernel reads the planes of the convolution's input as they are.
bool isOfPlanes(ConvolutionOp op) {
  auto filter = cast<RankedTensorType>(op.getFilter().getType());
  Value constant = op.getFilter();
  while (auto reshape = constant.getDefiningOp<ReshapeOp>())
    constant = reshape.getInput();
  return !op.getChannelsLast() && op.getGroups() > 1 && filter.getRank() == 4 &&
         filter.hasStaticShape() &&
         filter.getDimSize(0) == int64_t(op.getGroups()) &&
         filter.getDimSize(1) == 1 && constant.getDefiningOp<ConstantOp>();
}

/// Whether windows of planes are read as fast as those of channels: they don't
/// overlap.
template <typename Pool> bool hasWindowsApart(Pool op) {
  return llvm::all_of(
      llvm::zip_equal(op.getKernelSize(), op.getStride()),
      [](auto axis) { return std::get<0>(axis) <= std::get<1>(axis); });
}

/// Whether `op`, which chooses the layout, is as fast in that of planes.
bool isAsFastInPlanes(Operation *op, bool depthwisePlanes) {
  return llvm::TypeSwitch<Operation *, bool>(op)
      .Case([&](ConvolutionOp convolution) {
        return depthwisePlanes && isOfPlanes(convolution);
      })
      .Case<MaxPool2dOp, AvgPool2dOp>(
          [](auto pool) { return hasWindowsApart(pool); })
      .Case([](UpsampleNearest2dOp) { return true; })
      .Default(false);
}

/// Gives an operation that chooses the layout channels-last axes, unless it is
/// one of `kept`.
template <typename Op> struct WindowToChannelsLast : OpRewritePattern<Op> {
  WindowToChannelsLast(MLIRContext *context, const KeptSet &kept)
      : OpRewritePattern<Op>(context), kept(kept) {}
  LogicalResult matchAndRewrite(Op op,
                                PatternRewriter &rewriter) const override {
    if (op.getChannelsLast() || kept.contains(op))
      return failure();
    SmallVector<Value> operands = llvm::to_vector(op->getOperands());
    ArrayRef<int64_t> order = permutationToLast(
        cast<RankedTensorType>(operands[0].getType()).getRank());
    operands[0] = toOrder(rewriter, op.getLoc(), operands[0], order);
    NamedAttrList attributes(op->getAttrs());
    attributes.set("channels_last", rewriter.getUnitAttr());
    replaceInOrder(rewriter, op, operands, attributes, order);
    return success();
  }

  const KeptSet &kept;
};

/// Pointwise operations, reductions and data movement with an operand that was
/// just brought to channels-first order, or whose operands were all permuted in
/// another way so that other elements are neighbours: the permute moves below
/// them.
struct SinkPermute : RewritePattern {
  explicit SinkPermute(MLIRContext *context)
      : RewritePattern(MatchAnyOpTypeTag(), /*benefit=*/1, context) {}

  LogicalResult matchAndRewrite(Operation *op,
                                PatternRewriter &rewriter) const override {
    const bool computes =
        isPointwise(op) || isa<ConcatOp>(op) || isReduction(op);
    if (!computes && !isa<PadOp, SliceOp>(op))
      return failure();
    SmallVector<int64_t> order(findChannelsLast(op));
    if (order.empty() && computes)
      order = findCommonOrder(op);
    if (order.empty())
      return failure();
    NamedAttrList attributes(op->getAttrs());
    permuteAttributes(op, attributes, rewriter, order);
    SmallVector<Value> operands =
        llvm::map_to_vector(op->getOperands(), [&](Value operand) {
          return toOrder(rewriter, op->getLoc(), operand, order);
        });
    replaceInOrder(rewriter, op, operands, attributes, order);
    return success();
  }

private:
  /// The channels-last order if an operand was permuted back from it; empty if
  /// none was.
  static ArrayRef<int64_t> findChannelsLast(Operation *op) {
    for (Value operand : op->getOperands()) {
      const int64_t rank = cast<RankedTensorType>(operand.getType()).getRank();
      if (rank == 4 || rank == 5)
        if (matchPermuted(operand, permutationToLast(rank)))
          return permutationToLast(rank);
    }
    return {};
  }

  /// The order from which all operands were permuted back, but those that are
  /// broadcast; empty if there is none, or if neighbours are the same in it.
  static SmallVector<int64_t> findCommonOrder(Operation *op) {
    SmallVector<int64_t> order;
    for (Value operand : op->getOperands())
      if (auto permute = operand.getDefiningOp<PermuteOp>()) {
        order = invert(permute.getPermutation());
        break;
      }
    if (order.empty() || order.back() == int64_t(order.size()) - 1 ||
        llvm::any_of(op->getOperands(), [&](Value operand) {
          return !matchPermuted(operand, order) &&
                 !operand.getDefiningOp<FullOp>() &&
                 !operand.getDefiningOp<ExpandOp>();
        }))
      return {};
    return order;
  }

  static void permuteAttributes(Operation *op, NamedAttrList &attributes,
                                Builder &builder, ArrayRef<int64_t> order) {
    const SmallVector<int64_t> places = invert(order);
    auto set = [&](StringRef name, ArrayRef<int64_t> numbers) {
      attributes.set(name, builder.getDenseI64ArrayAttr(numbers));
    };
    auto permuteNumbers = [&](ArrayRef<int64_t> numbers) {
      return llvm::map_to_vector(order,
                                 [&](int64_t axis) { return numbers[axis]; });
    };
    if (auto concat = dyn_cast<ConcatOp>(op)) {
      attributes.set("dim", builder.getI64IntegerAttr(places[concat.getDim()]));
    } else if (auto pad = dyn_cast<PadOp>(op)) {
      set("low", permuteNumbers(pad.getLow()));
      set("high", permuteNumbers(pad.getHigh()));
    } else if (auto slice = dyn_cast<SliceOp>(op)) {
      set("starts", permuteNumbers(slice.getStarts()));
      set("steps", permuteNumbers(slice.getSteps()));
    } else if (isReduction(op)) {
      auto dims = op->getAttrOfType<DenseI64ArrayAttr>("dims");
      SmallVector<int64_t> permuted = llvm::map_to_vector(
          dims.asArrayRef(), [&](int64_t axis) { return places[axis]; });
      llvm::sort(permuted);
      set("dims", permuted);
    }
  }
};

/// to-channels-last of to-channels-first and the like.
struct CancelPermutes : OpRewritePattern<PermuteOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(PermuteOp op,
                                PatternRewriter &rewriter) const override {
    auto previous = op.getInput().getDefiningOp<PermuteOp>();
    if (!previous)
      return failure();
    for (auto [axis, source] : llvm::enumerate(op.getPermutation()))
      if (previous.getPermutation()[source] != static_cast<int64_t>(axis))
        return failure();
    rewriter.replaceOp(op, previous.getInput());
    return success();
  }
};

class LayoutPass : public aitune::impl::LayoutBase<LayoutPass> {
public:
  using LayoutBase::LayoutBase;

  void runOnOperation() override {
    KeptSet kept;
    // Convolutions, or pools and upsamples, among their own kind.
    getOperation().walk([&](Operation *op) {
      const auto agrees = [&](Operation *other) {
        return isa<ConvolutionOp>(other) == isa<ConvolutionOp>(op) &&
               isAsFastInPlanes(other, depthwisePlanes);
      };
      if (aitune::choosesLayout(op) && aitune::standsAlone(op, agrees))
        kept.insert(op);
    });
    RewritePatternSet patterns(&getContext());
    patterns.add<WindowToChannelsLast<ConvolutionOp>,
                 WindowToChannelsLast<MaxPool2dOp>,
                 WindowToChannelsLast<AvgPool2dOp>,
                 WindowToChannelsLast<UpsampleNearest2dOp>,
                 WindowToChannelsLast<UpsampleBilinear2dOp>>(&getContext(),
                                                             kept);
    patterns.add<SinkPermute, CancelPermutes>(&getContext());
    aitune::populatePermutePatterns(patterns);
    if (failed(applyPatternsGreedily(getOperation(), std::move(patterns))))
      signalPassFailure();
  }
};
} // namespace
