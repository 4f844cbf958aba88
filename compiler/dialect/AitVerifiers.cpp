// Verifiers of the operations on one or a few tensors; those of movements are
// in AitMovement.cpp, those of windows and regions in
// AitStructureVerifiers.cpp, those of contractions in AitContractions.cpp.
#include "compiler/dialect/Ait.h"
#include "compiler/dialect/OperandChecks.h"

#include "mlir/IR/BuiltinAttributes.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace mlir::ait;

LogicalResult mlir::ait::verifySameElementType(Operation *op) {
  Type element =
      cast<RankedTensorType>(op->getResult(0).getType()).getElementType();
  for (Value operand : op->getOperands())
    if (cast<RankedTensorType>(operand.getType()).getElementType() != element)
      return op->emitOpError("operand of type ")
             << operand.getType() << " differs from the result's element type "
             << element << "; insert an ait.convert";
  return success();
}

bool mlir::ait::isAxis(int64_t dim, RankedTensorType type) {
  return dim >= 0 && dim < type.getRank();
}

LogicalResult mlir::ait::verifyDim(Operation *op, int64_t dim,
                                   RankedTensorType type) {
  if (isAxis(dim, type))
    return success();
  return op->emitOpError("dim ") << dim << " is not an axis of " << type
                                 << "; use 0 to " << type.getRank() - 1;
}

LogicalResult mlir::ait::verifyIndices(Operation *op,
                                       RankedTensorType indices) {
  if (indices.getElementType().isInteger(64) ||
      indices.getElementType().isInteger(32))
    return success();
  return op->emitOpError("indices are of type ")
         << indices << "; convert them to i32 or i64";
}

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
