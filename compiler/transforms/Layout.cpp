// Channels-last layout for convolutions and what stands between them.
#include "compiler/transforms/Passes.h"

#include "compiler/dialect/Ait.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallPtrSet.h"

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
ArrayRef<int64_t> permutationToFirst(int64_t rank) {
  static constexpr int64_t kOfImages[] = {0, 3, 1, 2},
                           kOfVolumes[] = {0, 4, 1, 2, 3};
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

RankedTensorType toChannelsLast(Type type) {
  auto tensor = cast<RankedTensorType>(type);
  SmallVector<AffineExpr> sizes = getSymbolicSizes(tensor);
  return getTensorType(
      llvm::map_to_vector(permutationToLast(tensor.getRank()),
                          [&](int64_t axis) { return sizes[axis]; }),
      tensor.getElementType());
}

/// The channels-last value that `value` is the channels-first permute of.
Value matchChannelsFirst(Value value) {
  auto op = value.getDefiningOp<PermuteOp>();
  const int64_t rank = op ? op.getType().getRank() : 0;
  return (rank == 4 || rank == 5) &&
                 op.getPermutation() == permutationToFirst(rank)
             ? op.getInput()
             : Value();
}

/// `value` (rank 4 or 5, channels first) in channels-last order, without a
/// permute where what makes it can be made in that order.
Value toChannelsLast(OpBuilder &builder, Location location, Value value) {
  if (Value source = matchChannelsFirst(value))
    return source;
  if (auto full = value.getDefiningOp<FullOp>())
    return FullOp::create(builder, location, toChannelsLast(full.getType()),
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
    source = toChannelsLast(builder, location, source);
    return ExpandOp::create(builder, location, toChannelsLast(expand.getType()),
                            source);
  }
  return permute(
      builder, location, value,
      permutationToLast(cast<RankedTensorType>(value.getType()).getRank()));
}

/// A copy of `op` on channels-last operands, followed by the permute back.
void replaceInChannelsLast(PatternRewriter &rewriter, Operation *op,
                           ArrayRef<Value> operands,
                           ArrayRef<NamedAttribute> attributes) {
  OperationState state(op->getLoc(), op->getName());
  state.addOperands(operands);
  state.addTypes(toChannelsLast(op->getResult(0).getType()));
  state.addAttributes(attributes);
  Operation *copy = rewriter.create(state);
  Value result = copy->getResult(0);
  rewriter.replaceOp(
      op, permute(rewriter, op->getLoc(), result,
                  permutationToFirst(
                      cast<RankedTensorType>(result.getType()).getRank())));
}

SmallVector<int64_t> permuteNumbers(ArrayRef<int64_t> numbers) {
  return llvm::map_to_vector(permutationToLast(numbers.size()),
                             [&](int64_t axis) { return numbers[axis]; });
}

/// Where axis `axis` of a channels-first tensor of this rank is in
/// channels-last order.
int64_t channelsLastAxis(int64_t axis, int64_t rank) {
  ArrayRef<int64_t> permutation = permutationToLast(rank);
  return llvm::find(permutation, axis) - permutation.begin();
}

/// Convolutions, pools and upsamples: the operations that choose the layout.
bool choosesLayout(Operation *op) {
  return isa<ConvolutionOp, MaxPool2dOp, AvgPool2dOp, UpsampleNearest2dOp,
             UpsampleBilinear2dOp>(op);
}

/// Whether a kernel reads the planes of the convolution's input as they are.
bool isOfPlanes(ConvolutionOp op) {
  auto filter = cast<RankedTensorType>(op.getFilter().getType());
  Value constant = op.getFilter();
  while (auto reshape = constant.getDefiningOp<ReshapeOp>())
    constant = reshape.getInput();
  return !op.getChannelsLast() && !op.getTransposed() && op.getGroups() > 1 &&
         filter.getRank() == 4 && filter.hasStaticShape() &&
         filter.getDimSize(0) == int64_t(op.getGroups()) &&
         filter.getDimSize(1) == 1 && constant.getDefiningOp<ConstantOp>();
}

/// Whether data of `op` is not in the order of its operands' and results' axes,
/// or is no tensor of activations: the layout beyond it is another matter.
bool endsLayout(Operation *op) {
  return isa<ConstantOp, FullOp, IotaOp, SymbolOp, FallbackOp>(op) ||
         isa<Contraction>(op) || op->hasTrait<OpTrait::IsTerminator>();
}

/// Whether no operation that chooses a layout, but other convolutions of
/// planes, and no permute is connected with `start`.
bool standsAlone(ConvolutionOp start) {
  SmallVector<Operation *> open{start};
  llvm::SmallPtrSet<Operation *, 32> seen{start};
  while (!open.empty()) {
    Operation *op = open.pop_back_val();
    auto convolution = dyn_cast<ConvolutionOp>(op);
    if (convolution ? !isOfPlanes(convolution)
                    : choosesLayout(op) || isa<PermuteOp>(op))
      return false;
    if (!convolution && endsLayout(op))
      continue;
    const auto visit = [&](Operation *next) {
      if (next && seen.insert(next).second)
        open.push_back(next);
    };
    for (Value operand : op->getOperands())
      if (!convolution || operand == convolution.getInput())
        visit(operand.getDefiningOp());
    for (Operation *user : op->getUsers())
      visit(user);
  }
  return true;
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
    operands[0] = toChannelsLast(rewriter, op.getLoc(), operands[0]);
    NamedAttrList attributes(op->getAttrs());
    attributes.set("channels_last", rewriter.getUnitAttr());
    replaceInChannelsLast(rewriter, op, operands, attributes);
    return success();
  }

  const KeptSet &kept;
};

