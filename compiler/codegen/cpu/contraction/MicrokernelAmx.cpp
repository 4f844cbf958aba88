// The microkernel in AMX tiles: 16 x 16 sums an instruction, of 16 x 32 by
// 32 x 16 elements of bf16, or of 16 x 64 unsigned by 64 x 16 signed bytes.
//
// Every tile register holds 16 rows of 64 bytes: the configuration of the tile
// unit is one for the whole kernel. Rows that do not exist are computed from
// whatever the copy of the left side holds there, and never read.
#include "compiler/codegen/cpu/contraction/Microkernel.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

using namespace mlir;

namespace aitune {
namespace {

constexpr int64_t kTileRows = 16, kTileBytes = 64;

class AmxEmitter {
public:
  explicit AmxEmitter(KernelBuilder &builder)
      : builder(builder), type(LLVM::LLVMX86AMXType::get(builder.context())),
        rows(number(kTileRows)), bytes(number(kTileBytes)) {}

  Value zero() {
    return call("llvm.x86.tilezero.internal", type, {rows, bytes});
  }
  Value load(Value pointer, Value strideBytes) {
    return call("llvm.x86.tileloadd64.internal", type,
                {rows, bytes, pointer, strideBytes});
  }
  void store(Value tile, Value pointer, Value strideBytes) {
    call("llvm.x86.tilestored64.internal", Type(),
         {rows, bytes, pointer, strideBytes, tile});
  }
  Value multiplyAdd(Type factor, Value lhs, Value rhs, Value sums) {
    return call(factor.isBF16() ? "llvm.x86.tdpbf16ps.internal"
                                : "llvm.x86.tdpbusd.internal",
                type, {rows, bytes, bytes, sums, lhs, rhs});
  }

private:
  Value number(int64_t value) {
    return LLVM::ConstantOp::create(builder.ops(), builder.loc(),
                                    builder.ops().getI16Type(), value);
  }
  Value call(StringRef intrinsic, Type result, ValueRange operands) {
    StringAttr name = builder.ops().getStringAttr(intrinsic);
    if (!result) {
      LLVM::CallIntrinsicOp::create(builder.ops(), builder.loc(), name,
                                    operands);
      return {};
    }
    return LLVM::CallIntrinsicOp::create(builder.ops(), builder.loc(), result,
                                         name, operands)
        .getResult(0);
  }

  KernelBuilder &builder;
  Type type;
  Value rows, bytes;
};

} // namespace

int64_t getAmxSteps(Type factor) {
  return kTileBytes * 8 / factor.getIntOrFloatBitWidth();
}

void emitAmxTile(KernelBuilder &builder, int64_t rows, int64_t columns,
                 Value lhs, Value lhsRowStride, const TileRhs &rhs, Value count,
                 bool startsAtZero, Value sums, int64_t sumsRowStride,
                 const Ahead &ahead) {
  AmxEmitter amx(builder);
  Type factor = rhs.elementType, f32 = builder.ops().getF32Type();
  const int64_t factorBytes = factor.getIntOrFloatBitWidth() / 8;
  const int64_t stepsTogether = 4 / factorBytes;
  int64_t rowTiles = rows / kTileRows, columnTiles = columns / 16;
  Value lhsStrideBytes =
      builder.mul(lhsRowStride, builder.constant(factorBytes));
  Value rhsStrideBytes =
      builder.mul(rhs.rowStride, builder.constant(factorBytes));
  Value sumsStrideBytes = builder.constant(sumsRowStride * 4);
  // Sums of either type are four bytes wide.
  auto sumsAt = [&](int64_t row, int64_t column) {
    return builder.advance(
        sums, f32,
        builder.constant(row * kTileRows * sumsRowStride + column * 16));
  };
  SmallVector<Value> accumulators;
  for (int64_t row = 0; row < rowTiles; ++row)
    for (int64_t column = 0; column < columnTiles; ++column)
      accumulators.push_back(
          startsAtZero ? amx.zero()
                       : amx.load(sumsAt(row, column), sumsStrideBytes));
  // The steps of a tile are 16 rows of the right side.
  accumulators = builder.loop(
      builder.constant(0), count, getAmxSteps(factor), accumulators,
      [&](Value step, ValueRange carried) -> SmallVector<Value> {
        Value rhsRow = builder.div(step, builder.constant(stepsTogether));
        Value right = builder.advance(rhs.pointer, factor,
                                      builder.mul(rhsRow, rhs.rowStride));
        if (ahead.pointer)
          emitPrefetch(builder, ahead,
                       builder.div(step, builder.constant(getAmxSteps(factor))),
                       /*level=*/2);
        SmallVector<Value> rhsTiles, next;
        for (int64_t column = 0; column < columnTiles; ++column)
          rhsTiles.push_back(amx.load(
              builder.advance(right, factor,
                              builder.constant(column * 16 * stepsTogether)),
              rhsStrideBytes));
        for (int64_t row = 0; row < rowTiles; ++row) {
          Value offset = builder.add(
              builder.mul(builder.constant(row * kTileRows), lhsRowStride),
              step);
          Value left =
              amx.load(builder.advance(lhs, factor, offset), lhsStrideBytes);
          for (int64_t column = 0; column < columnTiles; ++column)
            next.push_back(
                amx.multiplyAdd(factor, left, rhsTiles[column],
                                carried[row * columnTiles + column]));
        }
        return next;
      });
  for (int64_t row = 0; row < rowTiles; ++row)
    for (int64_t column = 0; column < columnTiles; ++column)
      amx.store(accumulators[row * columnTiles + column], sumsAt(row, column),
                sumsStrideBytes);
}

} // namespace aitune
