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

/// The bits of bfloats.
Value *castToBits(IRBuilder<> &builder, Value *value) {
  return builder.CreateBitCast(
      value, value->getType()->getWithNewType(builder.getInt16Ty()));
}

void storeOneElement(IntrinsicInst &store, unsigned lane) {
  IRBuilder<> builder(&store);
  Value *vector = store.getArgOperand(0);
  if (vector->getType()->getScalarType()->isBFloatTy())
    vector = castToBits(builder, vector);
  Type *element = cast<VectorType>(vector->getType())->getElementType();
  uint64_t bytes = store.getDataLayout().getTypeStoreSize(element);
  Value *address =
      builder.CreateConstGEP1_64(element, store.getArgOperand(1), lane);
  builder.CreateAlignedStore(
      builder.CreateExtractElement(vector, lane), address,
      commonAlignment(store.getParamAlign(1).valueOrOne(), lane * bytes));
  store.eraseFromParent();
}

/// A bfloat is the upper half of the float.
Value *extendBits(IRBuilder<> &builder, Value *narrow) {
  Type *type = narrow->getType();
  Value *bits = builder.CreateZExt(
      builder.CreateBitCast(narrow, type->getWithNewType(builder.getInt16Ty())),
      type->getWithNewType(builder.getInt32Ty()));
  return builder.CreateBitCast(builder.CreateShl(bits, 16),
                               type->getWithNewType(builder.getFloatTy()));
}

void compareInFloat(FCmpInst &comparison) {
  IRBuilder<> builder(&comparison);
  for (Use &operand : comparison.operands())
    operand.set(extendBits(builder, operand.get()));
}

void extendAsIntegers(FPExtInst &extension) {
  IRBuilder<> builder(&extension);
  extension.replaceAllUsesWith(extendBits(builder, extension.getOperand(0)));
  extension.eraseFromParent();
}

/// Whether the result is a whole number near the operand.
bool isRounding(Intrinsic::ID id) {
  switch (id) {
  case Intrinsic::ceil:
  case Intrinsic::floor:
  case Intrinsic::nearbyint:
  case Intrinsic::rint:
  case Intrinsic::round:
  case Intrinsic::roundeven:
  case Intrinsic::trunc:
    return true;
  default:
    return false;
  }
}

/// Whether the result is a whole number near the operand, or one of the
/// operands, up to its sign: a bfloat if these are.
bool isExactInBfloat(Intrinsic::ID id) {
  switch (id) {
  case Intrinsic::copysign:
  case Intrinsic::fabs:
  case Intrinsic::maximum:
  case Intrinsic::maximumnum:
  case Intrinsic::maxnum:
  case Intrinsic::minimum:
  case Intrinsic::minimumnum:
  case Intrinsic::minnum:
    return true;
  default:
    return isRounding(id);
  }
}

/// As for bfloats, of halves: LLVM takes vectors of them apart.
void roundInFloat(IntrinsicInst &call) {
  IRBuilder<> builder(&call);
  Type *type = call.getType();
  Value *wide = builder.CreateFPExt(call.getArgOperand(0),
                                    type->getWithNewType(builder.getFloatTy()));
  Value *rounded = builder.CreateIntrinsic(call.getIntrinsicID(),
                                           {wide->getType()}, {wide}, &call);
  call.replaceAllUsesWith(builder.CreateFPTrunc(rounded, type));
  call.eraseFromParent();
}

/// A half that is loaded to be extended, as the first of a vector of zeros and
/// not of what a register happened to have, which would be waited for.
void extendLoaded(FPExtInst &extension, LoadInst &load) {
  IRBuilder<> builder(&extension);
  Value *bits = builder.CreateZExt(
      builder.CreateBitCast(&load, builder.getInt16Ty()), builder.getInt32Ty());
  Value *words = builder.CreateInsertElement(
      Constant::getNullValue(FixedVectorType::get(builder.getInt32Ty(), 4)),
      bits, uint64_t{0});
  Value *halves = builder.CreateShuffleVector(
      builder.CreateBitCast(words,
                            FixedVectorType::get(builder.getHalfTy(), 8)),
      {0, 1, 2, 3});
  Value *floats = builder.CreateFPExt(
      halves, FixedVectorType::get(builder.getFloatTy(), 4));
  Value *wide = builder.CreateExtractElement(floats, uint64_t{0});
  if (wide->getType() != extension.getType())
    wide = builder.CreateFPExt(wide, extension.getType());
  extension.replaceAllUsesWith(wide);
  extension.eraseFromParent();
}

