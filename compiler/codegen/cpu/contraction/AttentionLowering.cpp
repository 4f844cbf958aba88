// Writes the loops of an attention kernel around the microkernel.
#include <limits>
#include <numeric>

#include "compiler/codegen/cpu/contraction/AttentionProducts.h"
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
        epilogue(epilogue), frame(builder, problem, schedule), f32(frame.f32),
        lanes(frame.lanes) {}

  static AffineExpr getGrid(const AttentionProblem &problem,
                            const AttentionSchedule &schedule) {
    return ait::canonicalizeSize(problem.batch *
                                 problem.queries.ceilDiv(schedule.queryBlock));
  }

  LogicalResult emit(Value begin, Value end) {
    frame.queries = builder.evaluate(problem.queries);
    frame.keys = builder.evaluate(problem.keys);
    frame.scores = builder.stack(f32, schedule.mr * frame.scoreStride);
    frame.outputs =
        builder.stack(f32, schedule.queryBlock * frame.outputStride);
    rowMax = builder.stack(f32, schedule.queryBlock);
    rowSum = builder.stack(f32, schedule.queryBlock);
    products = problem.kind == MicrokernelKind::FusedMultiplyAdd
                   ? createFloatProducts(frame)
                   : createBf16Products(frame);
    LogicalResult result = success();
    builder.loop(begin, end, 1, [&](Value unit) { result = emitUnit(unit); });
    return result;
  }

private:
  LogicalResult emitUnit(Value unit);
  void emitInitialState();
  void emitTile(Value row, Value firstKey, Value count);
  void emitSoftmaxRow(Value row, Value rowInTile, Value firstKey, Value count);

  Value number(double value) {
    return emitConstant(builder.ops(), builder.loc(), f32, value);
  }
  /// Where a floating mask is added to a score, not put in its place.
  Value isNoMaskedPair(Value mask) {
    return arith::CmpFOp::create(builder.ops(), builder.loc(),
                                 arith::CmpFPredicate::UNE, mask,
                                 vectorOf(ait::kMaskedPair));
  }
  Value vectorOf(double value) {
    return emitConstant(builder.ops(), builder.loc(),
                        builder.vectorType(f32, lanes), value);
  }
  Value at(Value pointer, Value index) { return frame.at(pointer, index); }
  template <typename Op> Value binary(Value lhs, Value rhs) {
    return Op::create(builder.ops(), builder.loc(), lhs, rhs);
  }
  /// The larger number; `other` where `value` is NaN. One instruction, as
  /// `other` is never NaN.
  Value larger(Value value, Value other) {
    Value isLarger = arith::CmpFOp::create(
        builder.ops(), builder.loc(), arith::CmpFPredicate::OGT, value, other);
    return builder.select(isLarger, value, other);
  }
  /// The largest element of a vector, none of which is NaN.
  Value largestOf(Value vector) {
    for (int64_t half = lanes / 2; half > 0; half /= 2) {
      SmallVector<int64_t> low(half), high(half);
      std::iota(low.begin(), low.end(), 0);
      std::iota(high.begin(), high.end(), half);
      auto part = [&](ArrayRef<int64_t> numbers) -> Value {
        return vector::ShuffleOp::create(builder.ops(), builder.loc(), vector,
                                         vector, numbers);
      };
      vector = larger(part(low), part(high));
    }
    return vector::ExtractOp::create(builder.ops(), builder.loc(), vector, 0);
  }
  Value exponential(Value vector) {
    return math::ExpOp::create(builder.ops(), builder.loc(), vector);
  }

  KernelBuilder &builder;
  const AttentionProblem &problem;
  const AttentionSchedule &schedule;
  const Epilogue &epilogue;
  AttentionFrame frame;
  const Type f32;
  const int64_t lanes;
  std::unique_ptr<AttentionProducts> products;
  Value rowMax, rowSum;
  Value rows; ///< queries of the unit that is being written
};

LogicalResult AttentionEmitter::emitUnit(Value unit) {
  Value blocks = builder.evaluate(problem.queries.ceilDiv(schedule.queryBlock));
  frame.batch = builder.div(unit, blocks);
  Value firstQuery = frame.firstQuery = builder.mul(
      builder.rem(unit, blocks), builder.constant(schedule.queryBlock));
  rows = builder.min(builder.constant(schedule.queryBlock),
                     builder.sub(frame.queries, firstQuery));
  emitInitialState();
  Value keyEnd = problem.isCausal
                     ? builder.min(frame.keys, builder.add(firstQuery, rows))
                     : frame.keys;
  builder.loop(
      builder.constant(0), keyEnd, schedule.keyBlock, [&](Value firstKey) {
        Value count = builder.min(builder.constant(schedule.keyBlock),
                                  builder.sub(keyEnd, firstKey));
        products->emitCopies(firstKey, count);
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
      ofNone = builder.select(builder.lessThan(builder.constant(0), frame.keys),
                              number(std::numeric_limits<double>::quiet_NaN()),
                              ofNone);
    Value inverse =
        binary<arith::DivFOp>(number(1), builder.select(none, ofNone, sum));
    Value factor = builder.splat(inverse, lanes);
    Value outputRow = at(
        frame.outputs, builder.mul(row, builder.constant(frame.outputStride)));
    builder.loop(builder.constant(0), builder.constant(frame.outputStride),
                 lanes, [&](Value column) {
                   Value pointer = at(outputRow, column);
                   builder.storeVector(
                       binary<arith::MulFOp>(
                           builder.loadVector(f32, lanes, pointer), factor),
                       pointer);
                 });
  });
  return epilogue.emitBlock(
      builder, builder.add(builder.mul(frame.batch, frame.queries), firstQuery),
      rows, builder.constant(0), builder.constant(problem.valueDepth),
      problem.valueDepth % lanes == 0, f32, lanes, frame.outputs,
      frame.outputStride);
}

