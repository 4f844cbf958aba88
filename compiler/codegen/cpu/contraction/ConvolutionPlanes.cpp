// Depthwise convolution of images that are stored channel by channel: vectors
// run along a row of the image, and the filter's taps are the same in all
// lanes. A tile is a few output rows under each other; the input rows that
// their windows share are loaded once for each column of the filter.
#include <map>
#include <numeric>

#include "compiler/codegen/cpu/contraction/Convolution.h"
#include "compiler/dialect/Ait.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace aitune {
namespace {

/// Filters of more taps are loops over their columns.
constexpr int64_t kUnrolledTaps = 16;
/// The part of the registers that the taps of a filter may keep.
constexpr int64_t kTapRegisters = 3;

class PlanesEmitter {
public:
  PlanesEmitter(KernelBuilder &builder, const ConvolutionProblem &problem,
                const MatmulSchedule &schedule, const Epilogue &epilogue)
      : builder(builder), problem(problem), schedule(schedule),
        epilogue(epilogue), sumType(problem.shape.format.sum),
        lanes(builder.target().vectorBits / sumType.getIntOrFloatBitWidth()),
        taps(problem.kernelHeight * problem.kernelWidth) {}

  LogicalResult emit(Value begin, Value end);

private:
  void emitUnit(Value unit);
  void readTaps(Value channel);
  Value getTap(Value tapRow, Value tapColumn);
  void forEachStrip(function_ref<void()> body);
  void emitTile(Value row);
  void emitEdgeRow(Value row);
  /// The inputs under a column of the filter, for all rows: where the first is
  /// in a row, and which of the elements that are loaded are in the image
  /// (null: all; `high` is that of a second vector).
  struct InputColumns {
    Value first, low, high;
  };
  InputColumns getInputColumns(Value tapColumn);
  Value loadInput(Value rowStart, const InputColumns &columns);
  /// Which of elements from, from + step, ... of a row are in the image; null
  /// away from the image's edges.
  Value maskOf(Value from, int64_t step);
  using ColumnBody = std::function<SmallVector<Value>(Value, ValueRange)>;
  SmallVector<Value> forEachColumn(ValueRange carried, const ColumnBody &body);
  void finish(Value row, ValueRange sums);
  Value multiplyAdd(Value lhs, Value rhs, Value sum) {
    return LLVM::FMAOp::create(builder.ops(), builder.loc(), sum.getType(), lhs,
                               rhs, sum);
  }

