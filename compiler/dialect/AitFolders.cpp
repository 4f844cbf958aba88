// Folders: operations that equal one of the values already there.
#include "compiler/dialect/Ait.h"

#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace mlir::ait;

OpFoldResult ReshapeOp::fold(FoldAdaptor) {
  if (getInput().getType() == getType())
    return getInput();
  if (auto previous = getInput().getDefiningOp<ReshapeOp>())
    if (previous.getInput().getType() == getType())
      return previous.getInput();
  return {};
}

OpFoldResult PermuteOp::fold(FoldAdaptor) {
  if (getInput().getType() == getType() &&
      llvm::equal(getPermutation(), llvm::seq<int64_t>(getType().getRank())))
    return getInput();
  return {};
}

OpFoldResult ExpandOp::fold(FoldAdaptor) {
  if (getInput().getType() == getType())
    return getInput();
  return {};
}

OpFoldResult SliceOp::fold(FoldAdaptor) {
  if (getInput().getType() == getType() &&
      llvm::all_of(getStarts(), [](int64_t start) { return start == 0; }) &&
      llvm::all_of(getSteps(), [](int64_t step) { return step == 1; }))
    return getInput();
  return {};
}

OpFoldResult ConcatOp::fold(FoldAdaptor) {
  if (getInputs().size() == 1 && getInputs()[0].getType() == getType())
    return getInputs()[0];
  // Of an input without elements along the axis there is nothing to read.
  SmallVector<Value> kept(
      llvm::make_filter_range(getInputs(), [&](Value input) {
        return cast<RankedTensorType>(input.getType()).getDimSize(getDim()) !=
               0;
      }));
  if (kept.empty() || kept.size() == getInputs().size())
    return {};
  getInputsMutable().assign(kept);
  return getResult();
}

namespace {
/// Whether every value of `from` is a value of `to`.
bool isLossless(Type from, Type to) {
  auto fromFloat = dyn_cast<FloatType>(from);
  auto toFloat = dyn_cast<FloatType>(to);
  if (fromFloat && toFloat) {
    const llvm::fltSemantics &source = fromFloat.getFloatSemantics();
    const llvm::fltSemantics &target = toFloat.getFloatSemantics();
    return llvm::APFloat::isRepresentableBy(source, target);
  }
  auto fromInteger = dyn_cast<IntegerType>(from);
  auto toInteger = dyn_cast<IntegerType>(to);
  return fromInteger && toInteger &&
         (fromInteger.getWidth() < toInteger.getWidth()) &&
         !fromInteger.isUnsigned() && !toInteger.isUnsigned() &&
         !toInteger.isInteger(1);
}
} // namespace

OpFoldResult ConvertOp::fold(FoldAdaptor) {
  if (getInput().getType() == getType())
    return getInput();
  // There and back through a wider type.
  if (auto previous = getInput().getDefiningOp<ConvertOp>())
    if (previous.getInput().getType() == getType() &&
        isLossless(getType().getElementType(),
                   getInput().getType().getElementType()))
      return previous.getInput();
  return {};
}