void AttentionEmitter::emitInitialState() {
  // Rows up to a whole number of tiles: those past the end are computed too.
  Value zero = builder.constant(0);
  builder.loop(zero, builder.constant(schedule.queryBlock), 1, [&](Value row) {
    builder.store(number(kMinusInfinity), at(rowMax, row));
    builder.store(number(0), at(rowSum, row));
  });
  builder.loop(zero, builder.constant(schedule.queryBlock * frame.outputStride),
               lanes, [&](Value index) {
                 builder.storeVector(vectorOf(0), at(frame.outputs, index));
               });
}

void AttentionEmitter::emitTile(Value row, Value firstKey, Value count) {
  products->emitScores(row, count);
  // Weights of rows that do not exist may be any number.
  Value rowsOfTile =
      builder.min(builder.constant(schedule.mr), builder.sub(rows, row));
  builder.loop(builder.constant(0), rowsOfTile, 1, [&](Value rowInTile) {
    emitSoftmaxRow(row, rowInTile, firstKey, count);
  });
  products->emitWeightedValues(row, firstKey, count);
}

/// Scores of one query to weights, relative to the largest score so far; what
/// was summed before is scaled down to that.
void AttentionEmitter::emitSoftmaxRow(Value row, Value rowInTile,
                                      Value firstKey, Value count) {
  OpBuilder &ops = builder.ops();
  Value zero = builder.constant(0);
  Value scoreRow =
      at(frame.scores,
         builder.mul(rowInTile, builder.constant(frame.scoreStride)));
  Value rowInBlock = builder.add(row, rowInTile);
  Value query = builder.add(frame.firstQuery, rowInBlock);
  Value limit = count;
  if (problem.isCausal)
    limit = builder.min(
        count, builder.sub(builder.add(query, builder.constant(1)), firstKey));
  Value maskStart;
  if (problem.mask) {
    Value lastQuery = builder.sub(frame.queries, builder.constant(1));
    Value offset =
        builder.offset(problem.mask->rowAxis, builder.min(query, lastQuery));
    maskStart = builder.advance(frame.start(*problem.mask),
                                problem.mask->access.storedType, offset);
  }

  Value end = products->endOfWeights(count);
  Value lowest = vectorOf(kMinusInfinity), scale = vectorOf(problem.scale),
        masked = vectorOf(problem.maskedScore.value_or(kMinusInfinity));
  Value largest = builder.loop(
      zero, end, lanes, ValueRange{lowest}, [&](Value key, ValueRange carried) {
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
          const bool isAdded = isa<FloatType>(stored);
          if (isAdded)
            score = binary<arith::AddFOp>(score, builder.extend(mask, f32));
          if (!isAdded || problem.maskedScore)
            score = builder.select(isAdded ? isNoMaskedPair(mask) : mask, score,
                                   masked);
        }
        score = builder.select(valid, score, lowest);
        builder.storeVector(score, pointer);
        return SmallVector<Value>{larger(score, carried[0])};
      })[0];

  Value maxPointer = at(rowMax, rowInBlock),
        sumPointer = at(rowSum, rowInBlock);
  Value before = builder.load(f32, maxPointer);
  Value now = larger(largestOf(largest), before);
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
      zero, end, lanes, ValueRange{vectorOf(0)},
      [&](Value key, ValueRange carried) {
        Value pointer = at(scoreRow, key);
        Value weight = products->emitExponential(binary<arith::SubFOp>(
            builder.loadVector(f32, lanes, pointer), subtrahend));
        products->storeWeights(weight, rowInTile, key);
        return SmallVector<Value>{binary<arith::AddFOp>(carried[0], weight)};
      })[0];
  Value scaled = binary<arith::MulFOp>(
      builder.load(f32, sumPointer),
      vector::ExtractOp::create(ops, builder.loc(), correction, 0));
  builder.store(
      binary<arith::AddFOp>(
          scaled, vector::ReductionOp::create(ops, builder.loc(),
                                              vector::CombiningKind::ADD, sum)),
      sumPointer);
  Value outputRow =
      at(frame.outputs,
         builder.mul(rowInBlock, builder.constant(frame.outputStride)));
  builder.loop(zero, builder.constant(frame.outputStride), lanes,
               [&](Value column) {
                 Value pointer = at(outputRow, column);
                 builder.storeVector(
                     binary<arith::MulFOp>(
                         builder.loadVector(f32, lanes, pointer), correction),
                     pointer);
               });
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
  FailureOr<AttentionProblem> problem =
      analyzeAttention(kernel, target, reason);
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
