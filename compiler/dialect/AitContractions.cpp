// The contractions' implementations of the interface Contraction, through which
// passes handle them without knowing their names.
#include "compiler/dialect/Ait.h"

using namespace mlir;
using namespace mlir::ait;

namespace {
AffineExpr getSizeFromEnd(Value value, unsigned fromEnd) {
  auto type = cast<RankedTensorType>(value.getType());
  return getSymbolicSizes(type)[type.getRank() - fromEnd];
}

AffineExpr countElements(Value value) {
  return getElementCount(cast<RankedTensorType>(value.getType()));
}
} // namespace

KernelKind MatmulOp::getKernelKind() { return KernelKind::Matmul; }

bool MatmulOp::isReadThroughStrides(OpOperand &) { return true; }

AffineExpr MatmulOp::countFlops() {
  return countElements(getResult()) *
         getSizeFromEnd(getLhs(), getTransposeLhs() ? 2 : 1) * 2;
}

KernelKind ConvolutionOp::getKernelKind() { return KernelKind::Convolution; }

bool ConvolutionOp::isReadThroughStrides(OpOperand &) { return false; }

AffineExpr ConvolutionOp::countFlops() {
  ArrayRef<int64_t> filter = getFilter().getType().getShape();
  // Each element of the input, if transposed, else of the result.
  return countElements(getTransposed() ? Value(getInput())
                                       : Value(getResult())) *
         (2 * filter[1] * filter[2] * filter[3]);
}

KernelKind AttentionOp::getKernelKind() { return KernelKind::Attention; }

/// Masks are read element by element.
bool AttentionOp::isReadThroughStrides(OpOperand &operand) {
  return operand.get() != getMask();
}

AffineExpr AttentionOp::countFlops() {
  AffineExpr width = getSizeFromEnd(getValue(), 1);
  AffineExpr rows = countElements(getResult()).floorDiv(width);
  return rows * getSizeFromEnd(getKey(), 2) *
         (getSizeFromEnd(getQuery(), 1) + width) * 2;
}
