// Products of bf16 with sums of f32: of pairs of steps (vdpbf16ps), or in AMX
// tiles.
//
// Keys and values are copied in pairs; weights are rounded to bf16. Steps are
// whole multiples of 32 in the copies, with zeros behind the last one, as AMX
// tiles read them.
#include "compiler/codegen/cpu/contraction/AttentionProducts.h"
#include "compiler/codegen/cpu/target/Intrinsics.h"
#include "compiler/codegen/linalg/PointwiseToScalar.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace aitune {
namespace {

constexpr int64_t kStepsOfTile = 32;
/// 2^f for |f| <= 1/2: a minimax fit with a relative error of 2.7e-6, which
/// weights of bf16 (half a unit: 2e-3) do not show.
constexpr double kExp2Coefficients[] = {
    0x1.ffffe8p-1, 0x1.62e0dcp-1, 0x1.ec06dap-3, 0x1.ca1440p-5, 0x1.3997d4p-7};
constexpr double kLog2E = 1.4426950408889634;
/// Weights below 2 to this, the least normal number, are 0: beside the largest,
/// which is 1, they don't show, and numbers so small take an Intel CPU some
/// hundred cycles for each vector. What is masked is minus infinity.
constexpr double kLeastExponent = -126;

class Bf16Products : public AttentionProducts {
public:
  explicit Bf16Products(const AttentionFrame &frame)
      : frame(frame), builder(frame.builder), problem(frame.problem),
        schedule(frame.schedule), bf16(builder.ops().getBF16Type()),
        isAmx(problem.kind == MicrokernelKind::AmxTiles),
        depth(llvm::alignTo(problem.depth, kStepsOfTile)),
        // Distinct cache sets for the rows of a tile.
        weightStride(llvm::alignTo(schedule.keyBlock, kStepsOfTile) +
                     kStepsOfTile),
        keyPanels(builder.stack(frame.f32, schedule.keyBlock * depth / 2)),
        valuePairs(builder.stack(
            frame.f32, llvm::alignTo(schedule.keyBlock, kStepsOfTile) / 2 *
                           frame.outputStride)),
        weights(builder.stack(bf16, schedule.mr * weightStride)) {
    if (!isAmx && isContiguous(problem.query.columnAxis))
      return;
    queryCopy = builder.stack(bf16, schedule.mr * depth);
    builder.loop(builder.constant(0), builder.constant(schedule.mr * depth),
                 frame.lanes, [&](Value index) {
                   builder.storeVector(builder.zeroVector(bf16, frame.lanes),
                                       builder.advance(queryCopy, bf16, index));
                 });
  }

  void emitCopies(Value firstKey, Value count) override;
  void emitScores(Value row, Value count) override;
  Value endOfWeights(Value count) override {
    return isAmx ? wholeTiles(count) : count;
  }
  Value emitExponential(Value differences) override;
  void storeWeights(Value values, Value rowInTile, Value key) override {
    Value place = builder.add(
        builder.mul(rowInTile, builder.constant(weightStride)), key);
    builder.storeVector(
        arith::TruncFOp::create(builder.ops(), builder.loc(),
                                builder.vectorType(bf16, frame.lanes), values),
        builder.advance(weights, bf16, place));
  }
  void emitWeightedValues(Value row, Value firstKey, Value count) override;

private:
  Value wholeTiles(Value steps) {
    Value tile = builder.constant(kStepsOfTile);
    return builder.mul(
        builder.div(builder.add(steps, builder.constant(kStepsOfTile - 1)),
                    tile),
        tile);
  }

