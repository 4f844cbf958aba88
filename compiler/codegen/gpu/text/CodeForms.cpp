#include "compiler/codegen/gpu/text/CodeForms.h"

#include "compiler/codegen/gpu/text/FollowUses.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;

namespace aitune {

/// The value that an element of a generic's input was in the body of the
/// elementwise generic that made it; `value` itself if there is none.
static Value behind(Value value) {
  auto argument = dyn_cast<BlockArgument>(value);
  auto generic =
      argument ? dyn_cast<linalg::GenericOp>(argument.getOwner()->getParentOp())
               : linalg::GenericOp();
  if (!generic || argument.getArgNumber() >= generic.getNumDpsInputs())
    return value;
  auto input = dyn_cast<OpResult>(
      generic.getDpsInputOperand(argument.getArgNumber())->get());
  auto maker = input ? dyn_cast<linalg::GenericOp>(input.getOwner())
                     : linalg::GenericOp();
  if (!maker || maker.getNumReductionLoops() != 0)
    return value;
  return maker.getBody()->getTerminator()->getOperand(input.getResultNumber());
}

/// Whether the element `value` is the same along the last axis.
static bool isSameInRow(Value value) {
  for (;;) {
    auto argument = dyn_cast<BlockArgument>(value);
    auto generic =
        argument
            ? dyn_cast<linalg::GenericOp>(argument.getOwner()->getParentOp())
            : linalg::GenericOp();
    if (!generic || generic.getNumLoops() == 0)
      return false;
    const AffineMap map =
        generic.getIndexingMapsArray()[argument.getArgNumber()];
    if (!map.isFunctionOfDim(generic.getNumLoops() - 1))
      return true;
    Value maker = behind(value);
    if (maker == value)
      return false;
    value = maker;
  }
}

/// The conversion to a code of an 8-bit float that `op` is; else null.
static arith::TruncFOp asCode(Operation *op) {
  auto rounding = dyn_cast<arith::TruncFOp>(op);
  return rounding && rounding.getType().getIntOrFloatBitWidth() == 8
             ? rounding
             : arith::TruncFOp();
}

static double greatestOf(arith::TruncFOp code) {
  return APFloat::getLargest(
             cast<FloatType>(code.getType()).getFloatSemantics())
      .convertToDouble();
}

/// What `op` bounds by a constant, and the constant: a greatest number if
/// `isGreatest`, else a least one. Null if it does not.
static Value boundedBy(Operation *op, double &bound, bool &isGreatest) {
  if (!op || !isa<arith::MaximumFOp, arith::MinimumFOp>(op))
    return Value();
  isGreatest = isa<arith::MinimumFOp>(op);
  for (unsigned i : {0, 1}) {
    APFloat number(0.0f);
    if (!matchPattern(op->getOperand(i), m_ConstantFloat(&number)))
      continue;
    bound = number.convertToDouble();
    return op->getOperand(1 - i);
  }
  return Value();
}

/// Whether all that is made of `op`, with clamps before at most, are codes that
/// are as `isRight` says.
static bool endsInCodes(Operation *op,
                        llvm::function_ref<bool(arith::TruncFOp)> isRight) {
  auto isEnd = [&](OpOperand &use) {
    arith::TruncFOp code = asCode(use.getOwner());
    return code && isRight(code);
  };
  return allUsesEnd(op, isEnd, [](OpOperand &use) {
    double bound;
    bool isGreatest;
    return boundedBy(use.getOwner(), bound, isGreatest) == use.get()
               ? use.getOwner()->getResult(0)
               : followGeneric(use);
  });
}

int countCodeCorrections(Operation *op) {
  auto quotient = dyn_cast<arith::DivFOp>(op);
  if (!quotient || !quotient.getType().isF32() ||
      !isSameInRow(quotient.getRhs()) ||
      !endsInCodes(op, [](arith::TruncFOp) { return true; }))
    return 0;
  auto widened = behind(quotient.getLhs()).getDefiningOp<arith::ExtFOp>();
  return widened && widened.getIn().getType().getIntOrFloatBitWidth() <= 16 ? 1
                                                                            : 2;
}

bool isSaturatedCode(Operation *op) {
  arith::TruncFOp code = asCode(op);
  if (!code)
    return false;
  double outer, inner;
  bool outerIsGreatest, innerIsGreatest;
  Value clamped =
      boundedBy(behind(code.getIn()).getDefiningOp(), outer, outerIsGreatest);
  if (!clamped ||
      !boundedBy(behind(clamped).getDefiningOp(), inner, innerIsGreatest) ||
      outerIsGreatest == innerIsGreatest)
    return false;
  const double greatest = greatestOf(code);
  return outer == (outerIsGreatest ? greatest : -greatest) &&
         inner == (innerIsGreatest ? greatest : -greatest);
}

bool isOfSaturatedCodes(Operation *op) {
  double bound;
  bool isGreatest;
  return boundedBy(op, bound, isGreatest) &&
         endsInCodes(op, [&](arith::TruncFOp code) {
           const double greatest = greatestOf(code);
           return isSaturatedCode(code) &&
                  bound == (isGreatest ? greatest : -greatest);
         });
}

} // namespace aitune
