// The movements of elements: what is checked of them, and of those that have
// the interface LinearView, where they read.
#include "compiler/dialect/Ait.h"
#include "compiler/dialect/OperandChecks.h"

#include "mlir/IR/BuiltinAttributes.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace mlir::ait;

namespace {
/// Operand 0 and the result agree in all axes but `except` (-1: in all).
LogicalResult verifySizesExcept(Operation *op, RankedTensorType lhs,
                                RankedTensorType rhs, int64_t except) {
  if (lhs.getRank() != rhs.getRank())
    return op->emitOpError("ranks differ: ") << lhs << " and " << rhs;
  for (auto [axis, pair] :
       llvm::enumerate(llvm::zip(getSymbolicSizes(lhs), getSymbolicSizes(rhs))))
    if (static_cast<int64_t>(axis) != except &&
        !mayBeEqual(std::get<0>(pair), std::get<1>(pair)))
      return op->emitOpError("sizes of axis ")
             << axis << " differ: " << lhs << " and " << rhs;
  return success();
}

/// Every start and step addresses `input` in bounds for static sizes.
LogicalResult verifySlice(Operation *op, RankedTensorType input,
                          RankedTensorType slice, ArrayRef<int64_t> starts,
                          ArrayRef<int64_t> steps) {
  int64_t rank = input.getRank();
  if (slice.getRank() != rank || static_cast<int64_t>(starts.size()) != rank ||
      static_cast<int64_t>(steps.size()) != rank)
    return op->emitOpError("needs one start and one step an axis of ") << input;
  for (int64_t axis = 0; axis < rank; ++axis) {
    if (starts[axis] < 0 || steps[axis] < 1)
      return op->emitOpError("axis ")
             << axis << " has start " << starts[axis] << " and step "
             << steps[axis] << "; starts are >= 0 and steps >= 1";
    if (input.isDynamicDim(axis) || slice.isDynamicDim(axis) ||
        slice.getDimSize(axis) == 0)
      continue;
    // Starts and steps may be any numbers.
    __int128 last = steps[axis];
    last = last * (slice.getDimSize(axis) - 1) + starts[axis];
    if (last >= input.getDimSize(axis))
      return op->emitOpError("reads index ")
             << static_cast<int64_t>(last) << " of axis " << axis
             << ", which has " << input.getDimSize(axis);
  }
  return success();
}
} // namespace

LogicalResult ReshapeOp::verify() {
  if (!mayBeEqual(getElementCount(getInput().getType()),
                  getElementCount(getType())))
    return emitOpError("cannot make ")
           << getType() << " of " << getInput().getType()
           << ": element counts differ";
  return verifySameElementType(*this);
}

LogicalResult PermuteOp::verify() {
  ArrayRef<int64_t> permutation = getPermutation();
  RankedTensorType input = getInput().getType();
  int64_t rank = input.getRank();
  if (static_cast<int64_t>(permutation.size()) != rank ||
      getType().getRank() != rank)
    return emitOpError("needs one number an axis of ") << input;
  SmallVector<bool> seen(rank);
  auto inputSizes = getSymbolicSizes(input);
  auto sizes = getSymbolicSizes(getType());
  for (auto [axis, source] : llvm::enumerate(permutation)) {
    if (!isAxis(source, input) || seen[source])
      return emitOpError("permutation must name each of the ")
             << rank << " axes once";
    seen[source] = true;
    if (!mayBeEqual(sizes[axis], inputSizes[source]))
      return emitOpError("axis ")
             << axis << " of " << getType() << " is not axis " << source
             << " of " << input;
  }
  return verifySameElementType(*this);
}

SmallVector<AffineExpr> PermuteOp::getSourceIndex(ArrayRef<AffineExpr> index) {
  SmallVector<AffineExpr> source(index.size());
  for (auto [axis, from] : llvm::enumerate(getPermutation()))
    source[from] = index[axis];
  return source;
}

LogicalResult ExpandOp::verify() {
  RankedTensorType input = getInput().getType();
  int64_t added = getType().getRank() - input.getRank();
  if (added < 0)
    return emitOpError("cannot drop axes: ") << input << " to " << getType();
  auto inputSizes = getSymbolicSizes(input);
  auto sizes = getSymbolicSizes(getType());
  for (int64_t axis = 0; axis < input.getRank(); ++axis)
    if (input.getDimSize(axis) != 1 &&
        !mayBeEqual(inputSizes[axis], sizes[axis + added]))
      return emitOpError("axis ")
             << axis << " of " << input << " is neither 1 nor the size of axis "
             << axis + added << " of " << getType();
  return verifySameElementType(*this);
}

SmallVector<AffineExpr> ExpandOp::getSourceIndex(ArrayRef<AffineExpr> index) {
  SmallVector<AffineExpr> sizes = getSymbolicSizes(getInput().getType());
  SmallVector<AffineExpr> source(index.take_back(sizes.size()));
  for (auto [at, size] : llvm::zip_equal(source, sizes))
    if (size == 1)
      at = getAffineConstantExpr(0, getContext());
  return source;
}

