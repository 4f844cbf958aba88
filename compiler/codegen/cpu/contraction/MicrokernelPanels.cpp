// Copies of right sides as the microkernel reads them: panels of vectors, one
// row a step.
#include "compiler/codegen/cpu/contraction/Microkernel.h"
#include "compiler/codegen/cpu/contraction/MicrokernelWidening.h"
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

/// For columns whose steps are neighbours: squares of lanes x lanes elements
/// are transposed in registers.
void emitPackTransposed(KernelBuilder &builder, const TileShape &tile,
                        const PanelSource &source, Value firstStep, Value steps,
                        Value firstColumn, Value validColumns, Value target) {
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
