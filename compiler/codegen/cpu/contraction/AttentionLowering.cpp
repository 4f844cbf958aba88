// Writes the loops of an attention kernel around the microkernel.
#include <limits>

#include "compiler/codegen/cpu/contraction/Attention.h"
#include "compiler/codegen/cpu/target/ScheduleConfig.h"
#include "compiler/codegen/linalg/PointwiseToScalar.h"
#include "compiler/dialect/KernelAttributes.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace aitune {
namespace {

constexpr float kMinusInfinity = -std::numeric_limits<float>::infinity();

class AttentionEmitter {
public:
  AttentionEmitter(KernelBuilder &builder, const AttentionProblem &problem,
                   const AttentionSchedule &schedule, const Epilogue &epilogue)
      : builder(builder), problem(problem), schedule(schedule),
        epilogue(epilogue), f32(builder.ops().getF32Type()),
        lanes(builder.target().vectorBits / 32), vectors(schedule.nr / lanes),
        paddedDepth(llvm::alignTo(problem.depth, lanes)),
        paddedValueDepth(llvm::alignTo(problem.valueDepth, lanes)),
        scoreStride(schedule.keyBlock + lanes) {}

  static AffineExpr getGrid(const AttentionProblem &problem,
                            const AttentionSchedule &schedule) {
    return ait::canonicalizeSize(problem.batch *
                                 problem.queries.ceilDiv(schedule.queryBlock));
  }

  LogicalResult emit(Value begin, Value end) {
    queries = builder.evaluate(problem.queries);
    keys = builder.evaluate(problem.keys);
    keyPanels = builder.stack(f32, schedule.keyBlock * paddedDepth);
    // Distinct cache sets for the rows of a tile.
    scores = builder.stack(f32, schedule.mr * scoreStride);
    outputs = builder.stack(f32, schedule.queryBlock * paddedValueDepth);
    rowMax = builder.stack(f32, schedule.queryBlock);
    rowSum = builder.stack(f32, schedule.queryBlock);
    copiesQueries = !problem.query.access.storedType.isF32() ||
                    !isContiguous(problem.query.columnAxis);
    if (copiesQueries)
      queryCopy = builder.stack(f32, schedule.mr * paddedDepth);
    if (!isContiguous(problem.value.columnAxis))
      valueCopy = builder.stack(f32, schedule.keyBlock * paddedValueDepth);
    LogicalResult result = success();
    builder.loop(begin, end, 1, [&](Value unit) { result = emitUnit(unit); });
    return result;
  }

private:
  LogicalResult emitUnit(Value unit);
  void emitInitialState();
  void emitKeyCopy(Value firstKey, Value count);
  TileRhs getValues(Value firstKey, int64_t firstColumn, int64_t count);
  SmallVector<Value> getQueryRows(Value row);
  void emitTile(Value row, Value firstKey, Value count);
  void emitScores(ValueRange queryRows, Value count);
  void emitSoftmaxRow(Value row, Value rowInTile, Value firstKey, Value count);
  void emitWeightedValues(Value row, const Value &firstKey, Value count);

  Value start(const AttentionProblem::Operand &operand) {
    Value offset = builder.add(builder.evaluate(operand.access.layout.offset),
                               builder.offset(operand.batchAxis, batch));
    return builder.advance(builder.buffer(operand.access.argument),
                           operand.access.storedType, offset);
  }
  TileShape getTile(int64_t count) const {
    return {schedule.mr, count, lanes, f32};
  }
  Value number(double value) {
    return emitConstant(builder.ops(), builder.loc(), f32, value);
  }
  Value vectorOf(double value) {
    return emitConstant(builder.ops(), builder.loc(),
                        builder.vectorType(f32, lanes), value);
  }
  Value at(Value pointer, Value index) {
    return builder.advance(pointer, f32, index);
  }
  template <typename Op> Value binary(Value lhs, Value rhs) {
    return Op::create(builder.ops(), builder.loc(), lhs, rhs);
  }
  Value reduce(vector::CombiningKind kind, Value vector) {
    return vector::ReductionOp::create(builder.ops(), builder.loc(), kind,
                                       vector);
  }
  Value exponential(Value vector) {
    return math::ExpOp::create(builder.ops(), builder.loc(), vector);
  }

