#include "compiler/codegen/gpu/text/QuickForms.h"

#include "compiler/codegen/gpu/text/FollowUses.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/STLFunctionalExtras.h"

using namespace mlir;

namespace aitune {

/// Whether it can be told that `value` is not negative.
static bool isNotNegative(Value value) {
  APFloat number(0.0f);
  if (matchPattern(value, m_ConstantFloat(&number)))
    return !number.isNegative();
  Operation *op = value.getDefiningOp();
  if (!op)
    return false;
  if (isa<arith::AddFOp, arith::MulFOp, arith::DivFOp>(op))
    return llvm::all_of(op->getOperands(), isNotNegative);
  return isa<math::ExpOp, math::Exp2Op, math::AbsFOp>(op);
}

/// The value whose relative error is at most a small multiple of that of the
/// operand `use`; null if the error could grow, or has another meaning.
static Value passesOn(OpOperand &use) {
  Operation *op = use.getOwner();
  if (isa<linalg::GenericOp, linalg::YieldOp>(op))
    return followGeneric(use);
  if (isa<scf::YieldOp>(op) && isa<scf::IfOp>(op->getParentOp()))
    return op->getParentOp()->getResult(use.getOperandNumber());
  if (isa<arith::AddFOp>(op))
    return isNotNegative(op->getOperand(0)) && isNotNegative(op->getOperand(1))
               ? op->getResult(0)
               : Value();
  if (isa<arith::MulFOp, arith::DivFOp, arith::NegFOp, arith::SelectOp,
          math::AbsFOp, tensor::ExtractOp, tensor::CollapseShapeOp,
          tensor::ExpandShapeOp>(op))
    return op->getResult(0);
  return Value();
}

static bool isRoundedTo16Bits(OpOperand &use) {
  auto rounding = dyn_cast<arith::TruncFOp>(use.getOwner());
  return rounding &&
         (rounding.getType().isF16() || rounding.getType().isBF16());
}

/// Whether all that is made of `op`, of what `passes` gives for a use, is at
/// last rounded to 16 bits.
static bool endsRounded(Operation *op,
                        llvm::function_ref<Value(OpOperand &)> passes) {
  return allUsesEnd(op, isRoundedTo16Bits, passes);
}

bool mayBeQuickExp(Operation *op) {
  return isa<math::ExpOp>(op) && op->getResult(0).getType().isF32() &&
         endsRounded(op, passesOn);
}

bool mayHaveAbsoluteError(Operation *op) {
  return op->getResult(0).getType().isF32() &&
         endsRounded(op, [](OpOperand &use) {
           Operation *user = use.getOwner();
           if (auto generic = dyn_cast<linalg::GenericOp>(user))
             return Value(generic.getMatchingBlockArgument(&use));
           return isa<arith::AddFOp, arith::SubFOp>(user) ? user->getResult(0)
                                                          : passesOn(use);
         });
}

/// The operand of the sum `op` that 1 is added to; null if `op` is no such sum.
static Value summandOfOne(Operation *op) {
  auto sum = dyn_cast<arith::AddFOp>(op);
  if (!sum)
    return Value();
  if (matchPattern(sum.getRhs(), m_OneFloat()))
    return sum.getLhs();
  return matchPattern(sum.getLhs(), m_OneFloat()) ? sum.getRhs() : Value();
}

bool hasOneAdded(Operation *op) {
  return llvm::all_of(op->getUsers(),
                      [&](Operation *user) {
                        return summandOfOne(user) == op->getResult(0);
                      }) &&
         mayHaveAbsoluteError(op);
}

Operation *findWhatHasOneAdded(Operation *sum) {
  const Value summand = summandOfOne(sum);
  Operation *op = summand ? summand.getDefiningOp() : nullptr;
  return op && hasOneAdded(op) ? op : nullptr;
}

/// Whether `value` is made, in the same body, of an exponential that is quick.
static bool isOfQuickExp(Value value) {
  Operation *op = value.getDefiningOp();
  if (!op)
    return false;
  if (isa<arith::AddFOp, arith::MulFOp>(op))
    return llvm::any_of(op->getOperands(), isOfQuickExp);
  return mayBeQuickExp(op);
}

bool mayBeQuickQuotient(Operation *op) {
  auto quotient = dyn_cast<arith::DivFOp>(op);
  return quotient && quotient.getType().isF32() &&
         isOfQuickExp(quotient.getRhs());
}

} // namespace aitune
