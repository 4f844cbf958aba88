// Transposed convolutions as convolutions, which kernels of every device are
// for.
#include "compiler/transforms/Passes.h"

#include "compiler/dialect/Ait.h"
#include "compiler/transforms/PrimitiveBuilder.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

#include <algorithm>
#include <numeric>

namespace aitune {
#define GEN_PASS_DEF_TRANSPOSEDCONVOLUTIONS
#include "compiler/transforms/Passes.h.inc"
} // namespace aitune

using namespace mlir;
using namespace mlir::ait;
using aitune::PrimitiveBuilder;

namespace {

/// Elements of the result along an axis, `stride` apart: phase p of the axis
/// are elements p, p + stride, p + 2 * stride ... before padding is cut off.
/// These are phases one after the other that read the same input elements; 0
/// taps are phases that read none.
struct Phases {
  int64_t count;
  int64_t column; ///< the first filter element of the first phase; those of the
                  ///< next phase follow it
  int64_t taps;   ///< filter elements of each phase
  int64_t offset; ///< how many input elements before its own the first tap's is
};

/// One spatial axis, in elements. Element `stride * m + phase` of the result
/// before its padding is cut off is the sum over the taps t of input element
/// `m - offset - t * distance` times filter element `column + t * step`.
class Axis {
public:
  Axis(TransposedConvolutionOp op, unsigned axis)
      : stride(op.getStride()[axis]),
        step(stride / std::gcd(stride, op.getDilation()[axis])),
        distance(op.getDilation()[axis] / (stride / step)),
        filter(op.getFilter().getType().getDimSize(2 + axis)) {
    const int64_t padding = op.getPadding()[axis];
    const int64_t dilation = op.getDilation()[axis];
    first = padding / stride;
    start = padding % stride;
    last = llvm::divideFloorSigned(dilation * (filter - 1) +
                                       op.getOutputPadding()[axis] - padding,
                                   stride);
    // The phase of each filter element, until they repeat.
    SmallVector<std::pair<int64_t, int64_t>> columns;
    for (int64_t column = 0; column < std::min(step, filter); ++column)
      columns.emplace_back(column * dilation % stride, column);
    llvm::sort(columns);
    int64_t next = 0;
    for (auto [phase, column] : columns) {
      if (next < phase)
        phases.push_back({phase - next, 0, 0, 0});
      add({1, column, int64_t(llvm::divideCeil(filter - column, step)),
           column * dilation / stride});
      next = phase + 1;
    }
    if (next < stride)
      phases.push_back({stride - next, 0, 0, 0});
  }
  int64_t mostTaps() const { return llvm::divideCeil(filter, step); }
  /// Zeros before and behind the input; elements of it that no result reads, if
  /// negative.
  int64_t before(const Phases &of) const {
    return (of.taps - 1) * distance + of.offset - first;
  }
  int64_t behind(const Phases &of) const { return last - of.offset; }
  /// What a convolution can itself pad on both sides.
  int64_t padding(const Phases &of) const {
    return std::max<int64_t>(std::min(before(of), behind(of)), 0);
  }

  const int64_t stride;
  /// The distance from one filter element of a phase to its next.
  const int64_t step;
  /// The distance from one input element of a result to its next.
  const int64_t distance;
  const int64_t filter;          ///< the filter's size
  SmallVector<Phases, 2> phases; ///< all, in order
  int64_t first; ///< the first m of which the result has an element
  int64_t last;  ///< the last one, less the last element of the input
  int64_t start; ///< the first phase of the first m that is in the result

private:
  void add(const Phases &next) {
    Phases *previous = phases.empty() ? nullptr : &phases.back();
    if (previous && previous->taps == next.taps &&
        previous->offset == next.offset &&
        next.column == previous->column + previous->count)
      ++previous->count;
    else
      phases.push_back(next);
  }
};

class Rewriter {
public:
  Rewriter(PatternRewriter &rewriter, TransposedConvolutionOp op)
      : op(op), build(rewriter, op.getLoc()), groups(number(op.getGroups())),
        outputs(number(op.getFilter().getType().getDimSize(1))) {
    for (unsigned axis = 0; axis < op.getStride().size(); ++axis)
      axes.emplace_back(op, axis);
    filter = splitFilter();
  }