  KernelBuilder &builder;
  const AttentionProblem &problem;
  const AttentionSchedule &schedule;
  const Epilogue &epilogue;
  const Type f32;
  const int64_t lanes, vectors, paddedDepth, paddedValueDepth, scoreStride;
  bool copiesQueries = false;
  Value queries, keys, keyPanels, scores, outputs, rowMax, rowSum, queryCopy,
      valueCopy;
  // Of the unit being written.
  Value batch, firstQuery, rows;
};

LogicalResult AttentionEmitter::emitUnit(Value unit) {
  Value blocks = builder.evaluate(problem.queries.ceilDiv(schedule.queryBlock));
  batch = builder.div(unit, blocks);
  firstQuery = builder.mul(builder.rem(unit, blocks),
                           builder.constant(schedule.queryBlock));
  rows = builder.min(builder.constant(schedule.queryBlock),
                     builder.sub(queries, firstQuery));
  emitInitialState();
  Value keyEnd = problem.isCausal
                     ? builder.min(keys, builder.add(firstQuery, rows))
                     : keys;
  builder.loop(
      builder.constant(0), keyEnd, schedule.keyBlock, [&](Value firstKey) {
        Value count = builder.min(builder.constant(schedule.keyBlock),
                                  builder.sub(keyEnd, firstKey));
        emitKeyCopy(firstKey, count);
        builder.loop(builder.constant(0), rows, schedule.mr, [&](Value row) {
          if (!problem.isCausal) {
            emitTile(row, firstKey, count);
            return;
          }
          // Keys after the tile's last query take no part.
          Value seen = builder.sub(
              builder.add(firstQuery,
                          builder.add(row, builder.constant(schedule.mr))),
              firstKey);
          Value tileCount = builder.min(count, seen);
          builder.ifThen(builder.lessThan(builder.constant(0), tileCount),
                         [&] { emitTile(row, firstKey, tileCount); });
        });
      });
  builder.loop(builder.constant(0), rows, 1, [&](Value row) {
    Value sum = builder.load(f32, at(rowSum, row));
    // No key took part: the sum is 0 and so are the outputs, or NaN where they
    // are to be a softmax's.
    Value none =
        arith::CmpFOp::create(builder.ops(), builder.loc(),
                              arith::CmpFPredicate::OEQ, sum, number(0));
    Value ofNone = number(1);
    if (problem.maskedRowsAreNan)
      ofNone = builder.select(builder.lessThan(builder.constant(0), keys),
                              number(std::numeric_limits<double>::quiet_NaN()),
                              ofNone);
    Value inverse =
        binary<arith::DivFOp>(number(1), builder.select(none, ofNone, sum));
    Value factor = builder.splat(inverse, lanes);
    Value outputRow =
        at(outputs, builder.mul(row, builder.constant(paddedValueDepth)));
    builder.loop(builder.constant(0), builder.constant(paddedValueDepth), lanes,
                 [&](Value column) {
                   Value pointer = at(outputRow, column);
                   builder.storeVector(
                       binary<arith::MulFOp>(
                           builder.loadVector(f32, lanes, pointer), factor),
                       pointer);
                 });
  });
  return epilogue.emitBlock(
      builder, builder.add(builder.mul(batch, queries), firstQuery), rows,
      builder.constant(0), builder.constant(problem.valueDepth),
      problem.valueDepth % lanes == 0, f32, lanes, outputs, paddedValueDepth);
}

void AttentionEmitter::emitInitialState() {
  // Rows up to a whole number of tiles: those past the end are computed too.
  Value zero = builder.constant(0);
  builder.loop(zero, builder.constant(schedule.queryBlock), 1, [&](Value row) {
    builder.store(number(kMinusInfinity), at(rowMax, row));
    builder.store(number(0), at(rowSum, row));
  });
  builder.loop(zero, builder.constant(schedule.queryBlock * paddedValueDepth),
               lanes, [&](Value index) {
                 builder.storeVector(vectorOf(0), at(outputs, index));
               });
}

void AttentionEmitter::emitKeyCopy(Value firstKey, Value count) {
  builder.loop(builder.constant(0), count, schedule.nr, [&](Value key) {
    emitPackPanel(
        builder, getTile(vectors),
        {start(problem.key), problem.key.access.storedType,
         problem.key.columnAxis, problem.key.rowAxis},
        builder.constant(0), builder.constant(problem.depth),
        builder.add(firstKey, key), builder.sub(count, key),
        at(keyPanels, builder.mul(key, builder.constant(paddedDepth))));
  });
  if (!valueCopy)
    return;
  Type stored = problem.value.access.storedType;
  builder.loop(builder.constant(0), count, 1, [&](Value key) {
    Value offset =
        builder.offset(problem.value.rowAxis, builder.add(firstKey, key));
    Value source = builder.advance(start(problem.value), stored, offset);
    Value target =
        at(valueCopy, builder.mul(key, builder.constant(paddedValueDepth)));
    builder.loop(
        builder.constant(0), builder.constant(problem.valueDepth), lanes,
        [&](Value column) {
          Value mask = builder.maskBelow(
              builder.sub(builder.constant(problem.valueDepth), column), lanes);
          Value loaded = builder.loadAlong(problem.value.columnAxis, stored,
                                           source, column, lanes, mask);
          builder.storeVector(builder.extend(loaded, f32), at(target, column));
        });
  });
}

TileRhs AttentionEmitter::getValues(Value firstKey, int64_t firstColumn,
                                    int64_t count) {
  if (valueCopy)
    return {at(valueCopy, builder.constant(firstColumn)),
            builder.constant(paddedValueDepth),
            f32,
            {}};
  Type stored = problem.value.access.storedType;
  const LayoutAxis &rowAxis = problem.value.rowAxis;
  Value stride = rowAxis.empty() ? builder.constant(0)
                                 : builder.evaluate(rowAxis.front().stride);
  Value offset =
      builder.add(builder.mul(firstKey, stride), builder.constant(firstColumn));
  TileRhs rhs{builder.advance(start(problem.value), stored, offset),
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

/// Pointers to `depth` contiguous floats for each query of the tile; queries
/// past the last one repeat it.
SmallVector<Value> AttentionEmitter::getQueryRows(Value row) {
  Type stored = problem.query.access.storedType;
  Value last = builder.sub(queries, builder.constant(1));
  SmallVector<Value> sources;
  for (int64_t i = 0; i < schedule.mr; ++i) {
    Value index =
        builder.add(firstQuery, builder.add(row, builder.constant(i)));
    Value offset =
        builder.offset(problem.query.rowAxis, builder.min(index, last));
    sources.push_back(builder.advance(start(problem.query), stored, offset));
  }
  if (!copiesQueries)
    return sources;
  SmallVector<Value> copies;
  for (Value source : sources) {
    Value target = at(queryCopy, builder.constant(copies.size() * paddedDepth));
    builder.loop(
        builder.constant(0), builder.constant(problem.depth), lanes,
        [&](Value column) {
          Value mask = builder.maskBelow(
              builder.sub(builder.constant(problem.depth), column), lanes);
          Value loaded = builder.loadAlong(problem.query.columnAxis, stored,
                                           source, column, lanes, mask);
          builder.storeVector(builder.extend(loaded, f32), at(target, column));
        });
    copies.push_back(target);
  }
  return copies;
}

void AttentionEmitter::emitTile(Value row, Value firstKey, Value count) {
  emitScores(getQueryRows(row), count);
  builder.loop(builder.constant(0), builder.constant(schedule.mr), 1,
               [&](Value rowInTile) {
                 emitSoftmaxRow(row, rowInTile, firstKey, count);
               });
  emitWeightedValues(row, firstKey, count);
}

void AttentionEmitter::emitScores(ValueRange queryRows, Value count) {
  auto emitPanel = [&](Value key, int64_t tileVectors) {
    TileShape tile = getTile(tileVectors);
    TileRhs rhs{at(keyPanels, builder.mul(key, builder.constant(paddedDepth))),
                builder.constant(schedule.nr),
                f32,
                {}};
    SmallVector<Value> sums = emitMultiplyAccumulate(
        builder, MicrokernelKind::FusedMultiplyAdd, tile, queryRows, rhs,
        builder.constant(problem.depth), emitZeroTile(builder, tile));
    emitStoreTile(builder, tile, sums, at(scores, key), scoreStride);
  };
  // Where every tile meets the same keys, the last panel is as narrow as they
  // are.
  auto all = dyn_cast<AffineConstantExpr>(problem.keys);
  if (!all || problem.isCausal || all.getValue() > schedule.keyBlock) {
    builder.loop(builder.constant(0), count, schedule.nr,
                 [&](Value key) { emitPanel(key, vectors); });
    return;
  }
  int64_t whole = all.getValue() / schedule.nr * schedule.nr;
  builder.loop(builder.constant(0), builder.constant(whole), schedule.nr,
               [&](Value key) { emitPanel(key, vectors); });
  if (int64_t rest = all.getValue() - whole)
    emitPanel(builder.constant(whole), llvm::divideCeil(rest, lanes));
}

/// Scores of one query to weights, relative to the largest score so far; what
/// was summed before is scaled down to that.
void AttentionEmitter::emitSoftmaxRow(Value row, Value rowInTile,
                                      Value firstKey, Value count) {
  OpBuilder &ops = builder.ops();
  Value zero = builder.constant(0);
  Value scoreRow =
      at(scores, builder.mul(rowInTile, builder.constant(scoreStride)));
  Value rowInBlock = builder.add(row, rowInTile);
  Value query = builder.add(firstQuery, rowInBlock);
  Value limit = count;
  if (problem.isCausal)
    limit = builder.min(
        count, builder.sub(builder.add(query, builder.constant(1)), firstKey));
  Value maskStart;
  if (problem.mask) {
    Value lastQuery = builder.sub(queries, builder.constant(1));
    Value offset =
        builder.offset(problem.mask->rowAxis, builder.min(query, lastQuery));
    maskStart = builder.advance(start(*problem.mask),
                                problem.mask->access.storedType, offset);
  }

  Value lowest = vectorOf(kMinusInfinity), scale = vectorOf(problem.scale),
        masked = vectorOf(problem.maskedScore);
  Value largest = builder.loop(
      zero, count, lanes, ValueRange{lowest},
      [&](Value key, ValueRange carried) {
        Value pointer = at(scoreRow, key);
        Value score = binary<arith::MulFOp>(
            builder.loadVector(f32, lanes, pointer), scale);
        Value valid = builder.maskBelow(builder.sub(limit, key), lanes);
        if (problem.mask) {
          Type stored = problem.mask->access.storedType;
          Value mask = builder.loadAlong(
              problem.mask->columnAxis, stored, maskStart,
              builder.add(firstKey, key), lanes,
              builder.maskBelow(builder.sub(count, key), lanes));
          if (isa<FloatType>(stored))
            score = binary<arith::AddFOp>(score, builder.extend(mask, f32));
          else
            score = builder.select(mask, score, masked);
        }
        score = builder.select(valid, score, lowest);
        builder.storeVector(score, pointer);
        return SmallVector<Value>{binary<arith::MaxNumFOp>(carried[0], score)};
      })[0];

  Value maxPointer = at(rowMax, rowInBlock),
        sumPointer = at(rowSum, rowInBlock);
  Value before = builder.load(f32, maxPointer);
  Value now = binary<arith::MaxNumFOp>(
      before, reduce(vector::CombiningKind::MAXNUMF, largest));
  builder.store(now, maxPointer);
  // While every key is masked the maximum is no number to subtract.
  Value none =
      arith::CmpFOp::create(ops, builder.loc(), arith::CmpFPredicate::OEQ, now,
                            number(kMinusInfinity));
  Value reference = builder.select(none, number(0), now);
  Value correction = exponential(
      builder.splat(binary<arith::SubFOp>(before, reference), lanes));
  Value subtrahend = builder.splat(reference, lanes);
  Value sum = builder.loop(
      zero, count, lanes, ValueRange{vectorOf(0)},
      [&](Value key, ValueRange carried) {
        Value pointer = at(scoreRow, key);
        Value weight = exponential(binary<arith::SubFOp>(
            builder.loadVector(f32, lanes, pointer), subtrahend));
        builder.storeVector(weight, pointer);
        return SmallVector<Value>{binary<arith::AddFOp>(carried[0], weight)};
      })[0];
  Value scaled = binary<arith::MulFOp>(
      builder.load(f32, sumPointer),
      vector::ExtractOp::create(ops, builder.loc(), correction, 0));
  builder.store(
      binary<arith::AddFOp>(scaled, reduce(vector::CombiningKind::ADD, sum)),
      sumPointer);
  Value outputRow =
      at(outputs, builder.mul(rowInBlock, builder.constant(paddedValueDepth)));
  builder.loop(zero, builder.constant(paddedValueDepth), lanes,
               [&](Value column) {
                 Value pointer = at(outputRow, column);
                 builder.storeVector(
                     binary<arith::MulFOp>(
                         builder.loadVector(f32, lanes, pointer), correction),
                     pointer);
               });
}

void AttentionEmitter::emitWeightedValues(Value row, const Value &firstKey,
                                          Value count) {
  SmallVector<Value> weightRows;
  for (int64_t i = 0; i < schedule.mr; ++i)
    weightRows.push_back(at(scores, builder.constant(i * scoreStride)));
  Value outputRow =
      at(outputs, builder.mul(row, builder.constant(paddedValueDepth)));
  for (int64_t column = 0; column < paddedValueDepth; column += schedule.nr) {
    TileShape tile =
        getTile(std::min(vectors, (paddedValueDepth - column) / lanes));
    Value pointer = at(outputRow, builder.constant(column));
    SmallVector<Value> sums = emitMultiplyAccumulate(
        builder, MicrokernelKind::FusedMultiplyAdd, tile, weightRows,
        getValues(firstKey, column, tile.vectors), count,
        emitLoadTile(builder, tile, pointer, paddedValueDepth));
    emitStoreTile(builder, tile, sums, pointer, paddedValueDepth);
  }
}

} // namespace

LogicalResult emitAttention(func::FuncOp kernel,
                            const AttentionProblem &problem,
                            const AttentionSchedule &schedule,
                            const Target &target, std::string &reason) {
  reason = rejectAttentionSchedule(schedule, problem, target);
  if (!reason.empty())
    return failure();
  FailureOr<Epilogue> epilogue =
      Epilogue::create(kernel, problem.result, reason);
  if (failed(epilogue))
    return failure();
  ait::setPackings(kernel, {});
  ait::setScheduleConfig(kernel, schedule.toConfig(kernel.getContext()));
  return rewriteToAbi(
      kernel, target, AttentionEmitter::getGrid(problem, schedule), /*grain=*/1,
      [&](KernelBuilder &kernelBuilder, Value begin, Value end) {
        return AttentionEmitter(kernelBuilder, problem, schedule, *epilogue)
            .emit(begin, end);
      });
}

LogicalResult lowerAttention(func::FuncOp kernel, const Target &target,
                             std::string &reason) {
  FailureOr<AttentionProblem> problem = analyzeAttention(kernel, reason);
  if (failed(problem))
    return failure();
  AttentionSchedule schedule = chooseAttentionSchedule(*problem, target);
  readNumbers(ait::getScheduleConfig(kernel),
              {{"key_block", &schedule.keyBlock},
               {"mr", &schedule.mr},
               {"nr", &schedule.nr},
               {"query_block", &schedule.queryBlock}});
  return emitAttention(kernel, *problem, schedule, target, reason);
}

} // namespace aitune
