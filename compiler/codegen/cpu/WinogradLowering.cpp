// Writes the loops of Winograd's algorithms around the microkernel.
#include "compiler/codegen/cpu/Winograd.h"
#include "compiler/dialect/Ait.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace aitune {
namespace {

/// The points of F(4x4, 3x3) other than 0 and infinity are these and their
/// negatives: a * b = 1, a * a = 1 / 2.
constexpr double kPointA = 0.70710678118654752, kPointB = 1.4142135623730951;

class WinogradEmitter {
public:
  WinogradEmitter(KernelBuilder &builder, const ConvolutionProblem &problem,
                  const ConvolutionSchedule &schedule, const Epilogue &epilogue)
      : builder(builder), problem(problem), schedule(schedule),
        epilogue(epilogue),
        lanes(builder.target().vectorBits /
              problem.accumulatorType.getIntOrFloatBitWidth()),
        size(getWinogradOutputs(schedule.algorithm)), tileSize(size + 2),
        positions(tileSize * tileSize),
        panels(llvm::divideCeil(problem.outputs, schedule.nr)),
        rowLength(getWinogradRow(problem.inputs, lanes)),
        type(problem.accumulatorType) {}

  LogicalResult emit(Value begin, Value end);

private:
  /// Where a tile lies.
  struct Tile {
    Value image, row, column; ///< of its first result
  };

  LogicalResult emitUnit(Value unit);
  Tile locate(Value tile);
  void emitInputTransform(Value firstTile, Value tiles);
  void emitProducts(Value panel, Value tiles, std::optional<int64_t> rest);
  LogicalResult emitOutputTransform(Value panel, Value firstTile, Value tiles);
  SmallVector<Value> transformInput(ArrayRef<Value> d);
  SmallVector<Value> transformOutput(ArrayRef<Value> m);
  /// One-dimensional `transform` along the columns of a square of values, then
  /// along what were its rows.
  SmallVector<Value> transformSquare(
      ArrayRef<Value> square, int64_t results,
      llvm::function_ref<SmallVector<Value>(ArrayRef<Value>)> transform);

  Value plus(Value lhs, Value rhs) {
    return arith::AddFOp::create(builder.ops(), builder.loc(), lhs, rhs);
  }
  Value minus(Value lhs, Value rhs) {
    return arith::SubFOp::create(builder.ops(), builder.loc(), lhs, rhs);
  }
  Value splat(double number, Value like) {
    return arith::ConstantOp::create(
        builder.ops(), builder.loc(),
        DenseElementsAttr::get(cast<VectorType>(like.getType()),
                               builder.ops().getFloatAttr(type, number)));
  }
  Value times(double factor, Value value) {
    return arith::MulFOp::create(builder.ops(), builder.loc(),
                                 splat(factor, value), value);
  }
  /// factor * lhs + rhs
  Value scaledPlus(double factor, Value lhs, Value rhs) {
    return LLVM::FMAOp::create(builder.ops(), builder.loc(), lhs.getType(),
                               splat(factor, lhs), lhs, rhs);
  }
  Value inputsAt(Value position, Value tile) {
    Value row =
        builder.add(builder.mul(position, builder.constant(schedule.mc)), tile);
    return builder.advance(transformed, type,
                           builder.mul(row, builder.constant(rowLength)));
  }
  Value sumsAt(Value position, Value tile) {
    Value row =
        builder.add(builder.mul(position, builder.constant(schedule.mc)), tile);
    return builder.advance(sums, type,
                           builder.mul(row, builder.constant(schedule.nr)));
  }