  Value rewrite() {
    SmallVector<Phases> chosen;
    return takePixels(makePhases(chosen));
  }

private:
  AffineExpr number(int64_t size) {
    return getAffineConstantExpr(size, op.getContext());
  }
  static SmallVector<AffineExpr> sizesOf(Value value) {
    return PrimitiveBuilder::sizesOf(value);
  }
  RankedTensorType typeOf(ArrayRef<AffineExpr> sizes) {
    return PrimitiveBuilder::typeLike(op.getResult(), sizes);
  }

  /// The filter [I, O / groups, taps * phases...] as
  /// [groups, I / groups, O / groups, taps, columns, taps, columns...] with the
  /// taps reversed. Taps that some columns lack are 0, and not read.
  Value splitFilter() {
    RankedTensorType type = op.getFilter().getType();
    SmallVector<int64_t> none(axes.size() + 2, 0), high = none, taps;
    SmallVector<AffineExpr> sizes = {
        groups, number(type.getDimSize(0) / op.getGroups()), outputs};
    for (auto [index, axis] : llvm::enumerate(axes)) {
      high[2 + index] = axis.mostTaps() * axis.step - axis.filter;
      taps.push_back(sizes.size());
      sizes.append({number(axis.mostTaps()), number(axis.step)});
    }
    Value split = build.reshape(build.pad(op.getFilter(), none, high), sizes);
    return build.create<FlipOp>(split.getType(), split, taps);
  }

  /// [groups * phases * O / groups, I / groups, taps...] of the filter.
  Value takeFilter(ArrayRef<Phases> chosen) {
    SmallVector<AffineExpr> sizes = sizesOf(filter);
    SmallVector<int64_t> starts(sizes.size(), 0);
    SmallVector<int64_t> order = {0};
    AffineExpr rows = groups * outputs;
    for (auto [index, phases] : llvm::enumerate(chosen)) {
      const unsigned taps = 3 + 2 * index;
      // They are reversed: the last tap is first.
      starts[taps] = axes[index].mostTaps() - phases.taps;
      starts[taps + 1] = phases.column;
      sizes[taps] = number(phases.taps);
      sizes[taps + 1] = number(phases.count);
      order.push_back(taps + 1);
      rows = rows * phases.count;
    }
    order.append({2, 1});
    SmallVector<AffineExpr> taken = {rows, sizes[1]};
    for (auto [index, phases] : llvm::enumerate(chosen)) {
      order.push_back(3 + 2 * index);
      taken.push_back(number(phases.taps));
    }
    return build.reshape(
        build.permute(build.slice(filter, starts, sizes), order), taken);
  }

  /// The input without what no result reads, and with the zeros that the
  /// convolution can't add since it adds as many on both sides.
  Value cutInput(ArrayRef<Phases> chosen) {
    SmallVector<AffineExpr> sizes = sizesOf(op.getInput());
    SmallVector<int64_t> starts(sizes.size(), 0), low = starts, high = starts;
    for (auto [index, phases] : llvm::enumerate(chosen)) {
      const Axis &axis = axes[index];
      const int64_t before = axis.before(phases);
      const int64_t behind = axis.behind(phases);
      const int64_t padding = axis.padding(phases);
      starts[2 + index] = std::max<int64_t>(-before, 0);
      sizes[2 + index] =
          canonicalizeSize(sizes[2 + index] + std::min<int64_t>(before, 0) +
                           std::min<int64_t>(behind, 0));
      low[2 + index] = std::max<int64_t>(before, 0) - padding;
      high[2 + index] = std::max<int64_t>(behind, 0) - padding;
    }
    return build.pad(build.slice(op.getInput(), starts, sizes), low, high);
  }