  const AttentionFrame &frame;
  KernelBuilder &builder;
  const AttentionProblem &problem;
  const AttentionSchedule &schedule;
  const Type bf16;
  const bool isAmx;
  const int64_t depth, weightStride;
  Value keyPanels, valuePairs, weights, queryCopy;
};

void Bf16Products::emitCopies(Value firstKey, Value count) {
  builder.loop(builder.constant(0), count, schedule.nr, [&](Value key) {
    emitPackPairs(
        builder, frame.getTile(frame.vectors),
        {frame.start(problem.key), bf16, problem.key.columnAxis,
         problem.key.rowAxis},
        builder.constant(0), builder.constant(problem.depth),
        builder.add(firstKey, key), builder.sub(count, key),
        frame.at(keyPanels, builder.mul(key, builder.constant(depth / 2))));
  });
  emitPackPairs(builder, frame.getTile(frame.outputStride / frame.lanes),
                {frame.start(problem.value), bf16, problem.value.rowAxis,
                 problem.value.columnAxis},
                firstKey, count, builder.constant(0),
                builder.constant(problem.valueDepth), valuePairs);
}

/// Without the last digits of math.exp, and what it does for large numbers.
Value Bf16Products::emitExponential(Value differences) {
  OpBuilder &ops = builder.ops();
  const Location loc = builder.loc();
  const Type type = differences.getType();
  auto number = [&](double value) {
    return emitConstant(ops, loc, type, value);
  };
  Value exponent = arith::MulFOp::create(ops, loc, differences, number(kLog2E));
  // NaN stays NaN.
  Value isZero = arith::CmpFOp::create(ops, loc, arith::CmpFPredicate::OLT,
                                       exponent, number(kLeastExponent));
  exponent = builder.select(isZero, number(0), exponent);
  Value whole = math::RoundEvenOp::create(ops, loc, exponent);
  Value fraction = arith::SubFOp::create(ops, loc, exponent, whole);
  Value power = number(kExp2Coefficients[4]);
  for (int64_t i = 3; i >= 0; --i)
    power = math::FmaOp::create(ops, loc, power, fraction,
                                number(kExp2Coefficients[i]));
  return builder.select(isZero, number(0), emitScale(ops, loc, power, whole));
}

void Bf16Products::emitScores(Value row, Value count) {
  SmallVector<Value> queryRows =
      queryCopy ? frame.copyQueries(row, bf16, depth, queryCopy)
                : frame.getQueryRows(row);
  frame.forEachPanel(count, [&](Value key, int64_t vectors) {
    TileRhs rhs{
        frame.at(keyPanels, builder.mul(key, builder.constant(depth / 2))),
        builder.constant(schedule.nr * 2),
        bf16,
        {}};
    Value target = frame.at(frame.scores, key);
    TileShape tile = frame.getTile(vectors);
    if (isAmx) {
      emitAmxTile(builder, tile.rows, tile.columns(), queryCopy,
                  builder.constant(depth), rhs, builder.constant(depth),
                  /*startsAtZero=*/true, target, frame.scoreStride);
      return;
    }
    SmallVector<Value> sums = emitMultiplyAccumulate(
        builder, problem.kind, tile, queryRows, rhs,
        builder.constant(problem.depth), emitZeroTile(builder, tile));
    emitStoreTile(builder, tile, sums, target, frame.scoreStride);
  });
}

void Bf16Products::emitWeightedValues(Value row, Value, Value count) {
  SmallVector<Value> weightRows;
  for (int64_t i = 0; i < schedule.mr; ++i)
    weightRows.push_back(
        builder.advance(weights, bf16, builder.constant(i * weightStride)));
  frame.forEachOutputTile(
      row, [&](int64_t column, const TileShape &tile, Value place) {
        TileRhs rhs{frame.at(valuePairs, builder.constant(column)),
                    builder.constant(frame.outputStride * 2),
                    bf16,
                    {}};
        if (isAmx) {
          emitAmxTile(builder, tile.rows, tile.columns(), weights,
                      builder.constant(weightStride), rhs, wholeTiles(count),
                      /*startsAtZero=*/false, place, frame.outputStride);
          return;
        }
        SmallVector<Value> sums = emitMultiplyAccumulate(
            builder, problem.kind, tile, weightRows, rhs, count,
            emitLoadTile(builder, tile, place, frame.outputStride));
        emitStoreTile(builder, tile, sums, place, frame.outputStride);
      });
}

} // namespace

std::unique_ptr<AttentionProducts>
createBf16Products(const AttentionFrame &frame) {
  return std::make_unique<Bf16Products>(frame);
}

} // namespace aitune
