// Copies of right sides as the microkernel reads them: panels of vectors, one
// row a step.
#include "compiler/codegen/cpu/contraction/Microkernel.h"
#include "compiler/codegen/cpu/contraction/MicrokernelWidening.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;

namespace aitune {
namespace {

/// The transpose of a square of vectors.
SmallVector<Value> emitTranspose(KernelBuilder &builder,
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

/// For columns whose steps are neighbours: squares of lanes x lanes words are
/// transposed in registers. A word is an element, widened, or two steps of
/// bf16: `stepsOfWord` steps. `words` is how many there are.
void emitPackTransposed(KernelBuilder &builder, const TileShape &tile,
                        const PanelSource &source, int64_t stepsOfWord,
                        Value firstStep, Value words, Value firstColumn,
                        Value validColumns, Value target) {
  const Value packed = builder.constant(stepsOfWord);
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
        builder.loop(builder.constant(0), words, tile.lanes, [&](Value word) {
          const int64_t loadedLanes = tile.lanes * stepsOfWord;
          Value mask = builder.maskBelow(
              builder.mul(builder.sub(words, word), packed), loadedLanes);
          SmallVector<Value> rows;
          for (Value start : starts) {
            Value loaded =
                builder.loadVector(source.elementType, loadedLanes,
                                   builder.advance(start, source.elementType,
                                                   builder.mul(word, packed)),
                                   mask);
            rows.push_back(
                stepsOfWord == 1
                    ? emitWiden(builder, loaded, source.elementType,
                                tile.accumulatorType)
                    : vector::BitCastOp::create(
                          builder.ops(), builder.loc(),
                          builder.vectorType(tile.accumulatorType, tile.lanes),
                          loaded));
          }
          rows = emitTranspose(builder, std::move(rows));
          Value row = builder.add(
              builder.mul(word, builder.constant(tile.columns())), column);
          for (int64_t lane = 0; lane < tile.lanes; ++lane)
            builder.storeVector(
                rows[lane],
                builder.advance(
                    target, tile.accumulatorType,
                    builder.add(row, builder.constant(lane * tile.columns()))));
        });
      });
}

} // namespace

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
    return emitPackTransposed(builder, tile, source, /*stepsOfWord=*/1,
                              firstStep, steps, firstColumn, validColumns,
                              target);
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

void emitPackPairs(KernelBuilder &builder, const TileShape &tile,
                   const PanelSource &source, Value firstStep, Value steps,
                   Value firstColumn, Value validColumns, Value target) {
  OpBuilder &ops = builder.ops();
  const std::optional<int64_t> known = getConstantIntValue(steps);
  if (!isContiguous(source.columnAxis) && isContiguous(source.stepAxis) &&
      known && *known % 2 == 0)
    return emitPackTransposed(builder, tile, source, /*stepsOfWord=*/2,
                              firstStep, builder.constant(*known / 2),
                              firstColumn, validColumns, target);
  const VectorType words = builder.vectorType(ops.getI32Type(), tile.lanes);
  const Value two = builder.constant(2);
  const Value last =
      builder.sub(builder.add(firstStep, steps), builder.constant(1));
  // The bits of one step's row.
  auto bitsOf = [&](Value step, int64_t vector, Value mask) -> Value {
    Value index = builder.min(builder.add(firstStep, step), last);
    Value row = builder.advance(source.pointer, source.elementType,
                                builder.offset(source.stepAxis, index));
    Value loaded = builder.loadAlong(
        source.columnAxis, source.elementType, row,
        builder.add(firstColumn, builder.constant(vector * tile.lanes)),
        tile.lanes, mask);
    Value bits = vector::BitCastOp::create(
        ops, builder.loc(), builder.vectorType(ops.getI16Type(), tile.lanes),
        loaded);
    return arith::ExtUIOp::create(ops, builder.loc(), words, bits);
  };
  const Value half = arith::ConstantOp::create(
      ops, builder.loc(), words,
      DenseElementsAttr::get(words, ops.getI32IntegerAttr(16)));
  auto store = [&](Value pair, int64_t vector, Value first, Value second) {
    Value high = arith::ShLIOp::create(ops, builder.loc(), second, half);
    Value place =
        builder.add(builder.mul(pair, builder.constant(tile.columns())),
                    builder.constant(vector * tile.lanes));
    builder.storeVector(arith::OrIOp::create(ops, builder.loc(), first, high),
                        builder.advance(target, ops.getI32Type(), place));
  };
  auto validOf = [&](int64_t vector) {
    return builder.sub(validColumns, builder.constant(vector * tile.lanes));
  };
  SmallVector<Value> masks;
  for (int64_t vector = 0; vector < tile.vectors; ++vector)
    masks.push_back(builder.maskBelow(validOf(vector), tile.lanes));
  Value whole = builder.div(steps, two);
  builder.loop(builder.constant(0), whole, 1, [&](Value pair) {
    Value step = builder.mul(pair, two);
    for (int64_t vector = 0; vector < tile.vectors; ++vector)
      store(pair, vector, bitsOf(step, vector, masks[vector]),
            bitsOf(builder.add(step, builder.constant(1)), vector,
                   masks[vector]));
  });
  Value end = builder.mul(builder.div(builder.add(steps, builder.constant(31)),
                                      builder.constant(32)),
                          builder.constant(16));
  builder.loop(whole, end, 1, [&](Value pair) {
    Value step = builder.mul(pair, two);
    Value isThere = builder.lessThan(step, steps);
    Value none = arith::ConstantOp::create(ops, builder.loc(), words,
                                           ops.getZeroAttr(words));
    for (int64_t vector = 0; vector < tile.vectors; ++vector)
      store(pair, vector,
            bitsOf(step, vector,
                   builder.maskBelow(builder.select(isThere, validOf(vector),
                                                    builder.constant(0)),
                                     tile.lanes)),
            none);
  });
}

} // namespace aitune
