#include "compiler/codegen/cpu/contraction/Microkernel.h"

#include "compiler/codegen/cpu/contraction/MicrokernelWidening.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;

namespace aitune {
namespace {

/// One step of the tile: sums[r][v] += lhs(r) * rhs[v].
SmallVector<Value>
emitStep(KernelBuilder &builder, const TileShape &tile, ArrayRef<Value> rhs,
         ValueRange sums, llvm::function_ref<Value(int64_t row)> lhs,
         llvm::function_ref<Value(Value, Value, Value)> multiplyAdd) {
  SmallVector<Value> next;
  for (int64_t row = 0; row < tile.rows; ++row) {
    Value left = lhs(row);
    for (int64_t vector = 0; vector < tile.vectors; ++vector)
      next.push_back(
          multiplyAdd(left, rhs[vector], sums[row * tile.vectors + vector]));
  }
  return next;
}

/// What of a right side that streams is asked for at a step: the row that is
/// read some steps later, which hide the way from the second-level cache.
Ahead getStreamed(KernelBuilder &builder, const TileShape &tile,
                  const TileRhs &rhs) {
  constexpr int64_t kBytesBefore = 768;
  const int64_t rowBytes =
      tile.columns() * rhs.elementType.getIntOrFloatBitWidth() / 8;
  return {
      builder.advance(rhs.pointer, builder.ops().getI8Type(),
                      builder.constant(llvm::alignTo(kBytesBefore, rowBytes))),
      rowBytes, rowBytes};
}

/// One accumulator for all steps.
SmallVector<Value> emitOneSum(KernelBuilder &builder, const TileShape &tile,
                              ValueRange lhsRows, const TileRhs &rhs,
                              Value count, ValueRange accumulators,
                              ArrayRef<Ahead> ahead) {
  return builder.loop(
      builder.constant(0), count, 1, accumulators,
      [&](Value step, ValueRange sums) -> SmallVector<Value> {
        Value rowPointer = builder.advance(rhs.pointer, rhs.elementType,
                                           builder.mul(step, rhs.rowStride));
        if (rhs.streams)
          emitPrefetch(builder, getStreamed(builder, tile, rhs), step,
                       /*level=*/1);
        for (const Ahead &next : ahead)
          emitPrefetch(builder, next, step, /*level=*/2);
        SmallVector<Value> right;
        for (int64_t vector = 0; vector < tile.vectors; ++vector) {
          Value pointer =
              builder.advance(rowPointer, rhs.elementType,
                              builder.constant(vector * tile.lanes));
          Value mask = rhs.masks.empty() ? Value() : rhs.masks[vector];
          right.push_back(emitWidenedLoad(builder, rhs.elementType, tile.lanes,
                                          pointer, mask, tile.accumulatorType));
        }
        auto lhs = [&](int64_t row) {
          Value pointer =
              builder.advance(lhsRows[row], tile.accumulatorType, step);
          return builder.splat(builder.load(tile.accumulatorType, pointer),
                               tile.lanes);
        };
        return emitStep(
            builder, tile, right, sums, lhs,
            [&](Value left, Value right, Value sum) -> Value {
              OpBuilder &ops = builder.ops();
              if (isa<FloatType>(tile.accumulatorType))
                return LLVM::FMAOp::create(ops, builder.loc(), sum.getType(),
                                           left, right, sum);
              return arith::AddIOp::create(
                  ops, builder.loc(), sum,
                  arith::MulIOp::create(ops, builder.loc(), left, right));
            });
      });
}

/// Steps whose products are added one after the other. The error of a sum grows
/// with the number of additions to one accumulator; in blocks it grows with the
/// length of a block and their number instead (Higham, Accuracy and Stability
/// of Numerical Algorithms, 4.2). Long enough that the sums of blocks, which
/// do not stay in registers, cost nothing.
constexpr int64_t kStepsOfSum = 512;

SmallVector<Value> emitFusedMultiplyAdd(KernelBuilder &builder,
                                        const TileShape &tile,
                                        ValueRange lhsRows, const TileRhs &rhs,
                                        Value count, ValueRange accumulators,
                                        ArrayRef<Ahead> ahead) {
  const std::optional<int64_t> known = getConstantIntValue(count);
  if (!isa<FloatType>(tile.accumulatorType) || (known && *known <= kStepsOfSum))
    return emitOneSum(builder, tile, lhsRows, rhs, count, accumulators, ahead);
  return builder.loop(
      builder.constant(0), count, kStepsOfSum, accumulators,
      [&](Value first, ValueRange sums) -> SmallVector<Value> {
        SmallVector<Value> rows;
        for (Value row : lhsRows)
          rows.push_back(builder.advance(row, tile.accumulatorType, first));
        TileRhs block = rhs;
        block.pointer = builder.advance(rhs.pointer, rhs.elementType,
                                        builder.mul(first, rhs.rowStride));
        Value steps = builder.min(builder.sub(count, first),
                                  builder.constant(kStepsOfSum));
        SmallVector<Ahead> later(ahead);
        for (Ahead &next : later)
          next.pointer = builder.advance(
              next.pointer, builder.ops().getI8Type(),
              builder.mul(first, builder.constant(next.stepBytes)));
        return emitAddTiles(builder, sums,
                            emitOneSum(builder, tile, rows, block, steps,
                                       emitZeroTile(builder, tile), later));
      });
}

SmallVector<Value> emitByteQuads(KernelBuilder &builder, const TileShape &tile,
                                 ValueRange lhsRows, const TileRhs &rhs,
                                 Value count, ValueRange accumulators) {
  OpBuilder &ops = builder.ops();
  Type i8 = ops.getI8Type(), i32 = ops.getI32Type();
  VectorType quadsType = builder.vectorType(i8, tile.lanes * 4);
  StringAttr intrinsic = ops.getStringAttr("llvm.x86.avx512.vpdpbusd.512");
  Value quads =
      builder.div(builder.add(count, builder.constant(3)), builder.constant(4));
  return builder.loop(
      builder.constant(0), quads, 1, accumulators,
      [&](Value quad, ValueRange sums) -> SmallVector<Value> {
        Value rowPointer =
            builder.advance(rhs.pointer, i8, builder.mul(quad, rhs.rowStride));
        SmallVector<Value> right;
        for (int64_t vector = 0; vector < tile.vectors; ++vector)
          right.push_back(builder.loadVector(
              i8, tile.lanes * 4,
              builder.advance(rowPointer, i8,
                              builder.constant(vector * tile.lanes * 4))));
        Value first = builder.mul(quad, builder.constant(4));
        auto lhs = [&](int64_t row) -> Value {
          Value four = LLVM::LoadOp::create(
              ops, builder.loc(), i32, builder.advance(lhsRows[row], i8, first),
              /*alignment=*/1);
          return vector::BitCastOp::create(ops, builder.loc(), quadsType,
                                           builder.splat(four, tile.lanes));
        };
        return emitStep(builder, tile, right, sums, lhs,
                        [&](Value left, Value right, Value sum) -> Value {
                          return LLVM::CallIntrinsicOp::create(
                                     ops, builder.loc(), sum.getType(),
                                     intrinsic, ValueRange{sum, left, right})
                              .getResult(0);
                        });
      });
}

/// One vdpbf16ps step at row `pair` of the right side; `lhs` gives a row's two
/// elements as an i32. !hasSecond: the last, odd one.
SmallVector<Value> emitPairStep(KernelBuilder &builder, const TileShape &tile,
                                const TileRhs &rhs, Value pair, bool hasSecond,
                                ValueRange sums,
                                llvm::function_ref<Value(int64_t row)> lhs) {
  OpBuilder &ops = builder.ops();
  VectorType pairsType = builder.vectorType(ops.getBF16Type(), tile.lanes * 2);
  Value rowPointer = builder.advance(rhs.pointer, rhs.elementType,
                                     builder.mul(pair, rhs.rowStride));
  SmallVector<Value> right;
  for (int64_t vector = 0; vector < tile.vectors; ++vector) {
    int64_t column = vector * tile.lanes;
    right.push_back(
        rhs.elementType.isBF16()
            ? builder.loadVector(rhs.elementType, tile.lanes * 2,
                                 builder.advance(rowPointer, rhs.elementType,
                                                 builder.constant(column * 2)))
            : vector::BitCastOp::create(
                  ops, builder.loc(), pairsType,
                  emitCodePairs(builder, tile, rhs.elementType, rowPointer,
                                column, hasSecond)));
  }
  auto splatPair = [&](int64_t row) -> Value {
    return vector::BitCastOp::create(ops, builder.loc(), pairsType,
                                     builder.splat(lhs(row), tile.lanes));
  };
  StringAttr intrinsic = ops.getStringAttr("llvm.x86.avx512bf16.dpbf16ps.512");
  return emitStep(builder, tile, right, sums, splatPair,
                  [&](Value left, Value right, Value sum) -> Value {
                    return LLVM::CallIntrinsicOp::create(
                               ops, builder.loc(), sum.getType(), intrinsic,
                               ValueRange{sum, left, right})
                        .getResult(0);
                  });
}

SmallVector<Value> emitBf16Pairs(KernelBuilder &builder, const TileShape &tile,
                                 ValueRange lhsRows, const TileRhs &rhs,
                                 Value count, ValueRange accumulators) {
  OpBuilder &ops = builder.ops();
  Type bf16 = ops.getBF16Type(), i32 = ops.getI32Type();
  Value pairs = builder.div(count, builder.constant(2));
  SmallVector<Value> sums = builder.loop(
      builder.constant(0), pairs, 1, accumulators,
      [&](Value pair, ValueRange sums) -> SmallVector<Value> {
        Value first = builder.mul(pair, builder.constant(2));
        return emitPairStep(builder, tile, rhs, pair, /*hasSecond=*/true, sums,
                            [&](int64_t row) -> Value {
                              return LLVM::LoadOp::create(
                                  ops, builder.loc(), i32,
                                  builder.advance(lhsRows[row], bf16, first),
                                  /*alignment=*/2);
                            });
      });
  Value odd =
      builder.unsignedLessThan(builder.mul(pairs, builder.constant(2)), count);
  return builder.ifElse(
      odd, TypeRange(ValueRange(sums)),
      [&] {
        Value last = builder.sub(count, builder.constant(1));
        return emitPairStep(
            builder, tile, rhs, pairs, /*hasSecond=*/false, sums,
            [&](int64_t row) -> Value {
              Value half = builder.load(
                  ops.getI16Type(), builder.advance(lhsRows[row], bf16, last));
              return arith::ExtUIOp::create(ops, builder.loc(), i32, half);
            });
      },
      [&] { return sums; });
}

/// An instruction that multiplies `stepsTogether` steps at once of vectors of
/// 512 bits.
struct DotProduct {
  MicrokernelKind kind;
  bool Target::*isThere;
  bool (*fits)(const OperandFormat &format);
  int64_t stepsTogether;
};

const DotProduct kDotProducts[] = {
    {MicrokernelKind::Bf16Pairs, &Target::hasAvx512Bf16,
     [](const OperandFormat &format) {
       return format.lhs.isBF16() && format.rhs.isBF16() && format.sum.isF32();
     },
     2},
    {MicrokernelKind::ByteQuads, &Target::hasAvx512Vnni,
     [](const OperandFormat &format) {
       return format.lhs.isUnsignedInteger(8) &&
              format.rhs.isSignlessInteger(8) && format.sum.isInteger(32);
     },
     4},
};

} // namespace

MicrokernelKind useStoredFactors(OperandFormat &format, const Target &target) {
  if (target.vectorBits != 512)
    return MicrokernelKind::FusedMultiplyAdd;
  for (const DotProduct &dot : kDotProducts)
    if (target.*dot.isThere && dot.fits(format)) {
      format.lhsFactor = format.lhs;
      format.rhsFactor = format.rhs;
      format.stepsTogether = dot.stepsTogether;
      return dot.kind;
    }
  return MicrokernelKind::FusedMultiplyAdd;
}

MicrokernelKind useWidenedCodes(OperandFormat &format, const Target &target) {
  OperandFormat widened = format;
  widened.rhs = format.lhs;
  const MicrokernelKind kind = useStoredFactors(widened, target);
  widened.rhs = format.rhs;
  format = widened;
  return kind;
}

bool streamsThroughL1(const Target &target, int64_t bytes) {
  return bytes > target.l1DataBytes;
}

SmallVector<Value> emitZeroTile(KernelBuilder &builder, const TileShape &tile) {
  Value zero = builder.zeroVector(tile.accumulatorType, tile.lanes);
  return SmallVector<Value>(tile.rows * tile.vectors, zero);
}

SmallVector<Value>
emitMultiplyAccumulate(KernelBuilder &builder, MicrokernelKind kind,
                       const TileShape &tile, ValueRange lhsRows,
                       const TileRhs &rhs, Value count, ValueRange accumulators,
                       ArrayRef<Ahead> ahead) {
  if (kind == MicrokernelKind::Bf16Pairs)
    return emitBf16Pairs(builder, tile, lhsRows, rhs, count, accumulators);
  if (kind == MicrokernelKind::ByteQuads)
    return emitByteQuads(builder, tile, lhsRows, rhs, count, accumulators);
  return emitFusedMultiplyAdd(builder, tile, lhsRows, rhs, count, accumulators,
                              ahead);
}

Ahead getPartOfPanel(KernelBuilder &builder, Value rhs, int64_t panelBytes,
                     int64_t stepBytes, int64_t tiles, Value tile) {
  constexpr int64_t kMostParts = 4;
  if (tiles < 2)
    return {};
  const int64_t parts = llvm::bit_floor(uint64_t(std::min(tiles, kMostParts)));
  Value part = builder.rem(tile, builder.constant(parts));
  Value offset =
      builder.add(builder.constant(panelBytes),
                  builder.mul(part, builder.constant(stepBytes / parts)));
  return {builder.advance(rhs, builder.ops().getI8Type(), offset), stepBytes,
          stepBytes / parts};
}

void emitPrefetch(KernelBuilder &builder, const Ahead &ahead, Value step,
                  int64_t level) {
  constexpr int64_t kLineBytes = 64;
  const Type byte = builder.ops().getI8Type();
  Value first =
      builder.advance(ahead.pointer, byte,
                      builder.mul(step, builder.constant(ahead.stepBytes)));
  // llvm.prefetch: a read (0) of data (1) that stays in this cache and those
  // behind it (3: the first level).
  for (int64_t line = 0; line < ahead.bytes; line += kLineBytes)
    LLVM::Prefetch::create(builder.ops(), builder.loc(),
                           builder.advance(first, byte, builder.constant(line)),
                           /*rw=*/0,
                           /*hint=*/4 - level, /*cache=*/1);
}

SmallVector<Value> emitAddTiles(KernelBuilder &builder, ValueRange lhs,
                                ValueRange rhs) {
  SmallVector<Value> sums;
  for (auto [left, right] : llvm::zip_equal(lhs, rhs)) {
    const bool isFloat =
        isa<FloatType>(cast<VectorType>(left.getType()).getElementType());
    sums.push_back(isFloat ? Value(arith::AddFOp::create(
                                 builder.ops(), builder.loc(), left, right))
                           : Value(arith::AddIOp::create(
                                 builder.ops(), builder.loc(), left, right)));
  }
  return sums;
}

void emitStoreTile(KernelBuilder &builder, const TileShape &tile,
                   ValueRange accumulators, Value pointer, int64_t rowStride) {
  for (int64_t row = 0; row < tile.rows; ++row)
    for (int64_t vector = 0; vector < tile.vectors; ++vector)
      builder.storeVector(
          accumulators[row * tile.vectors + vector],
          builder.advance(
              pointer, tile.accumulatorType,
              builder.constant(row * rowStride + vector * tile.lanes)));
}

SmallVector<Value> emitLoadTile(KernelBuilder &builder, const TileShape &tile,
                                Value pointer, int64_t rowStride) {
  SmallVector<Value> tileValues;
  for (int64_t row = 0; row < tile.rows; ++row)
    for (int64_t vector = 0; vector < tile.vectors; ++vector)
      tileValues.push_back(builder.loadVector(
          tile.accumulatorType, tile.lanes,
          builder.advance(
              pointer, tile.accumulatorType,
              builder.constant(row * rowStride + vector * tile.lanes))));
  return tileValues;
}

void emitRowTiles(
    KernelBuilder &builder, int64_t tileRows, Value count,
    std::optional<int64_t> rest,
    const std::function<void(Value row, int64_t rows)> &emitTile) {
  Value step = builder.constant(tileRows);
  Value whole = builder.mul(builder.div(count, step), step);
  if (getConstantIntValue(whole) != 0)
    builder.loop(builder.constant(0), whole, tileRows,
                 [&](Value row) { emitTile(row, tileRows); });
  if (auto constantCount = getConstantIntValue(count))
    rest = *constantCount % tileRows;
  if (rest) {
    if (*rest > 0)
      builder.ifThen(builder.lessThan(whole, count),
                     [&] { emitTile(whole, *rest); });
    return;
  }
  // Halving sizes: the largest power of two below tileRows first.
  int64_t rows = tileRows > 1 ? 1 : 0;
  while (rows * 2 < tileRows)
    rows *= 2;
  for (Value done = whole; rows > 0; rows /= 2) {
    Value left = builder.sub(count, done);
    Value tiles = builder.div(left, builder.constant(rows));
    Value end = builder.add(done, builder.mul(tiles, builder.constant(rows)));
    builder.loop(done, end, rows, [&](Value row) { emitTile(row, rows); });
    done = end;
  }
}

} // namespace aitune