/// Pointwise operations, reductions and data movement with an operand
/// that was just brought to channels-first order: the order moves below them.
struct SinkChannelsFirst : RewritePattern {
  explicit SinkChannelsFirst(MLIRContext *context)
      : RewritePattern(MatchAnyOpTypeTag(), /*benefit=*/1, context) {}

  LogicalResult matchAndRewrite(Operation *op,
                                PatternRewriter &rewriter) const override {
    const bool elementwise = isPointwise(op) || isa<ConcatOp>(op);
    if (!elementwise && !isReduction(op) && !isa<PadOp, SliceOp>(op))
      return failure();
    if (llvm::none_of(op->getOperands(), [](Value operand) {
          return matchChannelsFirst(operand) != nullptr;
        }))
      return failure();
    NamedAttrList attributes(op->getAttrs());
    permuteAttributes(op, attributes, rewriter);
    SmallVector<Value> operands =
        llvm::map_to_vector(op->getOperands(), [&](Value operand) {
          return toChannelsLast(rewriter, op->getLoc(), operand);
        });
    replaceInChannelsLast(rewriter, op, operands, attributes);
    return success();
  }

private:
  static void permuteAttributes(Operation *op, NamedAttrList &attributes,
                                Builder &builder) {
    auto set = [&](StringRef name, ArrayRef<int64_t> numbers) {
      attributes.set(name, builder.getDenseI64ArrayAttr(numbers));
    };
    if (auto concat = dyn_cast<ConcatOp>(op)) {
      attributes.set("dim", builder.getI64IntegerAttr(channelsLastAxis(
                                concat.getDim(), concat.getType().getRank())));
    } else if (auto pad = dyn_cast<PadOp>(op)) {
      set("low", permuteNumbers(pad.getLow()));
      set("high", permuteNumbers(pad.getHigh()));
    } else if (auto slice = dyn_cast<SliceOp>(op)) {
      set("starts", permuteNumbers(slice.getStarts()));
      set("steps", permuteNumbers(slice.getSteps()));
    } else if (isReduction(op)) {
      auto dims = op->getAttrOfType<DenseI64ArrayAttr>("dims");
      const int64_t rank =
          cast<RankedTensorType>(op->getOperand(0).getType()).getRank();
      SmallVector<int64_t> permuted =
          llvm::map_to_vector(dims.asArrayRef(), [&](int64_t axis) {
            return channelsLastAxis(axis, rank);
          });
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
    if (depthwisePlanes)
      getOperation().walk([&](ConvolutionOp op) {
        if (isOfPlanes(op) && standsAlone(op))
          kept.insert(op);
      });
    RewritePatternSet patterns(&getContext());
    patterns.add<WindowToChannelsLast<ConvolutionOp>,
                 WindowToChannelsLast<MaxPool2dOp>,
                 WindowToChannelsLast<AvgPool2dOp>,
                 WindowToChannelsLast<UpsampleNearest2dOp>,
                 WindowToChannelsLast<UpsampleBilinear2dOp>>(&getContext(),
                                                             kept);
    patterns.add<SinkChannelsFirst, CancelPermutes>(&getContext());
    if (failed(applyPatternsGreedily(getOperation(), std::move(patterns))))
      signalPassFailure();
  }
};
} // namespace
