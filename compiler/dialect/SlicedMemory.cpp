#include "compiler/dialect/SlicedMemory.h"

using namespace mlir;
using namespace mlir::ait;

/// What addresses are multiples of, in bits.
static constexpr uint64_t alignment = 16 * 8;

std::optional<AffineExpr> mlir::ait::findOffsetInMemory(SliceOp slice) {
  RankedTensorType type = slice.getType(), from = slice.getInput().getType();
  const SmallVector<AffineExpr> sizes = getSymbolicSizes(from);
  const SmallVector<AffineExpr> taken = getSymbolicSizes(type);
  // Axes of which one entry is taken, one that is cut, then whole ones.
  int64_t cut = 0;
  while (cut + 1 < type.getRank() && type.getDimSize(cut) == 1)
    ++cut;
  AffineExpr offset = getAffineConstantExpr(0, slice.getContext());
  for (int64_t axis = 0; axis < type.getRank(); ++axis) {
    const int64_t start = slice.getStarts()[axis];
    if (axis > cut && (start != 0 || taken[axis] != sizes[axis]))
      return std::nullopt;
    if (slice.getSteps()[axis] != 1 && type.getDimSize(axis) != 1)
      return std::nullopt;
    offset = offset * sizes[axis] + start;
  }
  offset = canonicalizeSize(offset);
  if (offset.getLargestKnownDivisor() * type.getElementTypeBitWidth() %
          alignment !=
      0)
    return std::nullopt;
  return offset;
}