  KernelBuilder &builder;
  const ConvolutionProblem &problem;
  const MatmulSchedule &schedule;
  const Epilogue &epilogue;
  const Type sumType;
  const int64_t lanes, taps;
  LogicalResult result = success();
  Value height, width, outputHeight, outputWidth, rowStride, input, sums;
  Value wideTaps; ///< the taps of a filter of a narrower type than the sums
  // The unit's plane, its output rows, those of them whose windows lie in the
  // image, as tiles and rest, and the filter.
  Value plane, planeStart, firstRow, lastRow, insideRow, restRow, filter;
  SmallVector<Value> tapRegisters;
  // Places of the strip of output columns that is written.
  Value column, inputColumn, storeMask;
  bool isEdge = false;
};

LogicalResult PlanesEmitter::emit(Value begin, Value end) {
  height = builder.evaluate(problem.height);
  width = builder.evaluate(problem.width);
  outputHeight = builder.evaluate(problem.outputHeight);
  outputWidth = builder.evaluate(problem.outputWidth);
  rowStride = builder.evaluate(problem.rowStride);
  input = builder.advance(builder.buffer(problem.input.argument),
                          problem.input.storedType,
                          builder.evaluate(problem.input.layout.offset));
  sums = builder.stack(sumType, schedule.mr * lanes);
  if (problem.filter.storedType != sumType)
    wideTaps = builder.stack(sumType, taps);
  builder.loop(begin, end, 1, [&](Value unit) { emitUnit(unit); });
  return result;
}

/// The filter of the unit's channel: in the type of the sums, and in registers
/// where there are few taps.
void PlanesEmitter::readTaps(Value channel) {
  const Type stored = problem.filter.storedType;
  filter = builder.advance(builder.buffer(problem.filter.argument), stored,
                           builder.mul(channel, builder.constant(taps)));
  if (wideTaps) {
    builder.loop(builder.constant(0), builder.constant(taps), 1, [&](Value i) {
      builder.store(builder.extend(builder.load(stored, builder.advance(
                                                            filter, stored, i)),
                                   sumType),
                    builder.advance(wideTaps, sumType, i));
    });
    filter = wideTaps;
  }
  tapRegisters.clear();
  if (taps * kTapRegisters <= builder.target().vectorRegisters)
    for (int64_t i = 0; i < taps; ++i)
      tapRegisters.push_back(builder.splat(
          builder.load(sumType,
                       builder.advance(filter, sumType, builder.constant(i))),
          lanes));
}

Value PlanesEmitter::getTap(Value tapRow, Value tapColumn) {
  Value index = builder.add(
      builder.mul(tapRow, builder.constant(problem.kernelWidth)), tapColumn);
  if (std::optional<int64_t> known = getConstantIntValue(index);
      known && !tapRegisters.empty())
    return tapRegisters[*known];
  return builder.splat(
      builder.load(sumType, builder.advance(filter, sumType, index)), lanes);
}

void PlanesEmitter::emitUnit(Value unit) {
  Value blockRows = builder.constant(schedule.mc);
  Value blocks = builder.div(
      builder.add(outputHeight, builder.constant(schedule.mc - 1)), blockRows);
  plane = builder.div(unit, blocks);
  Value channel = builder.rem(plane, builder.constant(problem.groups)),
        image = builder.div(plane, builder.constant(problem.groups));
  planeStart = builder.advance(
      input, problem.input.storedType,
      builder.add(
          builder.mul(image, builder.evaluate(problem.batchStride)),
          builder.mul(channel, builder.evaluate(problem.channelStride))));
  readTaps(channel);

  firstRow = builder.mul(builder.rem(unit, blocks), blockRows);
  lastRow = builder.min(builder.add(firstRow, blockRows), outputHeight);
  auto [inside, outside] = getInside(
      builder, height, outputHeight, problem.stride[0], problem.padding[0],
      (problem.kernelHeight - 1) * problem.dilation[0]);
  auto intoBlock = [&](Value row) {
    row = builder.select(builder.lessThan(row, firstRow), firstRow, row);
    return builder.min(row, lastRow);
  };
  insideRow = intoBlock(inside);
  Value tileRows = builder.constant(schedule.mr);
  Value tiles =
      builder.div(builder.sub(intoBlock(outside), insideRow), tileRows);
  restRow = builder.add(insideRow, builder.mul(tiles, tileRows));

  // Row by row, in the order of memory, which prefetchers follow.
  builder.loop(insideRow, restRow, schedule.mr,
               [&](Value row) { forEachStrip([&] { emitTile(row); }); });
  // The rows above and below, by one loop.
  Value above = builder.sub(insideRow, firstRow),
        below = builder.sub(lastRow, restRow);
  builder.loop(builder.constant(0), builder.add(above, below), 1, [&](Value i) {
    Value row =
        builder.select(builder.lessThan(i, above), builder.add(firstRow, i),
                       builder.add(restRow, builder.sub(i, above)));
    forEachStrip([&] { emitEdgeRow(row); });
  });
}

/// Writes `body` for each vector of output columns: at the edges of the image
/// its loads are masked.
void PlanesEmitter::forEachStrip(function_ref<void()> body) {
  // The elements that a vector of inputs is made of, without the filter.
  const int64_t stride = problem.stride[1],
                span = stride == 2 ? 2 * lanes : (lanes - 1) * stride + 1,
                reach = (problem.kernelWidth - 1) * problem.dilation[1];
  auto wholeWidth = dyn_cast<AffineConstantExpr>(problem.outputWidth);
  builder.loop(builder.constant(0), outputWidth, lanes, [&](Value first) {
    column = first;
    inputColumn = builder.sub(builder.mul(first, builder.constant(stride)),
                              builder.constant(problem.padding[1]));
    storeMask = wholeWidth && wholeWidth.getValue() % lanes == 0
                    ? Value()
                    : builder.maskBelow(builder.sub(outputWidth, first), lanes);
    Value last = builder.add(inputColumn, builder.constant(span - 1 + reach));
    Value isInside =
        builder.both(builder.lessThan(builder.constant(-1), inputColumn),
                     builder.lessThan(last, width));
    auto write = [&](bool edge) {
      isEdge = edge;
      body();
    };
    builder.ifThen(isInside, [&] { write(false); }, [&] { write(true); });
  });
}

SmallVector<Value> PlanesEmitter::forEachColumn(ValueRange carried,
                                                const ColumnBody &body) {
  if (taps > kUnrolledTaps)
    return builder.loop(builder.constant(0),
                        builder.constant(problem.kernelWidth), 1, carried,
                        body);
  SmallVector<Value> values(carried);
  for (int64_t tap = 0; tap < problem.kernelWidth; ++tap)
    values = body(builder.constant(tap), values);
  return values;
}

Value PlanesEmitter::maskOf(Value from, int64_t step) {
  if (!isEdge)
    return Value();
  OpBuilder &ops = builder.ops();
  SmallVector<int32_t> numbers(lanes);
  for (int64_t i = 0; i < lanes; ++i)
    numbers[i] = static_cast<int32_t>(i * step);
  auto narrow = [&](Value value) {
    return builder.splat(
        arith::TruncIOp::create(ops, builder.loc(), ops.getI32Type(), value),
        lanes);
  };
  Value columns = arith::AddIOp::create(
      ops, builder.loc(), narrow(from),
      arith::ConstantOp::create(ops, builder.loc(),
                                ops.getI32VectorAttr(numbers)));
  return arith::CmpIOp::create(ops, builder.loc(), arith::CmpIPredicate::ult,
                               columns, narrow(width));
}

PlanesEmitter::InputColumns PlanesEmitter::getInputColumns(Value tapColumn) {
  const int64_t stride = problem.stride[1];
  InputColumns columns;
  columns.first = builder.add(
      inputColumn,
      builder.mul(tapColumn, builder.constant(problem.dilation[1])));
  columns.low = maskOf(columns.first, stride == 2 ? 1 : stride);
  if (stride == 2)
    columns.high =
        maskOf(builder.add(columns.first, builder.constant(lanes)), /*step=*/1);
  return columns;
}

/// What a row, which starts at `rowStart`, has there; zero outside the image.
Value PlanesEmitter::loadInput(Value rowStart, const InputColumns &columns) {
  const Type stored = problem.input.storedType;
  const int64_t stride = problem.stride[1];
  auto load = [&](Value first, Value mask) {
    return builder.extend(
        builder.loadVector(stored, lanes,
                           builder.advance(rowStart, stored, first), mask),
        sumType);
  };
  if (stride == 1)
    return load(columns.first, columns.low);
  SmallVector<int64_t> numbers(lanes);
  for (int64_t i = 0; i < lanes; ++i)
    numbers[i] = i * stride;
  if (stride == 2)
    return vector::ShuffleOp::create(
        builder.ops(), builder.loc(), load(columns.first, columns.low),
        load(builder.add(columns.first, builder.constant(lanes)), columns.high),
        numbers);
  Value offsets = arith::ConstantOp::create(
      builder.ops(), builder.loc(), builder.ops().getI64VectorAttr(numbers));
  return builder.extend(
      builder.gather(stored, builder.advance(rowStart, stored, columns.first),
                     offsets, columns.low),
      sumType);
}

/// Rows [row, row + mr), whose windows are rows of the image.
void PlanesEmitter::emitTile(Value row) {
  const Type stored = problem.input.storedType;
  // By input row relative to the tile's first: the output rows and tap rows
  // that read it.
  std::map<int64_t, SmallVector<std::pair<int64_t, int64_t>>> readers;
  for (int64_t out = 0; out < schedule.mr; ++out)
    for (int64_t tap = 0; tap < problem.kernelHeight; ++tap)
      readers[out * problem.stride[0] + tap * problem.dilation[0]].push_back(
          {out, tap});
  Value top = builder.sub(builder.mul(row, builder.constant(problem.stride[0])),
                          builder.constant(problem.padding[0]));
  SmallVector<Value> zero(schedule.mr, builder.zeroVector(sumType, lanes));
  SmallVector<Value> tile = forEachColumn(
      zero, [&](Value tapColumn, ValueRange carried) -> SmallVector<Value> {
        SmallVector<Value> next(carried);
        const InputColumns columns = getInputColumns(tapColumn);
        SmallVector<Value> filterColumn;
        for (int64_t tap = 0; tap < problem.kernelHeight; ++tap)
          filterColumn.push_back(getTap(builder.constant(tap), tapColumn));
        for (const auto &[inputRow, uses] : readers) {
          Value rowStart = builder.advance(
              planeStart, stored,
              builder.mul(builder.add(top, builder.constant(inputRow)),
                          rowStride));
          Value values = loadInput(rowStart, columns);
          for (auto [out, tap] : uses)
            next[out] = multiplyAdd(values, filterColumn[tap], next[out]);
        }
        return next;
      });
  finish(row, tile);
}

/// A row whose window may reach beyond the image.
void PlanesEmitter::emitEdgeRow(Value row) {
  const Type stored = problem.input.storedType;
  Value top = builder.sub(builder.mul(row, builder.constant(problem.stride[0])),
                          builder.constant(problem.padding[0]));
  auto [firstTap, lastTap] = getTapsInside(
      builder, top, height, problem.dilation[0], problem.kernelHeight);
  SmallVector<Value> sum = builder.loop(
      firstTap, lastTap, 1, builder.zeroVector(sumType, lanes),
      [&](Value tapRow, ValueRange carried) -> SmallVector<Value> {
        Value inputRow = builder.add(
            top, builder.mul(tapRow, builder.constant(problem.dilation[0])));
        Value rowStart = builder.advance(planeStart, stored,
                                         builder.mul(inputRow, rowStride));
        return forEachColumn(carried, [&](Value tapColumn, ValueRange before) {
          return SmallVector<Value>{
              multiplyAdd(loadInput(rowStart, getInputColumns(tapColumn)),
                          getTap(tapRow, tapColumn), before[0])};
        });
      });
  finish(row, sum);
}

/// Makes results of the sums of the rows from `row` on.
void PlanesEmitter::finish(Value row, ValueRange tile) {
  Value first = builder.add(builder.mul(plane, outputHeight), row);
  if (epilogue.isCheap()) {
    for (auto [i, sum] : llvm::enumerate(tile))
      if (failed(epilogue.emit(builder, builder.add(first, builder.constant(i)),
                               column, sum, storeMask)))
        result = failure();
    return;
  }
  for (auto [i, sum] : llvm::enumerate(tile))
    builder.storeVector(
        sum, builder.advance(sums, sumType, builder.constant(i * lanes)));
  Value columns =
      builder.min(builder.sub(outputWidth, column), builder.constant(lanes));
  if (failed(epilogue.emitBlock(builder, first, builder.constant(tile.size()),
                                column, columns, /*wholeVectors=*/!storeMask,
                                sumType, lanes, sums, lanes)))
    result = failure();
}

} // namespace

AffineExpr getPlanesGrid(const ConvolutionProblem &problem,
                         const MatmulSchedule &schedule) {
  return ait::canonicalizeSize(problem.batch * problem.groups *
                               problem.outputHeight.ceilDiv(schedule.mc));
}

LogicalResult emitPlanes(KernelBuilder &builder,
                         const ConvolutionProblem &problem,
                         const MatmulSchedule &schedule,
                         const Epilogue &epilogue, Value begin, Value end) {
  return PlanesEmitter(builder, problem, schedule, epilogue).emit(begin, end);
}

} // namespace aitune