LogicalResult SliceOp::verify() {
  if (failed(verifySameElementType(*this)))
    return failure();
  return verifySlice(*this, getInput().getType(), getType(), getStarts(),
                     getSteps());
}

SmallVector<AffineExpr> SliceOp::getSourceIndex(ArrayRef<AffineExpr> index) {
  SmallVector<AffineExpr> source(index);
  for (auto [at, start, step] :
       llvm::zip_equal(source, getStarts(), getSteps()))
    at = at * step + start;
  return source;
}

LogicalResult FlipOp::verify() {
  if (getInput().getType() != getType())
    return emitOpError("changes the type ") << getInput().getType();
  for (int64_t dim : getDims())
    if (failed(verifyDim(*this, dim, getType())))
      return failure();
  return success();
}

SmallVector<AffineExpr> FlipOp::getSourceIndex(ArrayRef<AffineExpr> index) {
  SmallVector<AffineExpr> sizes = getSymbolicSizes(getType());
  SmallVector<AffineExpr> source(index);
  for (int64_t axis : getDims())
    source[axis] = sizes[axis] - 1 - index[axis];
  return source;
}

LogicalResult SliceScatterOp::verify() {
  RankedTensorType input = getInput().getType();
  if (!haveSameSizes(input, getType()))
    return emitOpError("result ")
           << getType() << " is not of the input's type " << input;
  if (failed(verifySameElementType(*this)))
    return failure();
  return verifySlice(*this, input, getSource().getType(), getStarts(),
                     getSteps());
}

LogicalResult ConcatOp::verify() {
  if (getInputs().empty())
    return emitOpError("needs an input");
  RankedTensorType result = getType();
  int64_t dim = getDim();
  if (failed(verifyDim(*this, dim, result)) ||
      failed(verifySameElementType(*this)))
    return failure();
  AffineExpr total = getAffineConstantExpr(0, getContext());
  for (Value input : getInputs()) {
    auto type = cast<RankedTensorType>(input.getType());
    if (failed(verifySizesExcept(*this, type, result, dim)))
      return failure();
    total = total + getSymbolicSizes(type)[dim];
  }
  if (!mayBeEqual(total, getSymbolicSizes(result)[dim]))
    return emitOpError("inputs' sizes along axis ")
           << dim << " do not add up to that of " << result;
  return success();
}

LogicalResult PadOp::verify() {
  RankedTensorType input = getInput().getType();
  size_t rank = input.getRank();
  if (getLow().size() != rank || getHigh().size() != rank ||
      getType().getRank() != input.getRank())
    return emitOpError("needs one low and one high an axis of ") << input;
  auto inputSizes = getSymbolicSizes(input);
  auto sizes = getSymbolicSizes(getType());
  for (size_t axis = 0; axis < rank; ++axis)
    if (!mayBeEqual(inputSizes[axis] + getLow()[axis] + getHigh()[axis],
                    sizes[axis]))
      return emitOpError("axis ") << axis << " of " << getType()
                                  << " is not the padded axis of " << input;
  return verifySameElementType(*this);
}

LogicalResult EmbeddingOp::verify() {
  RankedTensorType weight = getWeight().getType();
  RankedTensorType indices = getIndices().getType();
  if (weight.getRank() != 2 ||
      weight.getElementType() != getType().getElementType())
    return emitOpError("weight of type ")
           << weight << " is not a matrix of the result's element type";
  SmallVector<AffineExpr> sizes = getSymbolicSizes(indices);
  sizes.push_back(getSymbolicSizes(weight)[1]);
  if (failed(verifySizesExcept(
          *this, getTensorType(sizes, weight.getElementType()), getType(), -1)))
    return failure();
  return verifyIndices(*this, indices);
}

LogicalResult IndexSelectOp::verify() {
  RankedTensorType input = getInput().getType();
  RankedTensorType indices = getIndices().getType();
  if (failed(verifyDim(*this, getDim(), input)) ||
      failed(verifySizesExcept(*this, input, getType(), getDim())) ||
      failed(verifyIndices(*this, indices)))
    return failure();
  if (indices.getRank() != 1 ||
      !mayBeEqual(getSymbolicSizes(indices)[0],
                  getSymbolicSizes(getType())[getDim()]))
    return emitOpError("indices of type ") << indices << " do not give axis "
                                           << getDim() << " of " << getType();
  if (input.getElementType() != getType().getElementType())
    return emitOpError("changes the element type of ") << input;
  return success();
}

LogicalResult GatherOp::verify() {
  RankedTensorType input = getInput().getType();
  RankedTensorType indices = getIndices().getType();
  if (failed(verifyDim(*this, getDim(), input)) ||
      failed(verifyIndices(*this, indices)))
    return failure();
  if (indices.getRank() != input.getRank() ||
      !haveSameSizes(indices, getType()))
    return emitOpError("indices of type ")
           << indices << " do not give the result " << getType();
  if (input.getElementType() != getType().getElementType())
    return emitOpError("changes the element type of ") << input;
  return success();
}
