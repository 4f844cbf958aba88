// Writes the loops of a convolution kernel around the microkernel.
#include <algorithm>

#include "compiler/codegen/cpu/contraction/Winograd.h"
#include "compiler/dialect/KernelAttributes.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace aitune {
namespace {

class ConvolutionEmitter {
public:
  ConvolutionEmitter(KernelBuilder &builder, const ConvolutionProblem &problem,
                     const MatmulSchedule &schedule, const Epilogue &epilogue)
      : builder(builder), problem(problem), schedule(schedule),
        epilogue(epilogue), format(problem.shape.format),
        lanes(builder.target().vectorBits / format.sum.getIntOrFloatBitWidth()),
        vectors(llvm::divideCeil(schedule.nr, lanes)),
        panels(llvm::divideCeil(problem.outputs, schedule.nr)),
        usesRegisters(!schedule.kc && epilogue.isCheap() &&
                      schedule.nr % lanes == 0 &&
                      (builder.target().hasAvx512 ||
                       problem.outputs % schedule.nr == 0)) {}

  static AffineExpr getGrid(const ConvolutionProblem &problem,
                            const MatmulSchedule &schedule) {
    MLIRContext *context = problem.batch.getContext();
    AffineExpr groups = getAffineConstantExpr(problem.groups, context);
    if (problem.form == ConvolutionForm::Segments)
      return ait::canonicalizeSize(groups * problem.batch *
                                   problem.outputHeight *
                                   problem.outputWidth.ceilDiv(schedule.mc));
    return ait::canonicalizeSize(
        groups * getPixels(problem).ceilDiv(schedule.mc) *
        int64_t(llvm::divideCeil(problem.outputs, schedule.nr)));
  }

  LogicalResult emit(Value begin, Value end) {
    height = builder.evaluate(problem.height);
    width = builder.evaluate(problem.width);
    outputHeight = builder.evaluate(problem.outputHeight);
    outputWidth = builder.evaluate(problem.outputWidth);
    batchStride = builder.evaluate(problem.batchStride);
    rowStride = builder.evaluate(problem.rowStride);
    columnStride = builder.evaluate(problem.columnStride);
    input = builder.advance(builder.buffer(problem.input.argument),
                            problem.input.storedType,
                            builder.evaluate(problem.input.layout.offset));
    sums = builder.stack(format.sum, schedule.mc * vectors * lanes);
    // Vectors are read from it where a tap lies in the padding.
    zeros = builder.zeros(problem.input.storedType,
                          llvm::alignTo(problem.inputs, lanes) + lanes);
    LogicalResult result = success();
    if (problem.form == ConvolutionForm::Segments) {
      segmentColumns = (schedule.mc - 1) * problem.stride[1] +
                       (problem.kernelWidth - 1) * problem.dilation[1] + 1;
      // Rows are stored in whole vectors, the last one past its end.
      segment = builder.stack(
          format.lhsFactor,
          problem.kernelHeight * segmentColumns * problem.tapSteps + 2 * lanes);
      builder.loop(begin, end, 1,
                   [&](Value unit) { result = emitSegmentUnit(unit); });
    } else {
      builder.loop(begin, end, 1,
                   [&](Value unit) { result = emitTapsUnit(unit); });
    }
    return result;
  }

private:
  static AffineExpr getPixels(const ConvolutionProblem &problem) {
    return ait::canonicalizeSize(problem.batch * problem.outputHeight *
                                 problem.outputWidth);
  }

  TileShape getTile(int64_t rows) const {
    return {rows, vectors, lanes, format.sum};
  }

  LogicalResult emitTapsUnit(Value unit);
  LogicalResult emitSegmentUnit(Value unit);
  SmallVector<Value> emitTapTile(const TileShape &tile, Value firstPixel,
                                 Value panel, Value firstRow, Value lastRow,
                                 ArrayRef<Value> accumulators);
  void emitSegmentCopy(Value image, Value outputRow, Value firstColumn,
                       Value pixels);
  void emitPixelCopy(Value source, Value pixels, Value target);
  SmallVector<Value> emitSegmentTile(const TileShape &tile, Value firstPixel,
                                     Value panel);

  /// The panel's filters from tap `tap` on.
  TileRhs getRhs(Value panel, Value tap);
  Value inRange(Value index, Value size) {
    return builder.unsignedLessThan(index, size);
  }
  Value tileSums(Value row) {
    return builder.advance(sums, format.sum,
                           builder.mul(row, builder.constant(vectors * lanes)));
  }
  using FinishFunction = std::function<void(
      const TileShape &tile, ValueRange accumulators, Value row)>;
  FinishFunction getFinish(Value panel, Value panelInGroup, Value firstPixel,
                           LogicalResult &result);
  LogicalResult emitSums(Value panel, Value panelInGroup, Value firstPixel,
                         Value pixels);

