#include "compiler/codegen/gpu/text/FollowUses.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/SmallVector.h"

using namespace mlir;

namespace aitune {

Value followGeneric(OpOperand &use) {
  Operation *op = use.getOwner();
  if (auto generic = dyn_cast<linalg::GenericOp>(op))
    return generic.getNumReductionLoops() == 0
               ? generic.getMatchingBlockArgument(&use)
               : Value();
  if (isa<linalg::YieldOp>(op) && isa<linalg::GenericOp>(op->getParentOp()))
    return op->getParentOp()->getResult(use.getOperandNumber());
  return Value();
}

bool allUsesEnd(Operation *op, llvm::function_ref<bool(OpOperand &)> isEnd,
                llvm::function_ref<Value(OpOperand &)> follow) {
  llvm::SmallVector<Value> open = {op->getResult(0)};
  llvm::DenseSet<Value> seen;
  while (!open.empty()) {
    Value value = open.pop_back_val();
    if (!seen.insert(value).second)
      continue;
    for (OpOperand &use : value.getUses()) {
      if (isEnd(use))
        continue;
      Value next = follow(use);
      if (!next)
        return false;
      open.push_back(next);
    }
  }
  return true;
}

} // namespace aitune
