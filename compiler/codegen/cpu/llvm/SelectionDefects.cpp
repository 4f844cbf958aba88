#include "compiler/codegen/cpu/llvm/SelectionDefects.h"

#include <optional>

#include "llvm/ADT/STLExtras.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/Module.h"

using namespace llvm;

namespace aitune {
namespace {

/// The lane that `mask` enables if it is constant and enables one alone.
std::optional<unsigned> getOnlyLane(Value *mask) {
  auto *constant = dyn_cast<Constant>(mask);
  auto *type = dyn_cast<FixedVectorType>(mask->getType());
  if (!constant || !type)
    return std::nullopt;
  std::optional<unsigned> only;
  for (unsigned lane = 0; lane < type->getNumElements(); ++lane) {
    Constant *enabled = constant->getAggregateElement(lane);
    if (!enabled ||
        (!enabled->isNullValue() && (only || !enabled->isOneValue())))
      return std::nullopt;
    if (enabled->isOneValue())
      only = lane;
  }
  return only;
}

void storeOneElement(IntrinsicInst &store, unsigned lane) {
  IRBuilder<> builder(&store);
  Value *vector = store.getArgOperand(0);
  Type *element = cast<VectorType>(vector->getType())->getElementType();
  uint64_t bytes = store.getDataLayout().getTypeStoreSize(element);
  Value *address =
      builder.CreateConstGEP1_64(element, store.getArgOperand(1), lane);
  builder.CreateAlignedStore(
      builder.CreateExtractElement(vector, lane), address,
      commonAlignment(store.getParamAlign(1).valueOrOne(), lane * bytes));
  store.eraseFromParent();
}

void compareInFloat(FCmpInst &comparison) {
  IRBuilder<> builder(&comparison);
  auto *type = cast<VectorType>(comparison.getOperand(0)->getType());
  auto *wide = VectorType::get(builder.getFloatTy(), type);
  for (Use &operand : comparison.operands())
    operand.set(builder.CreateFPExt(operand.get(), wide));
}

} // namespace

void avoidSelectionDefects(Module &module) {
  for (Function &function : module)
    for (Instruction &instruction :
         make_early_inc_range(instructions(function))) {
      if (auto *comparison = dyn_cast<FCmpInst>(&instruction)) {
        Type *type = comparison->getOperand(0)->getType();
        if (type->isVectorTy() && type->getScalarType()->isBFloatTy())
          compareInFloat(*comparison);
        continue;
      }
      auto *call = dyn_cast<IntrinsicInst>(&instruction);
      if (!call || call->getIntrinsicID() != Intrinsic::masked_store)
        continue;
      if (std::optional<unsigned> lane = getOnlyLane(call->getArgOperand(2)))
        storeOneElement(*call, *lane);
    }
}

} // namespace aitune