/// LLVM moves the conversion to float behind such a call, which it then makes
/// in float and rounds by a library function that no kernel has.
void computeInFloat(IntrinsicInst &call) {
  IRBuilder<> builder(&call);
  Type *type = call.getType();
  SmallVector<Value *, 2> operands;
  for (Value *operand : call.args())
    operands.push_back(extendBits(builder, operand));
  Value *wide = builder.CreateIntrinsic(
      call.getIntrinsicID(), {operands.front()->getType()}, operands, &call);
  Value *bits = builder.CreateTrunc(
      builder.CreateLShr(builder.CreateBitCast(
                             wide, type->getWithNewType(builder.getInt32Ty())),
                         16),
      type->getWithNewType(builder.getInt16Ty()));
  call.replaceAllUsesWith(builder.CreateBitCast(bits, type));
  call.eraseFromParent();
}

/// The operand that has the elements in memory; none for a load, which returns
/// them and has the ones in place of masked elements as its last operand.
std::optional<unsigned> getStoredOperand(Intrinsic::ID id) {
  if (id == Intrinsic::masked_store || id == Intrinsic::masked_scatter)
    return 0;
  return std::nullopt;
}

bool isMaskedAccess(Intrinsic::ID id) {
  return id == Intrinsic::masked_load || id == Intrinsic::masked_gather ||
         id == Intrinsic::masked_store || id == Intrinsic::masked_scatter;
}

void accessAsIntegers(IntrinsicInst &access) {
  IRBuilder<> builder(&access);
  std::optional<unsigned> stored = getStoredOperand(access.getIntrinsicID());
  const unsigned number = stored ? *stored : access.arg_size() - 1;
  auto *type = cast<VectorType>(access.getArgOperand(number)->getType());
  auto *integers = VectorType::get(builder.getInt16Ty(), type);
  SmallVector<Value *> operands(access.args());
  operands[number] = builder.CreateBitCast(operands[number], integers);
  SmallVector<Type *> overloads;
  if (stored)
    overloads = {integers, access.getArgOperand(1)->getType()};
  else
    overloads = {integers, access.getArgOperand(0)->getType()};
  CallInst *call =
      builder.CreateIntrinsic(access.getIntrinsicID(), overloads, operands);
  call->setAttributes(access.getAttributes());
  if (!stored)
    access.replaceAllUsesWith(builder.CreateBitCast(call, type));
  access.eraseFromParent();
}

/// Makes the same instruction on i16, with operands `first` and after.
void moveBits(Instruction &instruction, unsigned first) {
  IRBuilder<> builder(&instruction);
  Type *type = instruction.getType();
  Instruction *bits = instruction.clone();
  for (unsigned i = first; i < first + 2; ++i)
    bits->setOperand(i, castToBits(builder, instruction.getOperand(i)));
  bits->mutateType(type->getWithNewType(builder.getInt16Ty()));
  builder.Insert(bits);
  instruction.replaceAllUsesWith(builder.CreateBitCast(bits, type));
  instruction.eraseFromParent();
}

void loadBits(LoadInst &load) {
  IRBuilder<> builder(&load);
  Type *type = load.getType();
  Value *bits =
      builder.CreateAlignedLoad(type->getWithNewType(builder.getInt16Ty()),
                                load.getPointerOperand(), load.getAlign());
  load.replaceAllUsesWith(builder.CreateBitCast(bits, type));
  load.eraseFromParent();
}

void storeBits(StoreInst &store) {
  IRBuilder<> builder(&store);
  store.setOperand(0, castToBits(builder, store.getValueOperand()));
}

void mergeBits(PHINode &phi) {
  IRBuilder<> builder(&phi);
  Type *type = phi.getType();
  Type *bits = type->getWithNewType(builder.getInt16Ty());
  PHINode *merged = builder.CreatePHI(bits, phi.getNumIncomingValues());
  for (auto [value, block] : zip(phi.incoming_values(), phi.blocks())) {
    builder.SetInsertPoint(block->getTerminator());
    merged->addIncoming(builder.CreateBitCast(value, bits), block);
  }
  builder.SetInsertPoint(phi.getParent(),
                         phi.getParent()->getFirstInsertionPt());
  phi.replaceAllUsesWith(builder.CreateBitCast(merged, type));
  phi.eraseFromParent();
}

