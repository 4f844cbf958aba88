#include "compiler/codegen/cpu/contraction/MicrokernelBuilder.h"

#include <numeric>

#include "compiler/codegen/linalg/PointwiseToScalar.h"
#include "compiler/dialect/ElementTypes.h"
#include "compiler/dialect/KernelAttributes.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/AffineMap.h"

using namespace mlir;

namespace aitune {
namespace {

/// Bytes an element takes in memory, which is also the alignment the ABI
/// promises.
unsigned getBytes(Type elementType) {
  return std::max(1u, getMemoryType(elementType).getIntOrFloatBitWidth() / 8);
}

/// How the lanes of a vector along an axis lie in memory.
enum class LaneAccess { Broadcast, Contiguous, Scattered };

LaneAccess getLaneAccess(const LayoutAxis &axis, int64_t lanes) {
  if (isBroadcast(axis))
    return LaneAccess::Broadcast;
  if (isContiguous(axis))
    return LaneAccess::Contiguous;
  // A vector inside one step of the outer modes sees the innermost only.
  const LayoutMode &inner = axis.back();
  auto stride = dyn_cast<AffineConstantExpr>(inner.stride);
  if (!stride || (axis.size() > 1 && !inner.size.isMultipleOf(lanes)))
    return LaneAccess::Scattered;
  if (stride.getValue() == 0)
    return LaneAccess::Broadcast;
  return stride.getValue() == 1 ? LaneAccess::Contiguous
                                : LaneAccess::Scattered;
}

} // namespace

Type getMemoryType(Type elementType) {
  Type type = getRegisterType(elementType);
  const bool isByte = type.isInteger(1) || ait::isFloatCode(type);
  return isByte ? IntegerType::get(type.getContext(), 8) : type;
}

KernelBuilder::KernelBuilder(OpBuilder &builder, Location location,
                             const Target &target, Value buffers, Value symbols)
    : builder(builder), location(location), cpu(target), bufferTable(buffers),
      symbolTable(symbols), entry(builder.getInsertionBlock()) {}

Value KernelBuilder::constant(int64_t value) {
  return arith::ConstantOp::create(builder, location,
                                   builder.getI64IntegerAttr(value));
}
Value KernelBuilder::add(Value lhs, Value rhs) {
  return builder.createOrFold<arith::AddIOp>(location, lhs, rhs);
}
Value KernelBuilder::sub(Value lhs, Value rhs) {
  return builder.createOrFold<arith::SubIOp>(location, lhs, rhs);
}
Value KernelBuilder::mul(Value lhs, Value rhs) {
  return builder.createOrFold<arith::MulIOp>(location, lhs, rhs);
}
Value KernelBuilder::div(Value lhs, Value rhs) {
  return builder.createOrFold<arith::DivUIOp>(location, lhs, rhs);
}
Value KernelBuilder::rem(Value lhs, Value rhs) {
  return builder.createOrFold<arith::RemUIOp>(location, lhs, rhs);
}
Value KernelBuilder::min(Value lhs, Value rhs) {
  return builder.createOrFold<arith::MinSIOp>(location, lhs, rhs);
}
Value KernelBuilder::lessThan(Value lhs, Value rhs) {
  return builder.createOrFold<arith::CmpIOp>(
      location, arith::CmpIPredicate::slt, lhs, rhs);
}
Value KernelBuilder::unsignedLessThan(Value lhs, Value rhs) {
  return builder.createOrFold<arith::CmpIOp>(
      location, arith::CmpIPredicate::ult, lhs, rhs);
}
Value KernelBuilder::select(Value condition, Value onTrue, Value onFalse) {
  return builder.createOrFold<arith::SelectOp>(location, condition, onTrue,
                                               onFalse);
}
Value KernelBuilder::both(Value lhs, Value rhs) {
  return builder.createOrFold<arith::AndIOp>(location, lhs, rhs);
}

Value KernelBuilder::symbol(unsigned index) {
  Value &value = loadedSymbols[index];
  if (!value) {
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(entry);
    Value pointer = advance(symbolTable, builder.getI64Type(), constant(index));
    value = load(builder.getI64Type(), pointer);
  }
  return value;
}

Value KernelBuilder::floorDiv(Value lhs, Value rhs) {
  // Truncation rounds up below zero, where a window larger than its input
  // gives the size 0.
  Value down = sub(lhs, select(lessThan(lhs, constant(0)),
                               sub(rhs, constant(1)), constant(0)));
  return builder.createOrFold<arith::DivSIOp>(location, down, rhs);
}

Value KernelBuilder::evaluate(AffineExpr expression) {
  if (auto constantExpr = dyn_cast<AffineConstantExpr>(expression))
    return constant(constantExpr.getValue());
  if (auto symbolExpr = dyn_cast<AffineSymbolExpr>(expression))
    return symbol(symbolExpr.getPosition());
  auto binary = cast<AffineBinaryOpExpr>(expression);
  Value lhs = evaluate(binary.getLHS());
  Value rhs = evaluate(binary.getRHS());
  switch (expression.getKind()) {
  case AffineExprKind::Add:
    return add(lhs, rhs);
  case AffineExprKind::Mul:
    return mul(lhs, rhs);
  case AffineExprKind::FloorDiv:
    return floorDiv(lhs, rhs);
  case AffineExprKind::CeilDiv:
    return floorDiv(add(lhs, sub(rhs, constant(1))), rhs);
  case AffineExprKind::Mod:
    return sub(lhs, mul(floorDiv(lhs, rhs), rhs));
  default:
    llvm_unreachable("sizes are expressions over symbols");
  }
}

Value KernelBuilder::offset(const LayoutAxis &axis, Value index) {
  Value sum = constant(0);
  for (size_t level = axis.size(); level-- > 0;) {
    Value digit = index;
    if (level > 0) {
      Value size = evaluate(axis[level].size);
      digit = rem(index, size);
      index = div(index, size);
    }
    sum = add(sum, mul(digit, evaluate(axis[level].stride)));
  }
  return sum;
}

Value KernelBuilder::buffer(unsigned index) {
  Value &value = loadedBuffers[index];
  if (!value) {
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(entry);
    Type pointerType = LLVM::LLVMPointerType::get(context());
    Value slot = LLVM::GEPOp::create(
        builder, location, pointerType, pointerType, bufferTable,
        ArrayRef<LLVM::GEPArg>{static_cast<int32_t>(index)});
    value = LLVM::LoadOp::create(builder, location, pointerType, slot);
  }
  return value;
}

Value KernelBuilder::advance(Value pointer, Type elementType, Value offset) {
  if (auto constantOp = offset.getDefiningOp<arith::ConstantIntOp>();
      constantOp && constantOp.value() == 0)
    return pointer;
  return LLVM::GEPOp::create(builder, location, pointer.getType(),
                             getMemoryType(elementType), pointer,
                             ArrayRef<LLVM::GEPArg>{offset});
}

Value KernelBuilder::stack(Type elementType, int64_t count) {
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(entry);
  return LLVM::AllocaOp::create(
      builder, location, LLVM::LLVMPointerType::get(context()),
      getMemoryType(elementType), constant(count), /*alignment=*/64);
}

Value KernelBuilder::zeros(Type elementType, int64_t count) {
  auto function = entry->getParentOp();
  auto module = function->getParentOfType<ModuleOp>();
  auto arrayType = LLVM::LLVMArrayType::get(getMemoryType(elementType), count);
  std::string name =
      ("zeros_of_" + SymbolTable::getSymbolName(function).getValue()).str();
  OpBuilder::InsertionGuard guard(builder);
  if (!module.lookupSymbol(name)) {
    builder.setInsertionPointToStart(module.getBody());
    LLVM::GlobalOp::create(builder, location, arrayType, /*isConstant=*/true,
                           LLVM::Linkage::Internal, name,
                           builder.getZeroAttr(RankedTensorType::get(
                               {count}, getMemoryType(elementType))),
                           /*alignment=*/64);
  }
  builder.setInsertionPointToStart(entry);
  return LLVM::AddressOfOp::create(builder, location,
                                   LLVM::LLVMPointerType::get(context()), name);
}

Value KernelBuilder::load(Type elementType, Value pointer) {
  Type memoryType = getMemoryType(elementType);
  Value value = LLVM::LoadOp::create(builder, location, memoryType, pointer,
                                     getBytes(elementType));
  if (getRegisterType(elementType).isInteger(1))
    value = emitConvert(builder, location, value, builder.getI1Type());
  return value;
}

void KernelBuilder::store(Value scalar, Value pointer) {
  if (scalar.getType().isInteger(1))
    scalar =
        arith::ExtUIOp::create(builder, location, builder.getI8Type(), scalar);
  LLVM::StoreOp::create(builder, location, scalar, pointer,
                        getBytes(scalar.getType()));
}

Value KernelBuilder::loadVector(Type elementType, int64_t lanes, Value pointer,
                                Value mask) {
  Type memoryType = getMemoryType(elementType);
  unsigned alignment = getBytes(elementType);
  Value value;
  if (mask) {
    // Masks of 16-bit floats are legal on fewer CPUs than masks of integers.
    Type loadedType =
        ait::isHalf(memoryType) ? builder.getI16Type() : memoryType;
    value = LLVM::MaskedLoadOp::create(
        builder, location, vectorType(loadedType, lanes), pointer, mask,
        zeroVector(loadedType, lanes), alignment);
    if (loadedType != memoryType)
      value = vector::BitCastOp::create(builder, location,
                                        vectorType(memoryType, lanes), value);
  } else {
    value = LLVM::LoadOp::create(
        builder, location, vectorType(memoryType, lanes), pointer, alignment);
  }
  if (getRegisterType(elementType).isInteger(1))
    value = emitConvert(builder, location, value, builder.getI1Type());
  return value;
}

void KernelBuilder::storeVector(Value vector, Value pointer, Value mask) {
  auto type = cast<VectorType>(vector.getType());
  unsigned alignment = getBytes(type.getElementType());
  if (type.getElementType().isInteger(1))
    vector = arith::ExtUIOp::create(builder, location,
                                    type.clone(builder.getI8Type()), vector);
  if (!mask) {
    LLVM::StoreOp::create(builder, location, vector, pointer, alignment);
    return;
  }
  if (type.getElementType().isF16() || type.getElementType().isBF16())
    vector = vector::BitCastOp::create(
        builder, location, type.clone(builder.getI16Type()), vector);
  LLVM::MaskedStoreOp::create(builder, location, vector, pointer, mask,
                              alignment);
}

Value KernelBuilder::gather(Type elementType, Value pointer, Value offsets,
                            Value mask) {
  int64_t lanes = cast<VectorType>(offsets.getType()).getDimSize(0);
  const Type memoryType = getMemoryType(elementType);
  // As in loadVector: LLVM takes gathers of bf16 apart into scalars that it
  // rounds.
  VectorType type = vectorType(
      ait::isHalf(memoryType) ? builder.getI16Type() : memoryType, lanes);
  auto pointers = VectorType::get({lanes}, pointer.getType());
  Value addresses =
      LLVM::GEPOp::create(builder, location, pointers, type.getElementType(),
                          pointer, ArrayRef<LLVM::GEPArg>{offsets});
  if (!mask)
    mask = arith::ConstantOp::create(
        builder, location,
        DenseElementsAttr::get(vectorType(builder.getI1Type(), lanes), true));
  Value value = LLVM::masked_gather::create(
      builder, location, type, addresses, mask,
      ValueRange{zeroVector(type.getElementType(), lanes)},
      builder.getI32IntegerAttr(getBytes(elementType)));
  if (type.getElementType() != memoryType)
    value = vector::BitCastOp::create(builder, location,
                                      vectorType(memoryType, lanes), value);
  if (getRegisterType(elementType).isInteger(1))
    value = emitConvert(builder, location, value, builder.getI1Type());
  return value;
}

void KernelBuilder::scatter(Value vector, Value pointer, Value offsets,
                            Value mask) {
  auto type = cast<VectorType>(vector.getType());
  if (type.getElementType().isInteger(1))
    vector = arith::ExtUIOp::create(builder, location,
                                    type.clone(builder.getI8Type()), vector);
  type = cast<VectorType>(vector.getType());
  int64_t lanes = type.getDimSize(0);
  Value addresses = LLVM::GEPOp::create(
      builder, location, VectorType::get({lanes}, pointer.getType()),
      type.getElementType(), pointer, ArrayRef<LLVM::GEPArg>{offsets});
  if (!mask)
    mask = arith::ConstantOp::create(
        builder, location,
        DenseElementsAttr::get(vectorType(builder.getI1Type(), lanes), true));
  LLVM::masked_scatter::create(
      builder, location, vector, addresses, mask,
      builder.getI32IntegerAttr(getBytes(type.getElementType())));
}

Value KernelBuilder::offsets(const LayoutAxis &axis, Value index,
                             int64_t lanes) {
  SmallVector<int64_t> numbers(lanes);
  std::iota(numbers.begin(), numbers.end(), 0);
  Value digits = arith::ConstantOp::create(builder, location,
                                           builder.getI64VectorAttr(numbers));
  digits =
      arith::AddIOp::create(builder, location, digits, splat(index, lanes));
  Value sum = zeroVector(builder.getI64Type(), lanes);
  for (size_t level = axis.size(); level-- > 0;) {
    Value digit = digits;
    if (level > 0) {
      Value size = splat(evaluate(axis[level].size), lanes);
      digit = arith::RemUIOp::create(builder, location, digits, size);
      digits = arith::DivUIOp::create(builder, location, digits, size);
    }
    Value product = arith::MulIOp::create(
        builder, location, digit, splat(evaluate(axis[level].stride), lanes));
    sum = arith::AddIOp::create(builder, location, sum, product);
  }
  return sum;
}

Value KernelBuilder::loadAlong(const LayoutAxis &axis, Type elementType,
                               Value start, Value index, int64_t lanes,
                               Value mask) {
  LaneAccess access = getLaneAccess(axis, lanes);
  if (access == LaneAccess::Scattered)
    return gather(elementType, start, offsets(axis, index, lanes), mask);
  Value pointer = advance(start, elementType, offset(axis, index));
  if (access == LaneAccess::Broadcast)
    return splat(load(elementType, pointer), lanes);
  return loadVector(elementType, lanes, pointer, mask);
}

void KernelBuilder::storeAlong(const LayoutAxis &axis, Value vector,
                               Value start, Value index, Value mask) {
  auto type = cast<VectorType>(vector.getType());
  int64_t lanes = type.getDimSize(0);
  // An axis of size 1 is stored through its mask like any other.
  if (isContiguous(axis) ||
      getLaneAccess(axis, lanes) == LaneAccess::Contiguous)
    storeVector(vector,
                advance(start, type.getElementType(), offset(axis, index)),
                mask);
  else
    scatter(vector, start, offsets(axis, index, lanes), mask);
}

Value KernelBuilder::splat(Value scalar, int64_t lanes) {
  return vector::BroadcastOp::create(
      builder, location, vectorType(scalar.getType(), lanes), scalar);
}

Value KernelBuilder::zeroVector(Type elementType, int64_t lanes) {
  return arith::ConstantOp::create(
      builder, location, builder.getZeroAttr(vectorType(elementType, lanes)));
}

Value KernelBuilder::maskBelow(Value count, int64_t lanes) {
  SmallVector<int32_t> numbers(lanes);
  std::iota(numbers.begin(), numbers.end(), 0);
  Value indices = arith::ConstantOp::create(builder, location,
                                            builder.getI32VectorAttr(numbers));
  // Any count of lanes or more fills the mask, so the narrow type is enough.
  Value limit = arith::TruncIOp::create(builder, location, builder.getI32Type(),
                                        min(count, constant(lanes)));
  return arith::CmpIOp::create(builder, location, arith::CmpIPredicate::slt,
                               indices, splat(limit, lanes));
}

Value KernelBuilder::extend(Value value, Type elementType) {
  Type type = value.getType();
  if (getElementTypeOrSelf(type) == elementType)
    return value;
  if (getElementTypeOrSelf(type).isInteger())
    return emitConvert(builder, location, value, elementType);
  if (auto vector = dyn_cast<VectorType>(type))
    return arith::ExtFOp::create(builder, location, vector.clone(elementType),
                                 value);
  return arith::ExtFOp::create(builder, location, elementType, value);
}

SmallVector<Value> KernelBuilder::loop(Value begin, Value end, int64_t step,
                                       ValueRange carried,
                                       const LoopBody &body) {
  auto loopOp = scf::ForOp::create(builder, location, begin, end,
                                   constant(step), carried);
  OpBuilder::InsertionGuard guard(builder);
  // A loop that carries nothing comes with its terminator.
  if (carried.empty())
    builder.setInsertionPoint(loopOp.getBody()->getTerminator());
  else
    builder.setInsertionPointToStart(loopOp.getBody());
  SmallVector<Value> next =
      body(loopOp.getInductionVar(), loopOp.getRegionIterArgs());
  if (!carried.empty())
    scf::YieldOp::create(builder, location, next);
  return llvm::to_vector(llvm::map_range(
      loopOp.getResults(), [](OpResult result) { return Value(result); }));
}

void KernelBuilder::loop(Value begin, Value end, int64_t step,
                         const std::function<void(Value)> &body) {
  loop(begin, end, step, ValueRange{}, [&](Value index, ValueRange) {
    body(index);
    return SmallVector<Value>();
  });
}

void KernelBuilder::ifThen(Value condition, const std::function<void()> &then,
                           const std::function<void()> &otherwise) {
  APInt known;
  if (matchPattern(condition, m_ConstantInt(&known))) {
    if (!known.isZero())
      then();
    else if (otherwise)
      otherwise();
    return;
  }
  auto ifOp = scf::IfOp::create(builder, location, condition,
                                static_cast<bool>(otherwise));
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPoint(ifOp.thenBlock()->getTerminator());
  then();
  if (otherwise) {
    builder.setInsertionPoint(ifOp.elseBlock()->getTerminator());
    otherwise();
  }
}

SmallVector<Value>
KernelBuilder::ifElse(Value condition, TypeRange types,
                      const std::function<SmallVector<Value>()> &then,
                      const std::function<SmallVector<Value>()> &otherwise) {
  APInt known;
  if (matchPattern(condition, m_ConstantInt(&known)))
    return known.isZero() ? otherwise() : then();
  auto ifOp = scf::IfOp::create(builder, location, types, condition,
                                /*addThenBlock=*/true, /*addElseBlock=*/true);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(ifOp.thenBlock());
  scf::YieldOp::create(builder, location, then());
  builder.setInsertionPointToStart(ifOp.elseBlock());
  scf::YieldOp::create(builder, location, otherwise());
  return llvm::to_vector(llvm::map_range(
      ifOp.getResults(), [](OpResult result) { return Value(result); }));
}

LogicalResult rewriteToAbi(
    func::FuncOp kernel, const Target &target, AffineExpr grid, int64_t grain,
    const std::function<LogicalResult(KernelBuilder &, Value, Value)> &body) {
  MLIRContext *context = kernel.getContext();
  OpBuilder builder(context);
  Location location = kernel.getLoc();
  Type pointer = LLVM::LLVMPointerType::get(context),
       i64 = builder.getI64Type();
  // The new body is written in a function of its own, so that a failure leaves
  // the kernel as it was.
  auto type = builder.getFunctionType({pointer, pointer, i64, i64}, {});
  builder.setInsertionPoint(kernel);
  auto abi = func::FuncOp::create(builder, location, kernel.getName(), type);
  Block *entry = abi.addEntryBlock();
  builder.setInsertionPointToStart(entry);
  func::ReturnOp::create(builder, location);
  builder.setInsertionPointToStart(entry);
  {
    KernelBuilder kernelBuilder(builder, location, target,
                                entry->getArgument(0), entry->getArgument(1));
    // Loads and allocations go to the entry's start; the code goes to its end.
    builder.setInsertionPoint(entry->getTerminator());
    if (failed(body(kernelBuilder, entry->getArgument(2),
                    entry->getArgument(3)))) {
      abi.erase();
      return failure();
    }
  }
  for (NamedAttribute attribute : kernel->getDiscardableAttrs())
    abi->setAttr(attribute.getName(), attribute.getValue());
  ait::setLaunchShape(abi, {grid, grain});
  kernel.erase();
  return success();
}

} // namespace aitune
