#include "compiler/codegen/contraction/OperandLayout.h"

#include "compiler/dialect/Ait.h"
#include "compiler/dialect/SizeExpressions.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;

namespace aitune {
namespace {

FailureOr<Layout> reshape(const Layout &layout, ArrayRef<AffineExpr> sizes,
                          std::string &reason) {
  // Consumes the modes from the innermost outwards, splitting those that cross
  // a boundary of the result's axes.
  SmallVector<LayoutMode> rest =
      llvm::to_vector(layout.collapse(0, layout.axes.size()));
  Layout result{layout.offset, {}};
  result.axes.resize(sizes.size());
  for (int64_t axis = sizes.size() - 1; axis >= 0; --axis) {
    AffineExpr remaining = ait::canonicalizeSize(sizes[axis]);
    SmallVector<LayoutMode> modes;
    while (remaining != 1) {
      if (rest.empty()) {
        reason = "a reshape changes the number of elements";
        return failure();
      }
      LayoutMode mode = rest.pop_back_val();
      if (AffineExpr quotient = ait::divideExactly(remaining, mode.size)) {
        modes.push_back(mode);
        remaining = quotient;
        continue;
      }
      AffineExpr outer = ait::divideExactly(mode.size, remaining);
      if (!outer) {
        reason = "a reshape splits an axis unevenly";
        return failure();
      }
      rest.push_back({outer, ait::canonicalizeSize(mode.stride * remaining)});
      modes.push_back({remaining, mode.stride});
      remaining = getAffineConstantExpr(1, remaining.getContext());
    }
    std::reverse(modes.begin(), modes.end());
    result.axes[axis] = coalesce(modes);
  }
  if (!rest.empty()) {
    reason = "a reshape changes the number of elements";
    return failure();
  }
  return result;
}

FailureOr<Layout> slice(const Layout &layout, const ViewStep &step,
                        std::string &reason) {
  Layout result = layout;
  MLIRContext *context = layout.offset.getContext();
  for (auto [axis, modes] : llvm::enumerate(result.axes)) {
    AffineExpr size = ait::canonicalizeSize(step.sizes[axis]);
    int64_t start = step.starts[axis], stride = step.steps[axis];
    if (start == 0 && stride == 1 &&
        size == ait::canonicalizeSize(getAxisSize(modes, context)))
      continue;
    if (start < 0 || modes.size() > 1) {
      reason = "a slice of an axis that is not one run in memory";
      return failure();
    }
    // An axis of size 1 can only be kept.
    if (modes.empty())
      continue;
    LayoutMode mode = modes.front();
    result.offset = ait::canonicalizeSize(result.offset + mode.stride * start);
    modes = coalesce({{size, ait::canonicalizeSize(mode.stride * stride)}});
  }
  return result;
}

} // namespace

LayoutAxis coalesce(ArrayRef<LayoutMode> modes) {
  LayoutAxis result;
  for (const LayoutMode &mode : modes) {
    if (mode.size == 1)
      continue;
    if (!result.empty() && result.back().stride ==
                               ait::canonicalizeSize(mode.size * mode.stride)) {
      result.back() = {ait::canonicalizeSize(result.back().size * mode.size),
                       mode.stride};
      continue;
    }
    result.push_back(mode);
  }
  return result;
}

LayoutAxis Layout::collapse(unsigned begin, unsigned end) const {
  SmallVector<LayoutMode> modes;
  for (unsigned axis = begin; axis < end; ++axis)
    modes.append(axes[axis].begin(), axes[axis].end());
  return coalesce(modes);
}

AffineExpr getAxisSize(const LayoutAxis &axis, MLIRContext *context) {
  AffineExpr size = getAffineConstantExpr(1, context);
  for (const LayoutMode &mode : axis)
    size = size * mode.size;
  return ait::canonicalizeSize(size);
}

bool isBroadcast(const LayoutAxis &axis) {
  return llvm::all_of(axis,
                      [](const LayoutMode &mode) { return mode.stride == 0; });
}

bool isContiguous(const LayoutAxis &axis) {
  return axis.empty() || (axis.size() == 1 && axis.front().stride == 1);
}

Layout getDenseLayout(RankedTensorType type) {
  MLIRContext *context = type.getContext();
  Layout layout{getAffineConstantExpr(0, context), {}};
  SmallVector<AffineExpr> sizes = ait::getSymbolicSizes(type);
  layout.axes.resize(sizes.size());
  AffineExpr stride = getAffineConstantExpr(1, context);
  for (int64_t axis = sizes.size() - 1; axis >= 0; --axis) {
    AffineExpr size = ait::canonicalizeSize(sizes[axis]);
    layout.axes[axis] = coalesce({{size, stride}});
    stride = ait::canonicalizeSize(stride * size);
  }
  return layout;
}

std::optional<ViewStep> getViewStep(Operation *op) {
  if (!isa<ait::ReshapeOp, ait::PermuteOp, ait::ExpandOp, ait::SliceOp>(op))
    return std::nullopt;
  ViewStep step;
  step.sizes = llvm::to_vector<4>(ait::getSymbolicSizes(
      cast<RankedTensorType>(op->getResult(0).getType())));
  if (isa<ait::ReshapeOp>(op)) {
    step.kind = ViewStep::Kind::Reshape;
  } else if (auto permute = dyn_cast<ait::PermuteOp>(op)) {
    step.kind = ViewStep::Kind::Permute;
    step.permutation = llvm::to_vector<4>(permute.getPermutation());
  } else if (isa<ait::ExpandOp>(op)) {
    step.kind = ViewStep::Kind::Expand;
  } else {
    auto sliceOp = cast<ait::SliceOp>(op);
    step.kind = ViewStep::Kind::Slice;
    step.starts = llvm::to_vector<4>(sliceOp.getStarts());
    step.steps = llvm::to_vector<4>(sliceOp.getSteps());
  }
  return step;
}

std::optional<ViewStep> getInverseViewStep(Operation *op) {
  ViewStep step;
  if (auto permute = dyn_cast<ait::PermuteOp>(op)) {
    step.kind = ViewStep::Kind::Permute;
    step.permutation.resize(permute.getPermutation().size());
    for (auto [to, from] : llvm::enumerate(permute.getPermutation()))
      step.permutation[from] = to;
  } else if (isa<ait::ReshapeOp>(op)) {
    step.kind = ViewStep::Kind::Reshape;
  } else {
    return std::nullopt;
  }
  step.sizes = llvm::to_vector<4>(ait::getSymbolicSizes(
      cast<RankedTensorType>(op->getOperand(0).getType())));
  return step;
}

FailureOr<Layout> applyView(const Layout &layout, const ViewStep &step,
                            std::string &reason) {
  switch (step.kind) {
  case ViewStep::Kind::Reshape:
    return reshape(layout, step.sizes, reason);
  case ViewStep::Kind::Permute: {
    Layout result{layout.offset, {}};
    for (int64_t axis : step.permutation)
      result.axes.push_back(layout.axes[axis]);
    return result;
  }
  case ViewStep::Kind::Expand: {
    Layout result{layout.offset, {}};
    AffineExpr zero = getAffineConstantExpr(0, layout.offset.getContext());
    size_t added = step.sizes.size() - layout.axes.size();
    for (auto [axis, size] : llvm::enumerate(step.sizes)) {
      bool repeats = axis < added || layout.axes[axis - added].empty();
      result.axes.push_back(
          repeats ? coalesce({{ait::canonicalizeSize(size), zero}})
                  : layout.axes[axis - added]);
    }
    return result;
  }
  case ViewStep::Kind::Slice:
    return slice(layout, step, reason);
  }
  llvm_unreachable("all kinds of view steps handled");
}

FailureOr<OperandAccess> getOperandAccess(Value value, std::string &reason) {
  SmallVector<ViewStep> steps;
  while (Operation *op = value.getDefiningOp()) {
    if (auto step = getViewStep(op)) {
      steps.push_back(std::move(*step));
      value = op->getOperand(0);
      continue;
    }
    auto convert = dyn_cast<ait::ConvertOp>(op);
    auto from =
        convert
            ? dyn_cast<FloatType>(convert.getInput().getType().getElementType())
            : FloatType();
    auto to = convert ? dyn_cast<FloatType>(
                            convert.getResult().getType().getElementType())
                      : FloatType();
    if (!from || !to || from.getWidth() >= to.getWidth()) {
      reason = ("an operand of the contraction is computed by " +
                op->getName().getStringRef())
                   .str();
      return failure();
    }
    value = convert.getInput();
  }
  auto type = cast<RankedTensorType>(value.getType());
  OperandAccess access{cast<BlockArgument>(value).getArgNumber(),
                       getDenseLayout(type), type.getElementType()};
  for (const ViewStep &step : llvm::reverse(steps)) {
    FailureOr<Layout> layout = applyView(access.layout, step, reason);
    if (failed(layout))
      return failure();
    access.layout = *layout;
  }
  return access;
}

} // namespace aitune