void insertBits(InsertElementInst &insertion) {
  IRBuilder<> builder(&insertion);
  Type *type = insertion.getType();
  Value *vector = builder.CreateInsertElement(
      castToBits(builder, insertion.getOperand(0)),
      castToBits(builder, insertion.getOperand(1)), insertion.getOperand(2));
  insertion.replaceAllUsesWith(builder.CreateBitCast(vector, type));
  insertion.eraseFromParent();
}

void extractBits(ExtractElementInst &extraction) {
  IRBuilder<> builder(&extraction);
  Value *bits = builder.CreateExtractElement(
      castToBits(builder, extraction.getVectorOperand()),
      extraction.getIndexOperand());
  extraction.replaceAllUsesWith(
      builder.CreateBitCast(bits, extraction.getType()));
  extraction.eraseFromParent();
}

/// Takes away the casts there and back again that the others leave, so that no
/// bfloat lives from one block to the next.
void removeCastsBack(Function &function) {
  for (Instruction &instruction :
       make_early_inc_range(instructions(function))) {
    auto *back = dyn_cast<BitCastInst>(&instruction);
    auto *there = back ? dyn_cast<BitCastInst>(back->getOperand(0)) : nullptr;
    if (!there || there->getSrcTy() != back->getDestTy())
      continue;
    back->replaceAllUsesWith(there->getOperand(0));
    back->eraseFromParent();
  }
  for (Instruction &instruction : make_early_inc_range(instructions(function)))
    if (isa<BitCastInst>(instruction) && instruction.use_empty())
      instruction.eraseFromParent();
}

} // namespace

void avoidSelectionDefects(Module &module) {
  auto isBfloat = [](Type *type) {
    return type->getScalarType()->isBFloatTy();
  };
  for (Function &function : module) {
    for (Instruction &instruction :
         make_early_inc_range(instructions(function))) {
      if (auto *comparison = dyn_cast<FCmpInst>(&instruction)) {
        if (isBfloat(comparison->getOperand(0)->getType()))
          compareInFloat(*comparison);
        continue;
      }
      if (auto *insertion = dyn_cast<InsertElementInst>(&instruction)) {
        if (isBfloat(insertion->getType()))
          insertBits(*insertion);
        continue;
      }
      if (auto *extension = dyn_cast<FPExtInst>(&instruction)) {
        if (isBfloat(extension->getSrcTy()) &&
            extension->getDestTy()->getScalarType()->isFloatTy())
          extendAsIntegers(*extension);
        else if (auto *load = dyn_cast<LoadInst>(extension->getOperand(0));
                 load && load->getType()->isHalfTy())
          extendLoaded(*extension, *load);
        continue;
      }
      if (auto *extraction = dyn_cast<ExtractElementInst>(&instruction)) {
        if (isBfloat(extraction->getType()))
          extractBits(*extraction);
        continue;
      }
      if (isa<SelectInst, ShuffleVectorInst>(instruction)) {
        if (isBfloat(instruction.getType()))
          moveBits(instruction, isa<SelectInst>(instruction) ? 1 : 0);
        continue;
      }
      if (auto *phi = dyn_cast<PHINode>(&instruction)) {
        if (isBfloat(phi->getType()))
          mergeBits(*phi);
        continue;
      }
      if (auto *load = dyn_cast<LoadInst>(&instruction)) {
        if (load->isSimple() && isBfloat(load->getType()))
          loadBits(*load);
        continue;
      }
      if (auto *store = dyn_cast<StoreInst>(&instruction)) {
        if (store->isSimple() && isBfloat(store->getValueOperand()->getType()))
          storeBits(*store);
        continue;
      }
      auto *call = dyn_cast<IntrinsicInst>(&instruction);
      if (call && isExactInBfloat(call->getIntrinsicID()) &&
          isBfloat(call->getType())) {
        computeInFloat(*call);
        continue;
      }
      if (call && isRounding(call->getIntrinsicID()) &&
          call->getType()->getScalarType()->isHalfTy()) {
        roundInFloat(*call);
        continue;
      }
      if (!call || !isMaskedAccess(call->getIntrinsicID()))
        continue;
      std::optional<unsigned> stored = getStoredOperand(call->getIntrinsicID());
      if (call->getIntrinsicID() == Intrinsic::masked_store)
        if (std::optional<unsigned> lane =
                getOnlyLane(call->getArgOperand(2))) {
          storeOneElement(*call, *lane);
          continue;
        }
      Value *elements = stored ? call->getArgOperand(*stored) : call;
      if (isBfloat(elements->getType()))
        accessAsIntegers(*call);
    }
    removeCastsBack(function);
  }
}

} // namespace aitune