  /// [N, groups, phases..., O / groups, positions...]: a convolution whose
  /// channels are these phases of all channels.
  Value convolve(ArrayRef<Phases> chosen) {
    Value input = cutInput(chosen), taken = takeFilter(chosen);
    SmallVector<AffineExpr> sizes = sizesOf(input);
    sizes[1] = sizesOf(taken)[0];
    SmallVector<AffineExpr> parts = {sizes[0], groups};
    SmallVector<int64_t> padding, dilation;
    for (auto [index, phases] : llvm::enumerate(chosen)) {
      padding.push_back(axes[index].padding(phases));
      dilation.push_back(axes[index].distance);
      sizes[2 + index] =
          canonicalizeSize(sizes[2 + index] + 2 * padding.back() -
                           (phases.taps - 1) * dilation.back());
      parts.push_back(number(phases.count));
    }
    parts.push_back(outputs);
    parts.append(sizes.begin() + 2, sizes.end());
    const SmallVector<int64_t> ones(axes.size(), 1);
    return build.reshape(build.create<ConvolutionOp>(typeOf(sizes), input,
                                                     taken, ones, padding,
                                                     dilation, op.getGroups()),
                         parts);
  }

  /// As `convolve`, with all phases of the axes for which none are `chosen`.
  Value makePhases(SmallVectorImpl<Phases> &chosen) {
    if (chosen.size() == axes.size())
      return convolve(chosen);
    const unsigned dim = 2 + chosen.size();
    const Axis &axis = axes[chosen.size()];
    SmallVector<Value> parts;
    SmallVector<AffineExpr> sizes;
    for (const Phases &phases : axis.phases) {
      if (phases.taps != 0) {
        chosen.push_back(phases);
        parts.push_back(makePhases(chosen));
        chosen.pop_back();
        sizes = sizesOf(parts.back());
      } else {
        parts.emplace_back();
      }
    }
    for (auto [part, phases] : llvm::zip_equal(parts, axis.phases)) {
      if (part)
        continue;
      sizes[dim] = number(phases.count);
      part = build.create<FullOp>(
          typeOf(sizes),
          cast<TypedAttr>(FloatAttr::get(op.getType().getElementType(), 0.0)));
    }
    sizes[dim] = number(axis.stride);
    return parts.size() == 1
               ? parts[0]
               : build.create<ConcatOp>(typeOf(sizes), parts, dim);
  }

  /// The result from `phases`, of which it has all.
  Value takePixels(Value phases) {
    const SmallVector<AffineExpr> sizes = sizesOf(phases);
    const SmallVector<AffineExpr> result = sizesOf(op.getResult());
    const int64_t rank = axes.size();
    SmallVector<int64_t> order = {0, 1, 2 + rank};
    SmallVector<AffineExpr> whole = {sizes[0], result[1]};
    SmallVector<int64_t> starts = {0, 0};
    for (auto [index, axis] : llvm::enumerate(axes)) {
      const int64_t position = 3 + rank + index;
      order.append({position, static_cast<int64_t>(2 + index)});
      whole.push_back(canonicalizeSize(sizes[position] * axis.stride));
      starts.push_back(axis.start);
    }
    return build.slice(build.reshape(build.permute(phases, order), whole),
                       starts, result);
  }

  TransposedConvolutionOp op;
  PrimitiveBuilder build;
  const AffineExpr groups, outputs; ///< outputs of a group
  SmallVector<Axis, 3> axes;
  Value filter; ///< what splitFilter made
};

struct TransposedConvolutionPattern
    : OpRewritePattern<TransposedConvolutionOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(TransposedConvolutionOp op,
                                PatternRewriter &rewriter) const override {
    rewriter.replaceOp(op, Rewriter(rewriter, op).rewrite());
    return success();
  }
};

struct TransposedConvolutions
    : aitune::impl::TransposedConvolutionsBase<TransposedConvolutions> {
  void runOnOperation() override {
    RewritePatternSet patterns(&getContext());
    patterns.add<TransposedConvolutionPattern>(&getContext());
    if (failed(applyPatternsGreedily(getOperation(), std::move(patterns))))
      signalPassFailure();
  }
};
} // namespace
