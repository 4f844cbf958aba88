// Verifiers of windows, fusion regions and launches.
#include "compiler/dialect/Ait.h"

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace mlir::ait;

LogicalResult mlir::ait::verifyPair(Operation *op, StringRef name,
                                    ArrayRef<int64_t> pair, int64_t least) {
  if (pair.size() == 2 && pair[0] >= least && pair[1] >= least)
    return success();
  return op->emitOpError(name)
         << " needs two numbers (height, width), each at least " << least;
}

LogicalResult mlir::ait::verifyPool2d(Operation *op) {
  auto input = cast<RankedTensorType>(op->getOperand(0).getType());
  auto result = cast<RankedTensorType>(op->getResult(0).getType());
  if (input.getRank() != 4 || result.getRank() != 4)
    return op->emitOpError("needs rank 4, not ") << input;
  for (auto [name, least] : {std::pair<StringRef, int64_t>("kernel_size", 1),
                             {"stride", 1},
                             {"padding", 0}})
    if (failed(verifyPair(
            op, name, op->getAttrOfType<DenseI64ArrayAttr>(name).asArrayRef(),
            least)))
      return failure();
  if (auto dilation = op->getAttrOfType<DenseI64ArrayAttr>("dilation"))
    if (failed(verifyPair(op, "dilation", dilation.asArrayRef(), 1)))
      return failure();
  int64_t channel = op->hasAttr("channels_last") ? 3 : 1;
  for (int64_t axis : {int64_t(0), channel})
    if (!mayBeEqual(getSymbolicSizes(input)[axis],
                    getSymbolicSizes(result)[axis]))
      return op->emitOpError("batch and channels of ")
             << input << " and " << result << " differ";
  if (input.getElementType() != result.getElementType())
    return op->emitOpError("changes the element type of ") << input;
  return success();
}

static LogicalResult verifyUpsample(Operation *op) {
  auto input = cast<RankedTensorType>(op->getOperand(0).getType());
  auto result = cast<RankedTensorType>(op->getResult(0).getType());
  int64_t channel = op->hasAttr("channels_last") ? 3 : 1;
  if (input.getRank() != 4 || result.getRank() != 4 ||
      input.getElementType() != result.getElementType() ||
      !mayBeEqual(getSymbolicSizes(input)[0], getSymbolicSizes(result)[0]) ||
      !mayBeEqual(getSymbolicSizes(input)[channel],
                  getSymbolicSizes(result)[channel]))
    return op->emitOpError("needs rank 4 with batch, channels and element type "
                           "kept, not ")
           << input << " to " << result;
  return success();
}

LogicalResult UpsampleNearest2dOp::verify() { return verifyUpsample(*this); }
LogicalResult UpsampleBilinear2dOp::verify() { return verifyUpsample(*this); }

LogicalResult KernelOp::verify() {
  Block &body = getBody().front();
  if (body.getArgumentTypes() != getInputs().getTypes())
    return emitOpError("block arguments differ from the inputs in type");
  auto yield = cast<YieldOp>(body.getTerminator());
  if (yield.getValues().getTypes() != getResults().getTypes())
    return emitOpError("yields other types than its results");
  return success();
}

LogicalResult LaunchOp::verifySymbolUses(SymbolTableCollection &symbolTable) {
  auto function = symbolTable.lookupNearestSymbolFrom<FunctionOpInterface>(
      *this, getKernelAttr());
  if (!function)
    return emitOpError("launches @") << getKernel() << ", which does not exist";
  if (function.getArgumentTypes() !=
          ArrayRef<Type>(llvm::to_vector(getInputs().getTypes())) ||
      function.getResultTypes() !=
          ArrayRef<Type>(llvm::to_vector(getResults().getTypes())))
    return emitOpError("launches @")
           << getKernel() << " with other types than it has";
  return success();
}