  KernelBuilder &builder;
  const ConvolutionProblem &problem;
  const MatmulSchedule &schedule;
  const Epilogue &epilogue;
  const OperandFormat &format;
  const int64_t lanes, vectors, panels;
  /// See MatmulEmitter.
  const bool usesRegisters;
  int64_t segmentColumns = 0;
  Value height, width, outputHeight, outputWidth, batchStride, rowStride,
      columnStride;
  Value input, sums, zeros, segment;
  // The first input channel of the unit's group.
  Value groupOffset;
};

TileRhs ConvolutionEmitter::getRhs(Value panel, Value tap) {
  int64_t tapElements = problem.tapSteps * schedule.nr;
  int64_t taps = problem.kernelHeight * problem.kernelWidth;
  Value offset =
      builder.mul(builder.add(builder.mul(panel, builder.constant(taps)), tap),
                  builder.constant(tapElements));
  TileRhs rhs{builder.advance(builder.buffer(problem.filter.argument),
                              problem.filter.storedType, offset),
              builder.constant(format.stepsTogether * schedule.nr),
              problem.filter.storedType,
              {}};
  if (schedule.nr % lanes != 0)
    for (int64_t vector = 0; vector < vectors; ++vector)
      rhs.masks.push_back(builder.maskBelow(
          builder.constant(schedule.nr - vector * lanes), lanes));
  return rhs;
}

/// What becomes of a tile's sums: results where the code for them is short,
/// else sums in memory.
ConvolutionEmitter::FinishFunction
ConvolutionEmitter::getFinish(Value panel, Value panelInGroup, Value firstPixel,
                              LogicalResult &result) {
  if (!usesRegisters)
    return [this](const TileShape &tile, ValueRange accumulators, Value row) {
      emitStoreTile(builder, tile, accumulators, tileSums(row),
                    vectors * lanes);
    };
  Value firstColumn = builder.mul(panel, builder.constant(schedule.nr));
  SmallVector<Value> masks;
  if (problem.outputs % schedule.nr != 0) {
    Value left =
        builder.sub(builder.constant(problem.outputs),
                    builder.mul(panelInGroup, builder.constant(schedule.nr)));
    for (int64_t vector = 0; vector < vectors; ++vector)
      masks.push_back(builder.maskBelow(
          builder.sub(left, builder.constant(vector * lanes)), lanes));
  }
  return
      [=, &result](const TileShape &tile, ValueRange accumulators, Value row) {
        if (failed(epilogue.emitTile(builder, tile, accumulators,
                                     builder.add(firstPixel, row), firstColumn,
                                     masks)))
          result = failure();
      };
}

LogicalResult ConvolutionEmitter::emitSums(Value panel, Value panelInGroup,
                                           Value firstPixel, Value pixels) {
  if (usesRegisters)
    return success();
  Value firstInGroup = builder.mul(panelInGroup, builder.constant(schedule.nr));
  Value firstColumn = builder.mul(panel, builder.constant(schedule.nr));
  Value columns =
      problem.outputs % schedule.nr == 0
          ? builder.constant(schedule.nr)
          : builder.min(
                builder.constant(schedule.nr),
                builder.sub(builder.constant(problem.outputs), firstInGroup));
  bool wholeVectors = problem.outputs % lanes == 0 && schedule.nr % lanes == 0;
  return epilogue.emitBlock(builder, firstPixel, pixels, firstColumn, columns,
                            wholeVectors, format.sum, lanes, sums,
                            vectors * lanes);
}

LogicalResult ConvolutionEmitter::emitTapsUnit(Value unit) {
  Value pixelCount = builder.evaluate(getPixels(problem));
  Value blocks = builder.evaluate(getPixels(problem).ceilDiv(schedule.mc));
  Value panelsInAll = builder.constant(problem.groups * panels);
  Value panel, block;
  if (schedule.panelsOuter) {
    panel = builder.div(unit, blocks);
    block = builder.rem(unit, blocks);
  } else {
    block = builder.div(unit, panelsInAll);
    panel = builder.rem(unit, panelsInAll);
  }
  Value group = builder.div(panel, builder.constant(panels));
  Value panelInGroup = builder.rem(panel, builder.constant(panels));
  groupOffset = builder.mul(group, builder.constant(problem.inputs));
  Value firstPixel = builder.mul(block, builder.constant(schedule.mc));
  Value pixels = builder.min(builder.constant(schedule.mc),
                             builder.sub(pixelCount, firstPixel));
  std::optional<int64_t> rest;
  if (problem.shape.m >= 0) {
    rest = problem.shape.m % schedule.mr;
    if (problem.shape.m % schedule.mc == 0)
      pixels = builder.constant(schedule.mc);
    else if (problem.shape.m < schedule.mc)
      pixels = builder.constant(problem.shape.m);
  }
  Value zero = builder.constant(0),
        filterRows = builder.constant(problem.kernelHeight);
  if (!schedule.kc) {
    LogicalResult result = success();
    auto finish = getFinish(panel, panelInGroup, firstPixel, result);
    emitRowTiles(
        builder, schedule.mr, pixels, rest, [&](Value row, int64_t count) {
          TileShape tile = getTile(count);
          SmallVector<Value> accumulators =
              emitTapTile(tile, builder.add(firstPixel, row), panel, zero,
                          filterRows, emitZeroTile(builder, tile));
          finish(tile, accumulators, row);
        });
    return failed(result) ? result
                          : emitSums(panel, panelInGroup, firstPixel, pixels);
  }
  builder.loop(
      zero, builder.constant(schedule.mc * vectors), 1, [&](Value vector) {
        builder.storeVector(
            builder.zeroVector(format.sum, lanes),
            builder.advance(sums, format.sum,
                            builder.mul(vector, builder.constant(lanes))));
      });
  builder.loop(zero, filterRows, 1, [&](Value filterRow) {
    emitRowTiles(
        builder, schedule.mr, pixels, rest, [&](Value row, int64_t count) {
          TileShape tile = getTile(count);
          SmallVector<Value> accumulators =
              emitLoadTile(builder, tile, tileSums(row), vectors * lanes);
          accumulators = emitTapTile(
              tile, builder.add(firstPixel, row), panel, filterRow,
              builder.add(filterRow, builder.constant(1)), accumulators);
          emitStoreTile(builder, tile, accumulators, tileSums(row),
                        vectors * lanes);
        });
  });
  return emitSums(panel, panelInGroup, firstPixel, pixels);
}

SmallVector<Value>
ConvolutionEmitter::emitTapTile(const TileShape &tile, Value firstPixel,
                                Value panel, Value firstRow, Value lastRow,
                                ArrayRef<Value> accumulators) {
  // Where each pixel's window begins; negative inside the padding.
  struct Window {
    Value row, column, start;
  };
  SmallVector<Window> windows;
  for (int64_t i = 0; i < tile.rows; ++i) {
    Value pixel = builder.add(firstPixel, builder.constant(i));
    Value outputColumn = builder.rem(pixel, outputWidth);
    Value above = builder.div(pixel, outputWidth);
    Value outputRow = builder.rem(above, outputHeight),
          image = builder.div(above, outputHeight);
    Value row =
        builder.sub(builder.mul(outputRow, builder.constant(problem.stride[0])),
                    builder.constant(problem.padding[0]));
    Value column = builder.sub(
        builder.mul(outputColumn, builder.constant(problem.stride[1])),
        builder.constant(problem.padding[1]));
    Value offset = builder.add(builder.mul(image, batchStride), groupOffset);
    offset = builder.add(offset, builder.mul(row, rowStride));
    offset = builder.add(offset, builder.mul(column, columnStride));
    windows.push_back(
        {row, column,
         builder.advance(input, problem.input.storedType, offset)});
  }
  bool padded = problem.padding[0] != 0 || problem.padding[1] != 0;
  auto emitTap = [&](Value filterRow, Value filterColumn,
                     ValueRange sumsSoFar) {
    Value tapRow =
        builder.mul(filterRow, builder.constant(problem.dilation[0]));
    Value tapColumn =
        builder.mul(filterColumn, builder.constant(problem.dilation[1]));
    Value tapOffset = builder.add(builder.mul(tapRow, rowStride),
                                  builder.mul(tapColumn, columnStride));
    SmallVector<Value> rows;
    for (const Window &window : windows) {
      Value pointer =
          builder.advance(window.start, problem.input.storedType, tapOffset);
      if (padded) {
        Value valid =
            builder.both(inRange(builder.add(window.row, tapRow), height),
                         inRange(builder.add(window.column, tapColumn), width));
        pointer = builder.select(valid, pointer, zeros);
      }
      rows.push_back(pointer);
    }
    Value tap = builder.add(
        builder.mul(filterRow, builder.constant(problem.kernelWidth)),
        filterColumn);
    return emitMultiplyAccumulate(builder, problem.shape.kind, tile, rows,
                                  getRhs(panel, tap),
                                  builder.constant(problem.inputs), sumsSoFar);
  };
  return builder.loop(firstRow, lastRow, 1, accumulators,
                      [&](Value filterRow, ValueRange outer) {
                        return builder.loop(
                            builder.constant(0),
                            builder.constant(problem.kernelWidth), 1, outer,
                            [&](Value filterColumn, ValueRange inner) {
                              return emitTap(filterRow, filterColumn, inner);
                            });
                      });
}

LogicalResult ConvolutionEmitter::emitSegmentUnit(Value unit) {
  Value segments = builder.evaluate(problem.outputWidth.ceilDiv(schedule.mc));
  Value segmentIndex = builder.rem(unit, segments);
  Value above = builder.div(unit, segments);
  Value outputRow = builder.rem(above, outputHeight);
  above = builder.div(above, outputHeight);
  Value images = builder.evaluate(problem.batch);
  Value image = builder.rem(above, images), group = builder.div(above, images);
  groupOffset = builder.mul(group, builder.constant(problem.inputs));
  Value firstColumn = builder.mul(segmentIndex, builder.constant(schedule.mc));
  Value pixels = builder.min(builder.constant(schedule.mc),
                             builder.sub(outputWidth, firstColumn));
  std::optional<int64_t> rest;
  if (auto constant = dyn_cast<AffineConstantExpr>(problem.outputWidth)) {
    rest = constant.getValue() % schedule.mr;
    if (constant.getValue() % schedule.mc == 0)
      pixels = builder.constant(schedule.mc);
    else if (constant.getValue() < schedule.mc)
      pixels = builder.constant(constant.getValue());
  }
  emitSegmentCopy(image, outputRow, firstColumn, pixels);
  Value firstPixel = builder.add(
      builder.mul(builder.add(builder.mul(image, outputHeight), outputRow),
                  outputWidth),
      firstColumn);
  LogicalResult result = success();
  builder.loop(
      builder.constant(0), builder.constant(panels), 1,
      [&](Value panelInGroup) {
        Value panel = builder.add(builder.mul(group, builder.constant(panels)),
                                  panelInGroup);
        auto finish = getFinish(panel, panelInGroup, firstPixel, result);
        emitRowTiles(builder, schedule.mr, pixels, rest,
                     [&](Value row, int64_t count) {
                       TileShape tile = getTile(count);
                       finish(tile, emitSegmentTile(tile, row, panel), row);
                     });
        if (succeeded(result))
          result = emitSums(panel, panelInGroup, firstPixel, pixels);
      });
  return result;
}

/// Copies [kernelHeight][segmentColumns][tapSteps] inputs, zeros where the
/// window is in the padding. Whole vectors are stored, in order: elements
/// stored past the end of a row are overwritten by the next row.
void ConvolutionEmitter::emitSegmentCopy(Value image, Value outputRow,
                                         Value firstColumn, Value pixels) {
  Type stored = problem.input.storedType;
  Value zero = builder.constant(0), steps = builder.constant(problem.tapSteps);
  Value imageOffset = builder.add(builder.mul(image, batchStride), groupOffset);
  Value firstInput =
      builder.sub(builder.mul(firstColumn, builder.constant(problem.stride[1])),
                  builder.constant(problem.padding[1]));
  int64_t reach =
      (problem.kernelWidth - 1) * problem.dilation[1] + 1 - problem.stride[1];
  Value columns =
      builder.add(builder.mul(pixels, builder.constant(problem.stride[1])),
                  builder.constant(reach));
  auto clamp = [&](Value value) {
    return builder.min(
        builder.select(builder.lessThan(value, zero), zero, value), columns);
  };
  Value inside = clamp(builder.sub(zero, firstInput)),
        outside = clamp(builder.sub(width, firstInput));
  builder.loop(
      zero, builder.constant(problem.kernelHeight), 1, [&](Value filterRow) {
        Value row = builder.add(
            builder.sub(
                builder.mul(outputRow, builder.constant(problem.stride[0])),
                builder.constant(problem.padding[0])),
            builder.mul(filterRow, builder.constant(problem.dilation[0])));
        Value target = builder.advance(
            segment, format.lhsFactor,
            builder.mul(filterRow,
                        builder.constant(segmentColumns * problem.tapSteps)));
        auto at = [&](Value column) {
          return builder.advance(target, format.lhsFactor,
                                 builder.mul(column, steps));
        };
        auto clear = [&](Value begin, Value end) {
          Value start = at(begin);
          builder.loop(zero, builder.mul(builder.sub(end, begin), steps), lanes,
                       [&](Value element) {
                         builder.storeVector(
                             builder.zeroVector(format.lhsFactor, lanes),
                             builder.advance(start, format.lhsFactor, element));
                       });
        };
        // Columns [inside, end) of a row in the image are; none of another is.
        Value end = builder.select(inRange(row, height), outside, inside);
        clear(zero, inside);
        Value offset = builder.add(
            builder.add(imageOffset, builder.mul(row, rowStride)),
            builder.mul(builder.add(firstInput, inside), columnStride));
        emitPixelCopy(builder.advance(input, stored, offset),
                      builder.sub(end, inside), at(inside));
        clear(end, columns);
      });
}

/// Copies neighbouring pixels of a row, `inputs` elements each, as `tapSteps`
/// elements each.
void ConvolutionEmitter::emitPixelCopy(Value source, Value pixels,
                                       Value target) {
  Type stored = problem.input.storedType;
  int64_t inputs = problem.inputs, steps = problem.tapSteps;
  Value zero = builder.constant(0);
  auto load = [&](Value offset, Value count) {
    Value values = builder.loadVector(stored, lanes,
                                      builder.advance(source, stored, offset),
                                      builder.maskBelow(count, lanes));
    return builder.extend(values, format.lhsFactor);
  };
  auto columns = dyn_cast<AffineConstantExpr>(problem.columnStride);
  bool dense = columns && columns.getValue() == inputs;
  if (dense && steps == inputs) {
    Value count = builder.mul(pixels, builder.constant(inputs));
    builder.loop(zero, count, lanes, [&](Value element) {
      builder.storeVector(load(element, builder.sub(count, element)),
                          builder.advance(target, format.lhsFactor, element));
    });
    return;
  }
  if (dense && lanes % steps == 0) {
    // Several pixels a vector, each followed by a zero.
    SmallVector<int64_t> spread;
    for (int64_t lane = 0; lane < lanes; ++lane)
      spread.push_back(
          lane % steps < inputs ? lane / steps * inputs + lane % steps : lanes);
    builder.loop(zero, pixels, lanes / steps, [&](Value pixel) {
      Value left =
          builder.mul(builder.sub(pixels, pixel), builder.constant(inputs));
      Value values = load(builder.mul(pixel, builder.constant(inputs)), left);
      values = vector::ShuffleOp::create(
          builder.ops(), builder.loc(), values,
          builder.zeroVector(format.lhsFactor, lanes), spread);
      builder.storeVector(
          values, builder.advance(target, format.lhsFactor,
                                  builder.mul(pixel, builder.constant(steps))));
    });
    return;
  }
  builder.loop(zero, pixels, 1, [&](Value pixel) {
    Value from = builder.mul(pixel, columnStride),
          to = builder.mul(pixel, builder.constant(steps));
    builder.loop(zero, builder.constant(steps), lanes, [&](Value step) {
      builder.storeVector(
          load(builder.add(from, step),
               builder.sub(builder.constant(inputs), step)),
          builder.advance(target, format.lhsFactor, builder.add(to, step)));
    });
  });
}

SmallVector<Value> ConvolutionEmitter::emitSegmentTile(const TileShape &tile,
                                                       Value firstPixel,
                                                       Value panel) {
  int64_t steps = problem.tapSteps;
  Value zero = builder.constant(0);
  auto emitRun = [&](Value filterRow, Value filterColumn, int64_t count,
                     ValueRange sumsSoFar) {
    Value start =
        builder.mul(filterRow, builder.constant(segmentColumns * steps));
    start = builder.add(
        start, builder.mul(filterColumn,
                           builder.constant(problem.dilation[1] * steps)));
    start = builder.add(
        start,
        builder.mul(firstPixel, builder.constant(problem.stride[1] * steps)));
    Value first = builder.advance(segment, format.lhsFactor, start);
    SmallVector<Value> rows;
    for (int64_t i = 0; i < tile.rows; ++i)
      rows.push_back(
          builder.advance(first, format.lhsFactor,
                          builder.constant(i * problem.stride[1] * steps)));
    Value tap = builder.add(
        builder.mul(filterRow, builder.constant(problem.kernelWidth)),
        filterColumn);
    return emitMultiplyAccumulate(builder, problem.shape.kind, tile, rows,
                                  getRhs(panel, tap), builder.constant(count),
                                  sumsSoFar);
  };
  return builder.loop(
      zero, builder.constant(problem.kernelHeight), 1,
      emitZeroTile(builder, tile),
      [&](Value filterRow, ValueRange outer) -> SmallVector<Value> {
        // Taps of a row lie next to each other, in the copy and in the filter.
        if (problem.dilation[1] == 1)
          return emitRun(filterRow, zero, problem.kernelWidth * steps, outer);
        return builder.loop(zero, builder.constant(problem.kernelWidth), 1,
                            outer, [&](Value filterColumn, ValueRange inner) {
                              return emitRun(filterRow, filterColumn, steps,
                                             inner);
                            });
      });
}

int64_t getGrain(const ConvolutionProblem &problem,
                 const ConvolutionSchedule &schedule) {
  if (schedule.grain > 0)
    return schedule.grain;
  bool depthwise = problem.form == ConvolutionForm::Depthwise;
  double columns =
      problem.form == ConvolutionForm::Segments ? problem.outputs : schedule.nr;
  // A depthwise unit is a whole output row, and far from the peak.
  double microseconds =
      schedule.algorithm != ConvolutionAlgorithm::Direct
          ? 2.0 * getWinogradUnitWork(problem, schedule) / 100e3
      : depthwise ? 56.0 * schedule.nr * problem.shape.k / 10e3
                  : 2.0 * schedule.mc * columns * problem.shape.k / 100e3;
  return std::max<int64_t>(1, 4.0 / microseconds);
}

} // namespace