  KernelBuilder &builder;
  const ConvolutionProblem &problem;
  const ConvolutionSchedule &schedule;
  const Epilogue &epilogue;
  const int64_t lanes;
  /// Results and inputs of a tile along one axis; its inputs.
  const int64_t size, tileSize, positions;
  const int64_t panels, rowLength;
  const Type type;
  Value height, width, outputHeight, outputWidth, tileRows, tileColumns;
  Value batchStride, rowStride, columnStride;
  /// [positions][mc][rowLength], [positions][mc][nr] and [size * size][nr].
  Value input, zeros, transformed, sums, results;
};

LogicalResult WinogradEmitter::emit(Value begin, Value end) {
  height = builder.evaluate(problem.height);
  width = builder.evaluate(problem.width);
  outputHeight = builder.evaluate(problem.outputHeight);
  outputWidth = builder.evaluate(problem.outputWidth);
  tileRows = builder.evaluate(problem.outputHeight.ceilDiv(size));
  tileColumns = builder.evaluate(problem.outputWidth.ceilDiv(size));
  batchStride = builder.evaluate(problem.batchStride);
  rowStride = builder.evaluate(problem.rowStride);
  columnStride = builder.evaluate(problem.columnStride);
  input = builder.advance(builder.buffer(problem.input.argument), type,
                          builder.evaluate(problem.input.layout.offset));
  zeros = builder.zeros(type, llvm::alignTo(problem.inputs, lanes) + lanes);
  transformed = builder.stack(type, positions * schedule.mc * rowLength);
  sums = builder.stack(type, positions * schedule.mc * schedule.nr);
  results = builder.stack(type, size * size * schedule.nr);
  LogicalResult result = success();
  builder.loop(begin, end, 1, [&](Value unit) { result = emitUnit(unit); });
  return result;
}

LogicalResult WinogradEmitter::emitUnit(Value unit) {
  AffineExpr tileCount = getWinogradTiles(problem, schedule.algorithm);
  Value blocks = builder.evaluate(tileCount.ceilDiv(schedule.mc));
  int64_t groups = llvm::divideCeil(panels, schedule.panels);
  Value group, block;
  if (schedule.panelsOuter) {
    group = builder.div(unit, blocks);
    block = builder.rem(unit, blocks);
  } else {
    block = builder.div(unit, builder.constant(groups));
    group = builder.rem(unit, builder.constant(groups));
  }
  Value firstTile = builder.mul(block, builder.constant(schedule.mc));
  Value tiles =
      builder.min(builder.constant(schedule.mc),
                  builder.sub(builder.evaluate(tileCount), firstTile));
  std::optional<int64_t> rest;
  if (auto constant = dyn_cast<AffineConstantExpr>(tileCount)) {
    rest = constant.getValue() % schedule.mr;
    if (constant.getValue() % schedule.mc == 0)
      tiles = builder.constant(schedule.mc);
    else if (constant.getValue() < schedule.mc)
      tiles = builder.constant(constant.getValue());
  }
  emitInputTransform(firstTile, tiles);
  Value firstPanel = builder.mul(group, builder.constant(schedule.panels));
  Value endPanel = builder.add(firstPanel, builder.constant(schedule.panels));
  if (panels % schedule.panels != 0)
    endPanel = builder.min(endPanel, builder.constant(panels));
  LogicalResult result = success();
  builder.loop(firstPanel, endPanel, 1, [&](Value panel) {
    emitProducts(panel, tiles, rest);
    result = emitOutputTransform(panel, firstTile, tiles);
  });
  return result;
}

WinogradEmitter::Tile WinogradEmitter::locate(Value tile) {
  Value above = builder.div(tile, tileColumns);
  return {builder.div(above, tileRows),
          builder.mul(builder.rem(above, tileRows), builder.constant(size)),
          builder.mul(builder.rem(tile, tileColumns), builder.constant(size))};
}

SmallVector<Value> WinogradEmitter::transformSquare(
    ArrayRef<Value> square, int64_t count,
    llvm::function_ref<SmallVector<Value>(ArrayRef<Value>)> transform) {
  SmallVector<Value> half(count * tileSize), whole;
  for (int64_t column = 0; column < tileSize; ++column) {
    SmallVector<Value> line;
    for (int64_t row = 0; row < tileSize; ++row)
      line.push_back(square[row * tileSize + column]);
    for (auto [row, value] : llvm::enumerate(transform(line)))
      half[row * tileSize + column] = value;
  }
  for (int64_t row = 0; row < count; ++row)
    llvm::append_range(
        whole, transform(ArrayRef(half).slice(row * tileSize, tileSize)));
  return whole;
}

/// B^T d.
SmallVector<Value> WinogradEmitter::transformInput(ArrayRef<Value> d) {
  if (size == 2)
    return {minus(d[0], d[2]), plus(d[1], d[2]), minus(d[2], d[1]),
            minus(d[1], d[3])};
  // The points x and -x share their even and their odd terms.
  Value evenOfA = scaledPlus(-2, d[2], d[4]),
        oddOfA = scaledPlus(-2, d[1], d[3]);
  Value evenOfB = scaledPlus(-0.5, d[2], d[4]),
        oddOfB = scaledPlus(-0.5, d[1], d[3]);
  return {scaledPlus(-2.5, d[2], plus(d[0], d[4])),
          scaledPlus(kPointA, oddOfA, evenOfA),
          scaledPlus(-kPointA, oddOfA, evenOfA),
          scaledPlus(kPointB, oddOfB, evenOfB),
          scaledPlus(-kPointB, oddOfB, evenOfB),
          scaledPlus(-2.5, d[3], plus(d[1], d[5]))};
}

/// A^T m.
SmallVector<Value> WinogradEmitter::transformOutput(ArrayRef<Value> m) {
  if (size == 2)
    return {plus(m[0], plus(m[1], m[2])), minus(minus(m[1], m[2]), m[3])};
  Value evenOfA = plus(m[1], m[2]), evenOfB = plus(m[3], m[4]);
  Value oddOfA = times(kPointA, minus(m[1], m[2])),
        oddOfB = times(kPointB, minus(m[3], m[4]));
  return {plus(plus(m[0], evenOfA), evenOfB), plus(oddOfA, oddOfB),
          scaledPlus(0.5, evenOfA, times(2, evenOfB)),
          scaledPlus(0.5, oddOfA, scaledPlus(2, oddOfB, m[5]))};
}

void WinogradEmitter::emitInputTransform(Value firstTile, Value tiles) {
  Value zero = builder.constant(0);
  builder.loop(zero, tiles, 1, [&](Value tile) {
    Tile place = locate(builder.add(firstTile, tile));
    Value firstRow =
        builder.sub(place.row, builder.constant(problem.padding[0]));
    Value firstColumn =
        builder.sub(place.column, builder.constant(problem.padding[1]));
    Value imageOffset = builder.mul(place.image, batchStride);
    SmallVector<Value> columns, columnOffsets, pointers;
    for (int64_t i = 0; i < tileSize; ++i) {
      Value column = builder.add(firstColumn, builder.constant(i));
      columns.push_back(builder.unsignedLessThan(column, width));
      columnOffsets.push_back(builder.mul(column, columnStride));
    }
    for (int64_t i = 0; i < tileSize; ++i) {
      Value row = builder.add(firstRow, builder.constant(i));
      Value inside = builder.unsignedLessThan(row, height);
      Value offset = builder.add(imageOffset, builder.mul(row, rowStride));
      for (int64_t j = 0; j < tileSize; ++j)
        pointers.push_back(builder.select(
            builder.both(inside, columns[j]),
            builder.advance(input, type, builder.add(offset, columnOffsets[j])),
            zeros));
    }
    builder.loop(
        zero, builder.constant(problem.inputs), lanes, [&](Value channel) {
          Value mask;
          if (problem.inputs % lanes != 0)
            mask = builder.maskBelow(
                builder.sub(builder.constant(problem.inputs), channel), lanes);
          SmallVector<Value> square;
          for (Value pointer : pointers)
            square.push_back(builder.loadVector(
                type, lanes, builder.advance(pointer, type, channel), mask));
          square = transformSquare(square, tileSize, [&](ArrayRef<Value> d) {
            return transformInput(d);
          });
          for (auto [position, value] : llvm::enumerate(square))
            builder.storeVector(
                value,
                builder.advance(inputsAt(builder.constant(position), tile),
                                type, channel));
        });
  });
}

/// sums[position][tile] = transformed[position][tile] * filters[position], for
/// the columns of one panel.
void WinogradEmitter::emitProducts(Value panel, Value tiles,
                                   std::optional<int64_t> rest) {
  builder.loop(
      builder.constant(0), builder.constant(positions), 1, [&](Value position) {
        Value filters = builder.add(
            builder.mul(panel, builder.constant(positions)), position);
        TileRhs rhs{builder.advance(
                        builder.buffer(problem.filter.argument), type,
                        builder.mul(filters, builder.constant(problem.inputs *
                                                              schedule.nr))),
                    builder.constant(schedule.nr),
                    type,
                    {}};
        emitRowTiles(builder, schedule.mr, tiles, rest,
                     [&](Value tile, int64_t count) {
                       TileShape shape{count, schedule.nr / lanes, lanes, type};
                       Value first = inputsAt(position, tile);
                       SmallVector<Value> rows;
                       for (int64_t i = 0; i < count; ++i)
                         rows.push_back(builder.advance(
                             first, type, builder.constant(i * rowLength)));
                       SmallVector<Value> products = emitMultiplyAccumulate(
                           builder, problem.shape.kind, shape, rows, rhs,
                           builder.constant(problem.inputs),
                           emitZeroTile(builder, shape));
                       emitStoreTile(builder, shape, products,
                                     sumsAt(position, tile), schedule.nr);
                     });
      });
}

LogicalResult WinogradEmitter::emitOutputTransform(Value panel, Value firstTile,
                                                   Value tiles) {
  Value zero = builder.constant(0), width = builder.constant(schedule.nr);
  Value firstColumn = builder.mul(panel, width);
  Value columns =
      problem.outputs % schedule.nr == 0
          ? width
          : builder.min(width, builder.sub(builder.constant(problem.outputs),
                                           firstColumn));
  LogicalResult result = success();
  builder.loop(zero, tiles, 1, [&](Value tile) {
    builder.loop(zero, width, lanes, [&](Value column) {
      SmallVector<Value> square;
      for (int64_t position = 0; position < positions; ++position)
        square.push_back(builder.loadVector(
            type, lanes,
            builder.advance(sumsAt(builder.constant(position), tile), type,
                            column)));
      square = transformSquare(
          square, size, [&](ArrayRef<Value> m) { return transformOutput(m); });
      for (auto [pixel, value] : llvm::enumerate(square))
        builder.storeVector(
            value,
            builder.advance(
                results, type,
                builder.add(builder.constant(pixel * schedule.nr), column)));
    });
    // Tiles at the edge have results outside of the image.
    Tile place = locate(builder.add(firstTile, tile));
    auto inside = [&](AffineExpr extent, Value all, Value first) {
      auto constant = dyn_cast<AffineConstantExpr>(extent);
      Value most = builder.constant(size);
      if (constant && constant.getValue() % size == 0)
        return most;
      return builder.min(most, builder.sub(all, first));
    };
    Value rows = inside(problem.outputHeight, outputHeight, place.row),
          pixels = inside(problem.outputWidth, outputWidth, place.column);
    builder.loop(zero, rows, 1, [&](Value row) {
      Value outputRow = builder.add(
          builder.add(builder.mul(place.image, outputHeight), place.row), row);
      Value firstPixel =
          builder.add(builder.mul(outputRow, outputWidth), place.column);
      result = epilogue.emitBlock(
          builder, firstPixel, pixels, firstColumn, columns,
          problem.outputs % lanes == 0, type, lanes,
          builder.advance(
              results, type,
              builder.mul(row, builder.constant(size * schedule.nr))),
          schedule.nr);
    });
  });
  return result;
}

} // namespace

LogicalResult emitWinograd(KernelBuilder &builder,
                           const ConvolutionProblem &problem,
                           const ConvolutionSchedule &schedule,
                           const Epilogue &epilogue, Value begin, Value end) {
  return WinogradEmitter(builder, problem, schedule, epilogue).emit(begin, end);
}

} // namespace aitune
