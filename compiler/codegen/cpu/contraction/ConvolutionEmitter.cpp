#include "compiler/codegen/cpu/contraction/ConvolutionEmitter.h"

#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace aitune {

ConvolutionEmitter::ConvolutionEmitter(KernelBuilder &builder,
                                       const ConvolutionProblem &problem,
                                       const MatmulSchedule &schedule,
                                       const Epilogue &epilogue)
    : builder(builder), problem(problem), schedule(schedule),
      epilogue(epilogue), format(problem.shape.format),
      lanes(builder.target().vectorBits / format.sum.getIntOrFloatBitWidth()),
      vectors(llvm::divideCeil(schedule.nr, lanes)),
      panels(llvm::divideCeil(problem.outputs, schedule.nr)),
      usesRegisters(
          !schedule.kc && epilogue.isCheap() && schedule.nr % lanes == 0 &&
          (builder.target().hasAvx512 || problem.outputs % schedule.nr == 0)) {}

void ConvolutionEmitter::emitPrologue() {
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
}

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
  else
    rhs.streams = streamsThroughL1(builder.target(),
                                   taps * tapElements * format.rhsBytes());
  return rhs;
}

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

} // namespace aitune
