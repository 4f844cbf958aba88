#include "compiler/codegen/cpu/target/Intrinsics.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

using namespace mlir;

namespace aitune {

Value emitScale(OpBuilder &builder, Location location, Value value, Value n) {
  // All lanes; the rounding is that of the control register (4).
  const auto type = cast<VectorType>(value.getType());
  const int64_t lanes = type.getNumElements();
  Type maskType = builder.getIntegerType(std::max<int64_t>(lanes, 8));
  Value mask = LLVM::ConstantOp::create(builder, location, maskType,
                                        builder.getIntegerAttr(maskType, -1));
  SmallVector<Value> operands{value, n, value, mask};
  if (lanes == 16)
    operands.push_back(LLVM::ConstantOp::create(
        builder, location, builder.getI32Type(), builder.getI32IntegerAttr(4)));
  return LLVM::CallIntrinsicOp::create(
             builder, location, type,
             builder.getStringAttr("llvm.x86.avx512.mask.scalef.ps." +
                                   std::to_string(lanes * 32)),
             operands)
      .getResult(0);
}

} // namespace aitune
