// Verifiers of the operations on one or a few tensors; those of windows
// and regions are in AitStructureVerifiers.cpp, those of contractions in
// AitContractions.cpp.
#include "compiler/dialect/Ait.h"

#include "mlir/IR/BuiltinAttributes.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace mlir::ait;

namespace {
bool inRange(int64_t dim, RankedTensorType type) {
  return dim >= 0 && dim < type.getRank();
}

LogicalResult verifySameElementType(Operation *op) {
  Type element =
      cast<RankedTensorType>(op->getResult(0).getType()).getElementType();
  for (Value operand : op->getOperands())
    if (cast<RankedTensorType>(operand.getType()).getElementType() != element)
      return op->emitOpError("operand of type ")
             << operand.getType() << " differs from the result's element type "
             << element << "; insert an ait.convert";
  return success();
}

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

LogicalResult verifyDim(Operation *op, int64_t dim, RankedTensorType type) {
  if (inRange(dim, type))
    return success();
  return op->emitOpError("dim ") << dim << " is not an axis of " << type
                                 << "; use 0 to " << type.getRank() - 1;
}

LogicalResult verifyIndices(Operation *op, RankedTensorType indices) {
  if (indices.getElementType().isInteger(64) ||
      indices.getElementType().isInteger(32))
    return success();
  return op->emitOpError("indices are of type ")
         << indices << "; convert them to i32 or i64";
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

LogicalResult mlir::ait::verifyPointwise(Operation *op) {
  auto first = dyn_cast<RankedTensorType>(op->getResult(0).getType());
  for (Value operand : op->getOperands()) {
    auto type = dyn_cast<RankedTensorType>(operand.getType());
    if (!first || !type || !isValidTensorType(first) ||
        !isValidTensorType(type))
      return success(); // Reported by the operand's own constraint.
    if (!haveSameSizes(first, type))
      return op->emitOpError("operand of type ")
             << type << " has not the sizes of the result " << first
             << "; insert an ait.expand";
  }
  return success();
}

LogicalResult mlir::ait::verifyReduction(Operation *op) {
  auto input = cast<RankedTensorType>(op->getOperand(0).getType());
  auto result = cast<RankedTensorType>(op->getResult(0).getType());
  ArrayRef<int64_t> dims =
      op->getAttrOfType<DenseI64ArrayAttr>("dims").asArrayRef();
  if (input.getRank() != result.getRank())
    return op->emitOpError("keeps its axes, but ranks differ: ")
           << input << " and " << result;
  if (!llvm::is_sorted(dims) ||
      std::adjacent_find(dims.begin(), dims.end()) != dims.end())
    return op->emitOpError("dims must be in ascending order, each once");
  for (int64_t dim : dims)
    if (failed(verifyDim(op, dim, input)))
      return failure();
  auto inputSizes = getSymbolicSizes(input);
  auto resultSizes = getSymbolicSizes(result);
  for (int64_t axis = 0; axis < input.getRank(); ++axis) {
    if (llvm::is_contained(dims, axis)) {
      if (result.getDimSize(axis) != 1)
        return op->emitOpError("reduced axis ")
               << axis << " has not size 1 in " << result;
    } else if (!mayBeEqual(inputSizes[axis], resultSizes[axis])) {
      return op->emitOpError("sizes of axis ")
             << axis << " differ: " << input << " and " << result;
    }
  }
  if (isa<ArgmaxOp, ArgminOp>(op)) {
    if (dims.size() != 1)
      return op->emitOpError("reduces one axis, not ") << dims.size();
    return verifyIndices(op, result);
  }
  if (isa<AnyOp, AllOp>(op)) {
    if (!result.getElementType().isInteger(1))
      return op->emitOpError("result is of type ") << result << ", not i1";
    return success();
  }
  return verifySameElementType(op);
}

LogicalResult mlir::ait::verifyNormalization(Operation *op) {
  auto input = cast<RankedTensorType>(op->getOperand(0).getType());
  if (op->getResult(0).getType() != input)
    return op->emitOpError("result type ")
           << op->getResult(0).getType() << " is not the input's " << input;
  SmallVector<AffineExpr> sizes = getSymbolicSizes(input);
  SmallVector<AffineExpr> expected;
  if (auto groupNorm = dyn_cast<GroupNormOp>(op)) {
    int64_t groups = groupNorm.getGroups();
    if (input.getRank() < 2 || groups < 1 ||
        (!input.isDynamicDim(1) && input.getDimSize(1) % groups != 0))
      return op->emitOpError("cannot split the channels of ")
             << input << " into " << groups << " groups";
    expected = {sizes[1]};
  } else {
    int64_t rank = op->getAttrOfType<IntegerAttr>("normalized_rank").getInt();
    if (rank < 1 || rank > input.getRank())
      return op->emitOpError("normalized_rank ")
             << rank << " is not between 1 and the rank of " << input;
    expected.assign(sizes.end() - rank, sizes.end());
  }
  RankedTensorType parameter = getTensorType(expected, input.getElementType());
  for (Value operand : op->getOperands().drop_front()) {
    auto type = cast<RankedTensorType>(operand.getType());
    if (!haveSameSizes(type, parameter))
      return op->emitOpError("weight or bias of type ")
             << type << " where " << parameter << " is expected";
  }
  return success();
}

LogicalResult ConstantOp::verify() {
  if (!getType().hasStaticShape())
    return emitOpError("is a stored tensor and needs static sizes, not ")
           << getType();
  if (static_cast<int64_t>(getIndex()) < 0)
    return emitOpError("index must not be negative");
  return success();
}

LogicalResult FullOp::verify() {
  if (getValue().getType() != getType().getElementType())
    return emitOpError("value of type ")
           << getValue().getType() << " does not fill " << getType();
  if (!isa<IntegerAttr, FloatAttr>(getValue()))
    return emitOpError("value must be one number");
  return success();
}

LogicalResult IotaOp::verify() {
  if (!getType().getElementType().isIntOrFloat())
    return emitOpError("needs an integer or floating element type");
  return verifyDim(*this, getDim(), getType());
}

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
    if (!inRange(source, input) || seen[source])
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

LogicalResult SliceOp::verify() {
  if (failed(verifySameElementType(*this)))
    return failure();
  return verifySlice(*this, getInput().getType(), getType(), getStarts(),
                     getSteps());
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

LogicalResult CheckOp::verify() {
  auto integer = dyn_cast<IntegerType>(getType().getElementType());
  if (!integer || integer.getWidth() == 1)
    return emitOpError("checks integers, not ") << getType();
  if (std::optional<AffineMap> size = getSize();
      size && (size->getNumDims() != 0 || size->getNumResults() != 1))
    return emitOpError("size ")
           << getSizeAttr() << " is not one number of symbols";
  if (!getSize() && getFromEnd())
    return emitOpError("a divisor does not count from the end");
  return success();
}

LogicalResult FlipOp::verify() {
  if (getInput().getType() != getType())
    return emitOpError("changes the type ") << getInput().getType();
  for (int64_t dim : getDims())
    if (failed(verifyDim(*this, dim, getType())))
      return failure();
  return success();
}

LogicalResult CumsumOp::verify() {
  if (!haveSameSizes(getInput().getType(), getType()))
    return emitOpError("changes the sizes of ") << getInput().getType();
  return verifyDim(*this, getDim(), getType());
}

LogicalResult SoftmaxOp::verify() {
  if (getInput().getType() != getType())
    return emitOpError("changes the type ") << getInput().getType();
  return verifyDim(*this, getDim(), getType());
}
