// Convolutions whose tiles read the input where it lies, tap by tap.
#include "compiler/codegen/cpu/contraction/ConvolutionEmitter.h"
#include "compiler/dialect/Ait.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace aitune {
namespace {

AffineExpr getPixels(const ConvolutionProblem &problem) {
  return ait::canonicalizeSize(problem.batch * problem.outputHeight *
                               problem.outputWidth);
}

class TapsEmitter : public ConvolutionEmitter {
public:
  using ConvolutionEmitter::ConvolutionEmitter;

  LogicalResult emit(Value begin, Value end) {
    emitPrologue();
    // Vectors are read from it where a tap lies in the padding.
    zeros = builder.zeros(problem.input.storedType,
                          llvm::alignTo(problem.inputs, lanes) + lanes);
    LogicalResult result = success();
    builder.loop(begin, end, 1, [&](Value unit) { result = emitUnit(unit); });
    return result;
  }

private:
  LogicalResult emitUnit(Value unit);
  SmallVector<Value> emitTile(const TileShape &tile, Value firstPixel,
                              Value panel, Value firstRow, Value lastRow,
                              ArrayRef<Value> accumulators);

  Value zeros;
};

LogicalResult TapsEmitter::emitUnit(Value unit) {
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
    emitRowTiles(builder, schedule.mr, pixels, rest,
                 [&](Value row, int64_t count) {
                   TileShape tile = getTile(count);
                   SmallVector<Value> accumulators =
                       emitTile(tile, builder.add(firstPixel, row), panel, zero,
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
          accumulators = emitTile(
              tile, builder.add(firstPixel, row), panel, filterRow,
              builder.add(filterRow, builder.constant(1)), accumulators);
          emitStoreTile(builder, tile, accumulators, tileSums(row),
                        vectors * lanes);
        });
  });
  return emitSums(panel, panelInGroup, firstPixel, pixels);
}

SmallVector<Value> TapsEmitter::emitTile(const TileShape &tile,
                                         Value firstPixel, Value panel,
                                         Value firstRow, Value lastRow,
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

} // namespace

AffineExpr getTapsGrid(const ConvolutionProblem &problem,
                       const MatmulSchedule &schedule) {
  AffineExpr groups =
      getAffineConstantExpr(problem.groups, problem.batch.getContext());
  return ait::canonicalizeSize(
      groups * getPixels(problem).ceilDiv(schedule.mc) *
      int64_t(llvm::divideCeil(problem.outputs, schedule.nr)));
}

LogicalResult emitTaps(KernelBuilder &builder,
                       const ConvolutionProblem &problem,
                       const MatmulSchedule &schedule, const Epilogue &epilogue,
                       Value begin, Value end) {
  return TapsEmitter(builder, problem, schedule, epilogue).emit(begin, end);
}

} // namespace aitune
