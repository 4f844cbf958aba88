// Depthwise convolution of channels-last images: every channel has a filter of
// its own, so vectors run over channels. A tile is a few neighbouring pixels of
// an output row; the inputs that its windows share are loaded once.
#include <map>
#include <tuple>

#include "compiler/codegen/cpu/contraction/Convolution.h"
#include "compiler/dialect/Ait.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace aitune {
namespace {

class DepthwiseEmitter {
public:
  DepthwiseEmitter(KernelBuilder &builder, const ConvolutionProblem &problem,
                   const MatmulSchedule &schedule, const Epilogue &epilogue)
      : builder(builder), problem(problem), schedule(schedule),
        epilogue(epilogue),
        lanes(builder.target().vectorBits /
              problem.shape.format.sum.getIntOrFloatBitWidth()) {}

  LogicalResult emit(Value begin, Value end);

private:
  LogicalResult emitUnit(Value unit);
  LogicalResult emitTiles(Value firstPixel, Value lastPixel, int64_t pixels,
                          bool inside);
  LogicalResult emitTile(Value outputColumn, int64_t pixels, bool inside);
  Value loadInput(Value pointer) {
    Value loaded =
        builder.loadVector(problem.input.storedType, lanes, pointer, mask);
    return builder.extend(loaded, problem.shape.format.sum);
  }

  KernelBuilder &builder;
  const ConvolutionProblem &problem;
  const MatmulSchedule &schedule;
  const Epilogue &epilogue;
  const int64_t lanes;
  Value height, width, outputHeight, outputWidth, rowStride, columnStride,
      input, zeros, sums;
  // Places of the unit, and of the vector of channels being written.
  Value image, outputRow, firstTapRow, lastTapRow, imageStart, channel, mask;
};

LogicalResult DepthwiseEmitter::emit(Value begin, Value end) {
  height = builder.evaluate(problem.height);
  width = builder.evaluate(problem.width);
  outputHeight = builder.evaluate(problem.outputHeight);
  outputWidth = builder.evaluate(problem.outputWidth);
  rowStride = builder.evaluate(problem.rowStride);
  columnStride = builder.evaluate(problem.columnStride);
  input = builder.advance(builder.buffer(problem.input.argument),
                          problem.input.storedType,
                          builder.evaluate(problem.input.layout.offset));
  zeros = builder.zeros(problem.input.storedType, lanes);
  sums = builder.stack(problem.shape.format.sum, schedule.mr * lanes);
  LogicalResult result = success();
  builder.loop(begin, end, 1, [&](Value unit) { result = emitUnit(unit); });
  return result;
}

LogicalResult DepthwiseEmitter::emitUnit(Value unit) {
  Value groups =
      builder.constant(llvm::divideCeil(problem.groups, schedule.nr));
  Value group = builder.rem(unit, groups), pixelRow = builder.div(unit, groups);
  image = builder.div(pixelRow, outputHeight);
  outputRow = builder.rem(pixelRow, outputHeight);

  Value top =
      builder.sub(builder.mul(outputRow, builder.constant(problem.stride[0])),
                  builder.constant(problem.padding[0]));
  std::tie(firstTapRow, lastTapRow) = getTapsInside(
      builder, top, height, problem.dilation[0], problem.kernelHeight);
  Value inside, outside;
  std::tie(inside, outside) = getInside(
      builder, width, outputWidth, problem.stride[1], problem.padding[1],
      (problem.kernelWidth - 1) * problem.dilation[1]);

  Value firstChannel = builder.mul(group, builder.constant(schedule.nr));
  Value channels =
      builder.min(builder.constant(schedule.nr),
                  builder.sub(builder.constant(problem.groups), firstChannel));
  LogicalResult result = success();
  builder.loop(builder.constant(0), channels, lanes, [&](Value offset) {
    channel = builder.add(firstChannel, offset);
    mask = problem.groups % lanes == 0
               ? Value()
               : builder.maskBelow(builder.sub(channels, offset), lanes);
    Value start = builder.add(
        builder.mul(image, builder.evaluate(problem.batchStride)), channel);
    imageStart = builder.advance(input, problem.input.storedType, start);
    Value tiles = builder.div(builder.sub(outside, inside),
                              builder.constant(schedule.mr));
    Value rest =
        builder.add(inside, builder.mul(tiles, builder.constant(schedule.mr)));
    auto emitRange = [&](Value first, Value end, int64_t pixels,
                         bool isInside) {
      if (failed(emitTiles(first, end, pixels, isInside)))
        result = failure();
    };
    emitRange(builder.constant(0), inside, 1, false);
    emitRange(inside, rest, schedule.mr, true);
    if (schedule.mr > 1)
      emitRange(rest, outside, 1, true);
    emitRange(outside, outputWidth, 1, false);
  });
  return result;
}

LogicalResult DepthwiseEmitter::emitTiles(Value firstPixel, Value lastPixel,
                                          int64_t pixels, bool inside) {
  LogicalResult result = success();
  builder.loop(firstPixel, lastPixel, pixels,
               [&](Value pixel) { result = emitTile(pixel, pixels, inside); });
  return result;
}

LogicalResult DepthwiseEmitter::emitTile(Value outputColumn, int64_t pixels,
                                         bool inside) {
  Type stored = problem.input.storedType,
       filterType = problem.filter.storedType;
  Value firstColumn = builder.sub(
      builder.mul(outputColumn, builder.constant(problem.stride[1])),
      builder.constant(problem.padding[1]));
  Value filter = builder.advance(builder.buffer(problem.filter.argument),
                                 filterType, channel);
  SmallVector<Value> zero(pixels,
                          builder.zeroVector(problem.shape.format.sum, lanes));
  SmallVector<Value> accumulators = builder.loop(
      firstTapRow, lastTapRow, 1, zero,
      [&](Value tapRow, ValueRange carried) -> SmallVector<Value> {
        SmallVector<Value> next(carried.begin(), carried.end());
        Value row = builder.add(
            builder.sub(
                builder.mul(outputRow, builder.constant(problem.stride[0])),
                builder.constant(problem.padding[0])),
            builder.mul(tapRow, builder.constant(problem.dilation[0])));
        Value rowStart = builder.advance(
            imageStart, stored,
            builder.add(builder.mul(row, rowStride),
                        builder.mul(firstColumn, columnStride)));
        // Input columns relative to the tile's first, each loaded once.
        std::map<int64_t, Value> columns;
        auto getColumn = [&](int64_t column) -> Value {
          Value &value = columns[column];
          if (value)
            return value;
          Value pointer = builder.advance(
              rowStart, stored,
              builder.mul(builder.constant(column), columnStride));
          if (!inside) {
            Value index = builder.add(firstColumn, builder.constant(column));
            pointer = builder.select(builder.unsignedLessThan(index, width),
                                     pointer, zeros);
          }
          return value = loadInput(pointer);
        };
        for (int64_t tap = 0; tap < problem.kernelWidth; ++tap) {
          Value index = builder.add(
              builder.mul(tapRow, builder.constant(problem.kernelWidth)),
              builder.constant(tap));
          Value weights = builder.loadVector(
              filterType, lanes,
              builder.advance(
                  filter, filterType,
                  builder.mul(index, builder.constant(problem.groups))),
              mask);
          weights = builder.extend(weights, problem.shape.format.sum);
          for (int64_t pixel = 0; pixel < pixels; ++pixel) {
            Value values = getColumn(pixel * problem.stride[1] +
                                     tap * problem.dilation[1]);
            next[pixel] = LLVM::FMAOp::create(builder.ops(), builder.loc(),
                                              weights.getType(), values,
                                              weights, next[pixel]);
          }
        }
        return next;
      });
  for (int64_t pixel = 0; pixel < pixels; ++pixel)
    builder.storeVector(accumulators[pixel],
                        builder.advance(sums, problem.shape.format.sum,
                                        builder.constant(pixel * lanes)));
  Value firstRow = builder.add(
      builder.mul(builder.add(builder.mul(image, outputHeight), outputRow),
                  outputWidth),
      outputColumn);
  Value left = builder.sub(builder.constant(problem.groups), channel);
  bool whole = problem.groups % lanes == 0;
  return epilogue.emitBlock(
      builder, firstRow, builder.constant(pixels), channel,
      whole ? builder.constant(lanes)
            : builder.min(left, builder.constant(lanes)),
      whole, problem.shape.format.sum, lanes, sums, lanes);
}

} // namespace

