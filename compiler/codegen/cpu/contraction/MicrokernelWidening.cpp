#include "compiler/codegen/cpu/contraction/MicrokernelWidening.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;

namespace aitune {
namespace {

/// The numbers that codes of float8_e4m3fn, which are not NaN, stand for, in
/// f32. With its bits in their places in f16, whose exponent's bias is greater
/// by 8, a code is the number over 2^8, subnormal or not.
Value emitFloat8ToFloat(KernelBuilder &builder, Value codes) {
  OpBuilder &ops = builder.ops();
  int64_t lanes = cast<VectorType>(codes.getType()).getNumElements();
  VectorType bits = builder.vectorType(ops.getI16Type(), lanes);
  auto number = [&](int64_t value) -> Value {
    return arith::ConstantOp::create(
        ops, builder.loc(), bits,
        DenseElementsAttr::get(bits, APInt(16, value)));
  };
  // The sign is in bit 7 and all above it.
  Value wide = arith::ExtSIOp::create(ops, builder.loc(), bits, codes);
  Value shifted = arith::ShLIOp::create(ops, builder.loc(), wide, number(7));
  Value half =
      arith::AndIOp::create(ops, builder.loc(), shifted, number(0xbfff));
  VectorType floats = builder.vectorType(ops.getF32Type(), lanes);
  Value extended =
      builder.extend(vector::BitCastOp::create(
                         ops, builder.loc(),
                         builder.vectorType(ops.getF16Type(), lanes), half),
                     ops.getF32Type());
  Value factor = arith::ConstantOp::create(
      ops, builder.loc(), floats,
      DenseElementsAttr::get(floats, ops.getF32FloatAttr(256)));
  return arith::MulFOp::create(ops, builder.loc(), extended, factor);
}

/// Two vectors of f32 that bf16 holds exactly as vectors of pairs of bf16, in
/// lanes of i32; no second one: zeros.
Value emitInterleave(KernelBuilder &builder, int64_t lanes, Value first,
                     Value second) {
  OpBuilder &ops = builder.ops();
  VectorType bits = builder.vectorType(ops.getI32Type(), lanes);
  auto toBits = [&](Value values) -> Value {
    return vector::BitCastOp::create(ops, builder.loc(), bits, values);
  };
  Value half = arith::ConstantOp::create(
      ops, builder.loc(), bits,
      DenseElementsAttr::get(bits, ops.getI32IntegerAttr(16)));
  Value low = arith::ShRUIOp::create(ops, builder.loc(), toBits(first), half);
  if (!second)
    return low;
  // The low half of such a number is zero.
  return arith::OrIOp::create(ops, builder.loc(), low, toBits(second));
}

} // namespace

Value emitWiden(KernelBuilder &builder, Value loaded, Type elementType,
                Type wideType) {
  return isa<Float8E4M3FNType>(elementType) ? emitFloat8ToFloat(builder, loaded)
                                            : builder.extend(loaded, wideType);
}

Value emitWidenedLoad(KernelBuilder &builder, Type elementType, int64_t lanes,
                      Value pointer, Value mask, Type wideType) {
  return emitWiden(builder,
                   builder.loadVector(elementType, lanes, pointer, mask),
                   elementType, wideType);
}

Value emitCodePairs(KernelBuilder &builder, const TileShape &tile,
                    Type codeType, Value row, int64_t column, bool hasSecond) {
  auto load = [&](int64_t offset) {
    return emitWidenedLoad(
        builder, codeType, tile.lanes,
        builder.advance(row, codeType, builder.constant(offset)),
        /*mask=*/{}, builder.ops().getF32Type());
  };
  return emitInterleave(builder, tile.lanes, load(column),
                        hasSecond ? load(tile.columns() + column) : Value());
}

} // namespace aitune
