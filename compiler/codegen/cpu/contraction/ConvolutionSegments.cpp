// Convolutions that copy the input under a part of one output row first.
#include "compiler/codegen/cpu/contraction/ConvolutionEmitter.h"
#include "compiler/dialect/Ait.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace aitune {
namespace {

class SegmentsEmitter : public ConvolutionEmitter {
public:
  using ConvolutionEmitter::ConvolutionEmitter;

  LogicalResult emit(Value begin, Value end) {
    emitPrologue();
    segmentColumns = (schedule.mc - 1) * problem.stride[1] +
                     (problem.kernelWidth - 1) * problem.dilation[1] + 1;
    // Rows are stored in whole vectors, the last one past its end.
    segment = builder.stack(
        format.lhsFactor,
        problem.kernelHeight * segmentColumns * problem.tapSteps + 2 * lanes);
    LogicalResult result = success();
    builder.loop(begin, end, 1, [&](Value unit) { result = emitUnit(unit); });
    return result;
  }

private:
  LogicalResult emitUnit(Value unit);
  void emitCopy(Value image, Value outputRow, Value firstColumn, Value pixels);
  void emitPixelCopy(Value source, Value pixels, Value target);
  SmallVector<Value> emitTile(const TileShape &tile, Value firstPixel,
                              Value panel);

  int64_t segmentColumns = 0; ///< input columns under a segment
  Value segment;
};

LogicalResult SegmentsEmitter::emitUnit(Value unit) {
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
  emitCopy(image, outputRow, firstColumn, pixels);
  Value firstPixel = builder.add(
      builder.mul(builder.add(builder.mul(image, outputHeight), outputRow),
                  outputWidth),
      firstColumn);
  LogicalResult result = success();
  builder.loop(builder.constant(0), builder.constant(panels), 1,
               [&](Value panelInGroup) {
                 Value panel =
                     builder.add(builder.mul(group, builder.constant(panels)),
                                 panelInGroup);
                 auto finish =
                     getFinish(panel, panelInGroup, firstPixel, result);
                 emitRowTiles(builder, schedule.mr, pixels, rest,
                              [&](Value row, int64_t count) {
                                TileShape tile = getTile(count);
                                finish(tile, emitTile(tile, row, panel), row);
                              });
                 if (succeeded(result))
                   result = emitSums(panel, panelInGroup, firstPixel, pixels);
               });
  return result;
}

/// Copies [kernelHeight][segmentColumns][tapSteps] inputs, zeros where the
/// window is in the padding. Whole vectors are stored, in order: elements
/// stored past the end of a row are overwritten by the next row.
void SegmentsEmitter::emitCopy(Value image, Value outputRow, Value firstColumn,
                               Value pixels) {
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
void SegmentsEmitter::emitPixelCopy(Value source, Value pixels, Value target) {
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

SmallVector<Value> SegmentsEmitter::emitTile(const TileShape &tile,
                                             Value firstPixel, Value panel) {
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

} // namespace

AffineExpr getSegmentsGrid(const ConvolutionProblem &problem,
                           const MatmulSchedule &schedule) {
  AffineExpr groups =
      getAffineConstantExpr(problem.groups, problem.batch.getContext());
  return ait::canonicalizeSize(groups * problem.batch * problem.outputHeight *
                               problem.outputWidth.ceilDiv(schedule.mc));
}

LogicalResult emitSegments(KernelBuilder &builder,
                           const ConvolutionProblem &problem,
                           const MatmulSchedule &schedule,
                           const Epilogue &epilogue, Value begin, Value end) {
  return SegmentsEmitter(builder, problem, schedule, epilogue).emit(begin, end);
}

} // namespace aitune