std::pair<Value, Value> getTapsInside(KernelBuilder &builder, Value first,
                                      Value size, int64_t dilation,
                                      int64_t taps) {
  auto ceilDiv = [&](Value dividend) {
    // Of what may be negative, clamped to the filter's taps.
    Value positive =
        builder.select(builder.lessThan(dividend, builder.constant(0)),
                       builder.constant(0), dividend);
    Value quotient =
        builder.div(builder.add(positive, builder.constant(dilation - 1)),
                    builder.constant(dilation));
    return builder.min(quotient, builder.constant(taps));
  };
  return {ceilDiv(builder.sub(builder.constant(0), first)),
          ceilDiv(builder.sub(size, first))};
}

std::pair<Value, Value> getInside(KernelBuilder &builder, Value size,
                                  Value outputSize, int64_t stride,
                                  int64_t padding, int64_t reach) {
  Value inside = builder.min(
      builder.constant(llvm::divideCeil(padding, stride)), outputSize);
  Value last = builder.add(builder.sub(size, builder.constant(1 + reach)),
                           builder.constant(padding));
  Value outside = builder.select(
      builder.lessThan(last, builder.constant(0)), builder.constant(0),
      builder.add(builder.div(last, builder.constant(stride)),
                  builder.constant(1)));
  outside = builder.min(outside, outputSize);
  return {inside,
          builder.select(builder.lessThan(outside, inside), inside, outside)};
}

AffineExpr getDepthwiseGrid(const ConvolutionProblem &problem,
                            const MatmulSchedule &schedule) {
  int64_t groups = llvm::divideCeil(problem.groups, schedule.nr);
  return ait::canonicalizeSize(problem.batch * problem.outputHeight * groups);
}

LogicalResult emitDepthwise(KernelBuilder &builder,
                            const ConvolutionProblem &problem,
                            const MatmulSchedule &schedule,
                            const Epilogue &epilogue, Value begin, Value end) {
  return DepthwiseEmitter(builder, problem, schedule, epilogue)
      .emit(begin, end);
}

} // namespace aitune