LogicalResult emitConvolution(func::FuncOp kernel,
                              const ConvolutionProblem &problem,
                              const ConvolutionSchedule &schedule,
                              const Target &target, std::string &reason) {
  reason = rejectConvolutionSchedule(schedule, problem, target);
  if (!reason.empty())
    return failure();
  if (problem.form == ConvolutionForm::Matmul)
    return emitMatmul(kernel, problem.matmul, schedule, target, reason);
  FailureOr<Epilogue> epilogue =
      Epilogue::create(kernel, problem.result, reason);
  if (failed(epilogue))
    return failure();
  int64_t lanes =
      target.vectorBits / problem.shape.format.sum.getIntOrFloatBitWidth();
  if (schedule.nr % lanes != 0 && epilogue->splitsColumns()) {
    reason = "the result's channels are rearranged, and a group has no whole "
             "number of vectors";
    return failure();
  }
  bool winograd = schedule.algorithm != ConvolutionAlgorithm::Direct;
  bool depthwise = problem.form == ConvolutionForm::Depthwise;
  ait::setPackings(
      kernel,
      ait::PackingAttr::get(
          kernel.getContext(), problem.filter.argument,
          winograd ? getWinogradPacking(schedule.algorithm) : problem.packing,
          depthwise ? 0 : schedule.nr, problem.shape.format.stepsTogether,
          /*transposed=*/false));
  ait::setScheduleConfig(kernel, schedule.toConfig(kernel.getContext()));
  AffineExpr grid = winograd ? getWinogradGrid(problem, schedule)
                    : depthwise
                        ? getDepthwiseGrid(problem, schedule)
                        : ConvolutionEmitter::getGrid(problem, schedule);
  return rewriteToAbi(
      kernel, target, grid, getGrain(problem, schedule),
      [&](KernelBuilder &kernelBuilder, Value begin, Value end) {
        if (winograd)
          return emitWinograd(kernelBuilder, problem, schedule, *epilogue,
                              begin, end);
        if (depthwise)
          return emitDepthwise(kernelBuilder, problem, schedule, *epilogue,
                               begin, end);
        return ConvolutionEmitter(kernelBuilder, problem, schedule, *epilogue)
            .emit(begin, end);
      });
}

LogicalResult lowerConvolution(func::FuncOp kernel, const Target &target,
                               std::string &reason) {
  FailureOr<ConvolutionProblem> problem =
      analyzeConvolution(kernel, target, reason);
  if (failed(problem))
    return failure();
  FailureOr<ConvolutionSchedule> schedule = readConvolutionSchedule(
      ait::getScheduleConfig(kernel), *problem, target, reason);
  if (failed(schedule))
    return failure();
  return emitConvolution(kernel, *problem, *schedule, target, reason);
}

} // namespace aitune
