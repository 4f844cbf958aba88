#include "compiler/codegen/cpu/contraction/Microkernel.h"

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

/// A vector that was loaded from elements of `elementType` as one of
/// `wideType`.
Value emitWiden(KernelBuilder &builder, Value loaded, Type elementType,
                Type wideType) {
  return isa<Float8E4M3FNType>(elementType) ? emitFloat8ToFloat(builder, loaded)
                                            : builder.extend(loaded, wideType);
}

/// The same from memory; `mask` as KernelBuilder::loadVector has it.
Value emitWidenedLoad(KernelBuilder &builder, Type elementType, int64_t lanes,
                      Value pointer, Value mask, Type wideType) {
  return emitWiden(builder,
                   builder.loadVector(elementType, lanes, pointer, mask),
                   elementType, wideType);
}

SmallVector<Value> emitFusedMultiplyAdd(KernelBuilder &builder,
                                        const TileShape &tile,
                                        ValueRange lhsRows, const TileRhs &rhs,
                                        Value count, ValueRange accumulators) {
  return builder.loop(
      builder.constant(0), count, 1, accumulators,
      [&](Value step, ValueRange sums) -> SmallVector<Value> {
        Value rowPointer = builder.advance(rhs.pointer, rhs.elementType,
                                           builder.mul(step, rhs.rowStride));
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

/// The codes of `tile.lanes` columns from `column` on, of the row and the one
/// after it that begin at `row`, as pairs of bf16; !hasSecond: zeros after it.
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

SmallVector<Value> emitZeroTile(KernelBuilder &builder, const TileShape &tile) {
  Value zero = builder.zeroVector(tile.accumulatorType, tile.lanes);
  return SmallVector<Value>(tile.rows * tile.vectors, zero);
}

SmallVector<Value> emitMultiplyAccumulate(KernelBuilder &builder,
                                          MicrokernelKind kind,
                                          const TileShape &tile,
                                          ValueRange lhsRows,
                                          const TileRhs &rhs, Value count,
                                          ValueRange accumulators) {
  if (kind == MicrokernelKind::Bf16Pairs)
    return emitBf16Pairs(builder, tile, lhsRows, rhs, count, accumulators);
  if (kind == MicrokernelKind::ByteQuads)
    return emitByteQuads(builder, tile, lhsRows, rhs, count, accumulators);
  return emitFusedMultiplyAdd(builder, tile, lhsRows, rhs, count, accumulators);
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

/// The transpose of a square of vectors.
static SmallVector<Value> emitTranspose(KernelBuilder &builder,
                                        SmallVector<Value> rows) {
  int64_t lanes = rows.size();
  // Swaps the off-diagonal blocks of ever smaller squares.
  for (int64_t block = lanes / 2; block > 0; block /= 2) {
    SmallVector<int64_t> low, high;
    for (int64_t lane = 0; lane < lanes; ++lane) {
      bool second = lane & block;
      low.push_back(second ? lanes + lane - block : lane);
      high.push_back(second ? lanes + lane : lane + block);
    }
    for (int64_t row = 0; row < lanes; ++row) {
      if (row & block)
        continue;
      Value upper = rows[row], lower = rows[row + block];
      rows[row] = vector::ShuffleOp::create(builder.ops(), builder.loc(), upper,
                                            lower, low);
      rows[row + block] = vector::ShuffleOp::create(
          builder.ops(), builder.loc(), upper, lower, high);
    }
  }
  return rows;
}

/// For columns whose steps are neighbours: squares of lanes x lanes elements
/// are transposed in registers.
static void emitPackTransposed(KernelBuilder &builder, const TileShape &tile,
                               const PanelSource &source, Value firstStep,
                               Value steps, Value firstColumn,
                               Value validColumns, Value target) {
  Value lastColumn =
      builder.sub(builder.add(firstColumn, validColumns), builder.constant(1));
  builder.loop(
      builder.constant(0), builder.constant(tile.columns()), tile.lanes,
      [&](Value column) {
        SmallVector<Value> starts;
        for (int64_t lane = 0; lane < tile.lanes; ++lane) {
          Value index = builder.add(builder.add(firstColumn, column),
                                    builder.constant(lane));
          Value offset =
              builder.offset(source.columnAxis, builder.min(index, lastColumn));
          starts.push_back(builder.advance(source.pointer, source.elementType,
                                           builder.add(offset, firstStep)));
        }
        builder.loop(builder.constant(0), steps, tile.lanes, [&](Value step) {
          Value mask = builder.maskBelow(builder.sub(steps, step), tile.lanes);
          SmallVector<Value> rows;
          for (Value start : starts) {
            Value loaded = builder.loadVector(
                source.elementType, tile.lanes,
                builder.advance(start, source.elementType, step), mask);
            rows.push_back(emitWiden(builder, loaded, source.elementType,
                                     tile.accumulatorType));
          }
          rows = emitTranspose(builder, std::move(rows));
          Value row = builder.add(
              builder.mul(step, builder.constant(tile.columns())), column);
          for (int64_t lane = 0; lane < tile.lanes; ++lane)
            builder.storeVector(
                rows[lane],
                builder.advance(
                    target, tile.accumulatorType,
                    builder.add(row, builder.constant(lane * tile.columns()))));
        });
      });
}

void emitWidenPanel(KernelBuilder &builder, MicrokernelKind kind,
                    const TileShape &tile, Type codeType, Value source,
                    Value steps, Value target) {
  Value columns = builder.constant(tile.columns());
  // A pair of bf16 is as wide as an accumulator.
  auto store = [&](Value values, Value row, int64_t column) {
    builder.storeVector(
        values, builder.advance(target, tile.accumulatorType,
                                builder.add(row, builder.constant(column))));
  };
  if (kind == MicrokernelKind::FusedMultiplyAdd) {
    builder.loop(builder.constant(0), steps, 1, [&](Value step) {
      Value row = builder.mul(step, columns);
      Value codes = builder.advance(source, codeType, row);
      for (int64_t column = 0; column < tile.columns(); column += tile.lanes)
        store(emitWidenedLoad(
                  builder, codeType, tile.lanes,
                  builder.advance(codes, codeType, builder.constant(column)),
                  /*mask=*/{}, tile.accumulatorType),
              row, column);
    });
    return;
  }
  Value pairs = builder.div(steps, builder.constant(2));
  auto emitPair = [&](Value pair, bool hasSecond) {
    Value row = builder.mul(pair, columns);
    Value codes = builder.advance(source, codeType, builder.add(row, row));
    for (int64_t column = 0; column < tile.columns(); column += tile.lanes)
      store(emitCodePairs(builder, tile, codeType, codes, column, hasSecond),
            row, column);
  };
  builder.loop(builder.constant(0), pairs, 1,
               [&](Value pair) { emitPair(pair, /*hasSecond=*/true); });
  builder.ifThen(
      builder.unsignedLessThan(builder.mul(pairs, builder.constant(2)), steps),
      [&] { emitPair(pairs, /*hasSecond=*/false); });
}

void emitPackPanel(KernelBuilder &builder, const TileShape &tile,
                   const PanelSource &source, Value firstStep, Value steps,
                   Value firstColumn, Value validColumns, Value target) {
  if (!isContiguous(source.columnAxis) && isContiguous(source.stepAxis))
    return emitPackTransposed(builder, tile, source, firstStep, steps,
                              firstColumn, validColumns, target);
  SmallVector<Value> masks;
  for (int64_t vector = 0; vector < tile.vectors; ++vector)
    masks.push_back(builder.maskBelow(
        builder.sub(validColumns, builder.constant(vector * tile.lanes)),
        tile.lanes));
  builder.loop(builder.constant(0), steps, 1, [&](Value step) {
    Value stepOffset =
        builder.offset(source.stepAxis, builder.add(firstStep, step));
    Value row = builder.advance(source.pointer, source.elementType, stepOffset);
    Value targetRow =
        builder.advance(target, tile.accumulatorType,
                        builder.mul(step, builder.constant(tile.columns())));
    for (int64_t vector = 0; vector < tile.vectors; ++vector) {
      Value column = builder.constant(vector * tile.lanes);
      Value loaded = builder.loadAlong(source.columnAxis, source.elementType,
                                       row, builder.add(firstColumn, column),
                                       tile.lanes, masks[vector]);
      builder.storeVector(
          emitWiden(builder, loaded, source.elementType, tile.accumulatorType),
          builder.advance(targetRow, tile.accumulatorType, column));
    }
  });
}

} // namespace aitune
