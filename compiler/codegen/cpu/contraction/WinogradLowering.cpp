// Writes the loops of Winograd's algorithms around the microkernel.
#include "compiler/codegen/cpu/contraction/Winograd.h"
#include "compiler/dialect/Ait.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
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
              problem.shape.format.sum.getIntOrFloatBitWidth()),
        size(getWinogradOutputs(schedule.algorithm)), tileSize(size + 2),
        positions(tileSize * tileSize),
        panels(llvm::divideCeil(problem.outputs, schedule.nr)),
        rowLength(getWinogradRow(problem.inputs, lanes)),
        type(problem.shape.format.sum) {}

  LogicalResult emit(Value begin, Value end);

private:
  /// The place of a tile.
  struct Tile {
    Value image, row, column; ///< the place of the tile's first result
  };

  LogicalResult emitUnit(Value unit);
  Tile locate(Value tile);
  SmallVector<Value> getInputs(const Tile &place);
  Value emitTileTransform(Value tile, ArrayRef<Value> pointers,
                          bool finiteOnly);
  void emitInputTransform(Value firstTile, Value tiles);
  void emitSpecials(Value panel, const Tile &place);
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
  /// Of a scalar or a vector: its difference to itself is no NaN.
  Value isFinite(Value value) {
    Value difference = minus(value, value);
    return arith::CmpFOp::create(builder.ops(), builder.loc(),
                                 arith::CmpFPredicate::ORD, difference,
                                 difference);
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
  /// A byte for each tile of a block: an input of it is not finite.
  Value specials;
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
  specials = builder.stack(builder.ops().getI8Type(), schedule.mc);
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

SmallVector<Value> WinogradEmitter::getInputs(const Tile &place) {
  Value imageOffset = builder.mul(place.image, batchStride);
  SmallVector<Value> columns, columnOffsets, pointers;
  for (int64_t i = 0; i < tileSize; ++i) {
    Value column =
        builder.add(place.column, builder.constant(i - problem.padding[1]));
    columns.push_back(builder.unsignedLessThan(column, width));
    columnOffsets.push_back(builder.mul(column, columnStride));
  }
  for (int64_t i = 0; i < tileSize; ++i) {
    Value row =
        builder.add(place.row, builder.constant(i - problem.padding[0]));
    Value inside = builder.unsignedLessThan(row, height);
    Value offset = builder.add(imageOffset, builder.mul(row, rowStride));
    for (int64_t j = 0; j < tileSize; ++j)
      pointers.push_back(builder.select(
          builder.both(inside, columns[j]),
          builder.advance(input, type, builder.add(offset, columnOffsets[j])),
          zeros));
  }
  return pointers;
}

/// Transforms all channels of a tile. Returns a vector with a NaN in a lane
/// where an input is not finite. `finiteOnly` takes such inputs as zeros.
Value WinogradEmitter::emitTileTransform(Value tile, ArrayRef<Value> pointers,
                                         bool finiteOnly) {
  Value none = builder.zeroVector(type, lanes);
  auto body = [&](Value channel, ValueRange carried) -> SmallVector<Value> {
    Value mask;
    if (problem.inputs % lanes != 0)
      mask = builder.maskBelow(
          builder.sub(builder.constant(problem.inputs), channel), lanes);
    SmallVector<Value> square;
    for (Value pointer : pointers) {
      Value value = builder.loadVector(
          type, lanes, builder.advance(pointer, type, channel), mask);
      square.push_back(finiteOnly ? builder.select(isFinite(value), value, none)
                                  : value);
    }
    square = transformSquare(
        square, tileSize, [&](ArrayRef<Value> d) { return transformInput(d); });
    for (auto [position, value] : llvm::enumerate(square))
      builder.storeVector(
          value, builder.advance(inputsAt(builder.constant(position), tile),
                                 type, channel));
    // The first and the last row of B^T have all inputs between them.
    Value seen = carried.front();
    for (int64_t row : {int64_t{0}, tileSize - 1})
      for (int64_t column : {int64_t{0}, tileSize - 1})
        seen = scaledPlus(0, square[row * tileSize + column], seen);
    return {seen};
  };
  return builder
      .loop(builder.constant(0), builder.constant(problem.inputs), lanes, none,
            body)
      .front();
}

void WinogradEmitter::emitInputTransform(Value firstTile, Value tiles) {
  Type flag = builder.ops().getI8Type();
  builder.loop(builder.constant(0), tiles, 1, [&](Value tile) {
    SmallVector<Value> pointers =
        getInputs(locate(builder.add(firstTile, tile)));
    Value seen = emitTileTransform(tile, pointers, /*finiteOnly=*/false);
    Value isNan = arith::CmpFOp::create(builder.ops(), builder.loc(),
                                        arith::CmpFPredicate::UNO, seen, seen);
    Value special = vector::ReductionOp::create(
        builder.ops(), builder.loc(), vector::CombiningKind::OR, isNan);
    builder.store(
        arith::ExtUIOp::create(builder.ops(), builder.loc(), flag, special),
        builder.advance(specials, flag, tile));
    builder.ifThen(special, [&] {
      emitTileTransform(tile, pointers, /*finiteOnly=*/true);
    });
  });
}

/// Adds to a tile's results what inputs that are not finite contribute: as the
/// direct algorithm does, and only to results whose window has them.
void WinogradEmitter::emitSpecials(Value panel, const Tile &place) {
  Value zero = builder.constant(0), extent = builder.constant(size);
  auto filterAt = [&](int64_t row, int64_t column, Value channel,
                      Value output) {
    Value offset = builder.add(builder.mul(panel, builder.constant(positions)),
                               builder.constant(row * tileSize + column));
    offset = builder.add(builder.mul(offset, builder.constant(problem.inputs)),
                         channel);
    offset =
        builder.add(builder.mul(offset, builder.constant(schedule.nr)), output);
    return builder.loadVector(
        type, lanes,
        builder.advance(builder.buffer(problem.filter.argument), type, offset));
  };
  // The filter, from where it is seen in its transform: its first and last row
  // as they are, the middle one as a difference.
  const double middle = size == 2 ? 1 : -0.75 / kPointA;
  using Term = std::pair<int64_t, double>;
  const SmallVector<Term> terms[] = {
      {{0, 1}}, {{1, middle}, {2, -middle}}, {{tileSize - 1, 1}}};
  auto emitTap = [&](Value pixelRow, Value pixelColumn, int64_t tapRow,
                     int64_t tapColumn) {
    Value row = builder.add(builder.add(place.row, pixelRow),
                            builder.constant(tapRow - problem.padding[0]));
    Value column =
        builder.add(builder.add(place.column, pixelColumn),
                    builder.constant(tapColumn - problem.padding[1]));
    Value inside = builder.both(builder.unsignedLessThan(row, height),
                                builder.unsignedLessThan(column, width));
    Value offset = builder.add(builder.mul(place.image, batchStride),
                               builder.add(builder.mul(row, rowStride),
                                           builder.mul(column, columnStride)));
    Value source =
        builder.select(inside, builder.advance(input, type, offset), zeros);
    Value result = builder.advance(
        results, type,
        builder.mul(builder.add(builder.mul(pixelRow, extent), pixelColumn),
                    builder.constant(schedule.nr)));
    builder.loop(zero, builder.constant(problem.inputs), 1, [&](Value channel) {
      Value value = builder.load(type, builder.advance(source, type, channel));
      Value difference = minus(value, value);
      Value special = arith::CmpFOp::create(builder.ops(), builder.loc(),
                                            arith::CmpFPredicate::UNO,
                                            difference, difference);
      builder.ifThen(special, [&] {
        Value values = builder.splat(value, lanes);
        builder.loop(
            zero, builder.constant(schedule.nr), lanes, [&](Value output) {
              Value tap = builder.zeroVector(type, lanes);
              for (auto [i, rowFactor] : terms[tapRow])
                for (auto [j, columnFactor] : terms[tapColumn])
                  tap = scaledPlus(rowFactor * columnFactor,
                                   filterAt(i, j, channel, output), tap);
              Value pointer = builder.advance(result, type, output);
              Value sum = builder.loadVector(type, lanes, pointer);
              builder.storeVector(
                  LLVM::FMAOp::create(builder.ops(), builder.loc(),
                                      sum.getType(), values, tap, sum),
                  pointer);
            });
      });
    });
  };
  builder.loop(zero, extent, 1, [&](Value pixelRow) {
    builder.loop(zero, extent, 1, [&](Value pixelColumn) {
      for (int64_t tapRow = 0; tapRow < 3; ++tapRow)
        for (int64_t tapColumn = 0; tapColumn < 3; ++tapColumn)
          emitTap(pixelRow, pixelColumn, tapRow, tapColumn);
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
    Tile place = locate(builder.add(firstTile, tile));
    Type flag = builder.ops().getI8Type();
    Value special = builder.load(flag, builder.advance(specials, flag, tile));
    Value none =
        arith::ConstantIntOp::create(builder.ops(), builder.loc(), flag, 0);
    builder.ifThen(arith::CmpIOp::create(builder.ops(), builder.loc(),
                                         arith::CmpIPredicate::ne, special,
                                         none),
                   [&] { emitSpecials(panel, place); });
    // Tiles at the edge have results outside of the image.
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
