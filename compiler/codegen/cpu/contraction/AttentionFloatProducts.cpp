// Products of f32: operands are widened where they are not.
#include "compiler/codegen/cpu/contraction/AttentionProducts.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace aitune {
namespace {

class FloatProducts : public AttentionProducts {
public:
  explicit FloatProducts(const AttentionFrame &frame)
      : frame(frame), builder(frame.builder), problem(frame.problem),
        schedule(frame.schedule), f32(frame.f32), lanes(frame.lanes),
        paddedDepth(llvm::alignTo(problem.depth, lanes)),
        copiesQueries(!problem.query.access.storedType.isF32() ||
                      !isContiguous(problem.query.columnAxis)),
        keyPanels(builder.stack(f32, schedule.keyBlock * paddedDepth)) {
    if (copiesQueries)
      queryCopy = builder.stack(f32, schedule.mr * paddedDepth);
    if (!isContiguous(problem.value.columnAxis))
      valueCopy = builder.stack(f32, schedule.keyBlock * frame.outputStride);
  }

  void emitCopies(Value firstKey, Value count) override;
  void emitScores(Value row, Value count) override;
  Value emitExponential(Value differences) override {
    return math::ExpOp::create(builder.ops(), builder.loc(), differences,
                               arith::FastMathFlags::afn);
  }
  void storeWeights(Value weights, Value rowInTile, Value key) override {
    Value scoreRow =
        frame.at(frame.scores,
                 builder.mul(rowInTile, builder.constant(frame.scoreStride)));
    builder.storeVector(weights, frame.at(scoreRow, key));
  }
  void emitWeightedValues(Value row, Value firstKey, Value count) override;

private:
  TileRhs getValues(Value firstKey, int64_t firstColumn, int64_t count);

  const AttentionFrame &frame;
  KernelBuilder &builder;
  const AttentionProblem &problem;
  const AttentionSchedule &schedule;
  const Type f32;
  const int64_t lanes, paddedDepth;
  const bool copiesQueries;
  Value keyPanels, queryCopy, valueCopy;
};

void FloatProducts::emitCopies(Value firstKey, Value count) {
  builder.loop(builder.constant(0), count, schedule.nr, [&](Value key) {
    emitPackPanel(
        builder, frame.getTile(frame.vectors),
        {frame.start(problem.key), problem.key.access.storedType,
         problem.key.columnAxis, problem.key.rowAxis},
        builder.constant(0), builder.constant(problem.depth),
        builder.add(firstKey, key), builder.sub(count, key),
        frame.at(keyPanels, builder.mul(key, builder.constant(paddedDepth))));
  });
  if (!valueCopy)
    return;
  builder.loop(builder.constant(0), count, 1, [&](Value key) {
    Value offset =
        builder.offset(problem.value.rowAxis, builder.add(firstKey, key));
    frame.copyRow(
        problem.value,
        builder.advance(frame.start(problem.value),
                        problem.value.access.storedType, offset),
        problem.valueDepth, f32,
        frame.at(valueCopy,
                 builder.mul(key, builder.constant(frame.outputStride))));
  });
}

TileRhs FloatProducts::getValues(Value firstKey, int64_t firstColumn,
                                 int64_t count) {
  if (valueCopy)
    return {frame.at(valueCopy, builder.constant(firstColumn)),
            builder.constant(frame.outputStride),
            f32,
            {}};
  Type stored = problem.value.access.storedType;
  const LayoutAxis &rowAxis = problem.value.rowAxis;
  Value stride = rowAxis.empty() ? builder.constant(0)
                                 : builder.evaluate(rowAxis.front().stride);
  Value offset =
      builder.add(builder.mul(firstKey, stride), builder.constant(firstColumn));
  TileRhs rhs{builder.advance(frame.start(problem.value), stored, offset),
              stride,
              stored,
              {}};
  if (problem.valueDepth < firstColumn + count * lanes)
    for (int64_t vector = 0; vector < count; ++vector)
      rhs.masks.push_back(builder.maskBelow(
          builder.constant(problem.valueDepth - firstColumn - vector * lanes),
          lanes));
  return rhs;
}

void FloatProducts::emitScores(Value row, Value count) {
  SmallVector<Value> queryRows =
      copiesQueries ? frame.copyQueries(row, f32, paddedDepth, queryCopy)
                    : frame.getQueryRows(row);
  frame.forEachPanel(count, [&](Value key, int64_t vectors) {
    TileShape tile = frame.getTile(vectors);
    TileRhs rhs{
        frame.at(keyPanels, builder.mul(key, builder.constant(paddedDepth))),
        builder.constant(schedule.nr),
        f32,
        {}};
    SmallVector<Value> sums = emitMultiplyAccumulate(
        builder, problem.kind, tile, queryRows, rhs,
        builder.constant(problem.depth), emitZeroTile(builder, tile));
    emitStoreTile(builder, tile, sums, frame.at(frame.scores, key),
                  frame.scoreStride);
  });
}

void FloatProducts::emitWeightedValues(Value row, Value firstKey, Value count) {
  SmallVector<Value> weightRows;
  for (int64_t i = 0; i < schedule.mr; ++i)
    weightRows.push_back(
        frame.at(frame.scores, builder.constant(i * frame.scoreStride)));
  frame.forEachOutputTile(
      row, [&](int64_t column, const TileShape &tile, Value place) {
        SmallVector<Value> sums = emitMultiplyAccumulate(
            builder, problem.kind, tile, weightRows,
            getValues(firstKey, column, tile.vectors), count,
            emitLoadTile(builder, tile, place, frame.outputStride));
        emitStoreTile(builder, tile, sums, place, frame.outputStride);
      });
}

} // namespace

std::unique_ptr<AttentionProducts>
createFloatProducts(const AttentionFrame &frame) {
  return std::make_unique<FloatProducts>(frame);
}

} // namespace aitune
