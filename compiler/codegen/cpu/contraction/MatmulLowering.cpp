// Writes the loops of a matmul kernel around the microkernel.
#include <algorithm>

#include "compiler/codegen/cpu/contraction/Matmul.h"
#include "compiler/codegen/linalg/PointwiseToScalar.h"
#include "compiler/dialect/KernelAttributes.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace aitune {
namespace {

class MatmulEmitter {
public:
  MatmulEmitter(KernelBuilder &builder, const MatmulProblem &problem,
                const MatmulSchedule &schedule, const Epilogue &epilogue)
      : builder(builder), problem(problem), schedule(schedule),
        epilogue(epilogue), format(problem.shape.format),
        lanes(builder.target().vectorBits / format.sum.getIntOrFloatBitWidth()),
        vectors(schedule.nr / lanes),
        usesRegisters(!schedule.kc &&
                      problem.shape.kind != MicrokernelKind::AmxTiles &&
                      epilogue.isCheap() &&
                      (builder.target().hasAvx512 ||
                       problem.shape.n % schedule.nr == 0)) {}

  /// The number of work units.
  static AffineExpr getGrid(const MatmulProblem &problem,
                            const MatmulSchedule &schedule) {
    return ait::canonicalizeSize(problem.batch *
                                 getRowBlocks(problem, schedule) *
                                 getPanelGroups(problem, schedule));
  }

  LogicalResult emit(Value begin, Value end) {
    m = builder.evaluate(problem.m);
    n = builder.evaluate(problem.n);
    k = builder.evaluate(problem.k);
    // One extra vector a row: copies store whole vectors.
    steps = schedule.kc ? schedule.kc : problem.shape.k;
    sums = builder.stack(format.sum, schedule.mc * schedule.nr *
                                         (schedule.kc ? schedule.panels : 1));
    if (problem.shape.copiesLhs) {
      lhsRowStride = llvm::alignTo(steps, lanes) + lanes;
      lhsCopy = builder.stack(format.lhsFactor, schedule.mc * lhsRowStride);
    }
    if (problem.shape.copiesRhs)
      // Copies of pairs end with zeros up to a multiple of 32 steps.
      rhsCopy = builder.stack(format.rhsFactor,
                              llvm::alignTo(steps, 32) * schedule.nr);
    LogicalResult result = success();
    builder.loop(begin, end, 1, [&](Value unit) { result = emitUnit(unit); });
    return result;
  }

private:
  static AffineExpr getRowBlocks(const MatmulProblem &problem,
                                 const MatmulSchedule &schedule) {
    return problem.m.ceilDiv(schedule.mc);
  }
  static AffineExpr getPanelGroups(const MatmulProblem &problem,
                                   const MatmulSchedule &schedule) {
    return problem.n.ceilDiv(schedule.nr * schedule.panels);
  }

  TileShape getTile(int64_t rows) const {
    return {rows, vectors, lanes, format.sum};
  }

  LogicalResult emitUnit(Value unit);
  LogicalResult emitPanel(Value panel, Value slot, Value firstStep,
                          Value stepCount, bool startsAtZero);
  LogicalResult emitSums(Value panel, Value slot);
  void emitLhsCopy(Value firstStep, Value stepCount);
  /// Steps a packed panel holds: those that lie together are whole.
  int64_t getPanelSteps() const {
    return llvm::alignTo(problem.shape.k,
                         problem.shape.getPackedStepsTogether());
  }
  TileRhs getRhs(Value panel, Value firstStep, Value stepCount);
  Ahead getPanelAhead(const TileRhs &rhs, Value row);
  Ahead getRowsAhead(Value row, int64_t count);
  SmallVector<Ahead> getAhead(const TileRhs &rhs, Value row, int64_t count);
  std::pair<Value, Value> getLhsBlock(Value row, Value firstStep);
  SmallVector<Value> getLhsRows(Value row, int64_t rows, Value firstStep);
  Value sumsOf(Value slot) {
    return builder.advance(
        sums, format.sum,
        builder.mul(slot, builder.constant(schedule.mc * schedule.nr)));
  }

  KernelBuilder &builder;
  const MatmulProblem &problem;
  const MatmulSchedule &schedule;
  const Epilogue &epilogue;
  const OperandFormat &format;
  const int64_t lanes, vectors;
  /// Whether the epilogue is computed while the sums are in registers.
  /// Otherwise the sums of a block are stored, and one loop computes the
  /// epilogue of all.
  const bool usesRegisters;
  int64_t steps = 0, lhsRowStride = 0;
  Value m, n, k, sums, lhsCopy, rhsCopy;
  // Places of the unit being written.
  Value batch, firstRow, rows;
};

LogicalResult MatmulEmitter::emitUnit(Value unit) {
  Value rowBlocks = builder.evaluate(getRowBlocks(problem, schedule));
  Value panelGroups = builder.evaluate(getPanelGroups(problem, schedule));
  Value perBatch = builder.mul(rowBlocks, panelGroups);
  batch = builder.div(unit, perBatch);
  Value inBatch = builder.rem(unit, perBatch);
  Value inner = schedule.panelsOuter ? rowBlocks : panelGroups;
  Value slow = builder.div(inBatch, inner), fast = builder.rem(inBatch, inner);
  Value block = schedule.panelsOuter ? fast : slow,
        group = schedule.panelsOuter ? slow : fast;
  firstRow = builder.mul(block, builder.constant(schedule.mc));
  // A constant where all blocks are equal: row tiles then have no rest.
  rows = problem.shape.m >= 0 && problem.shape.m % schedule.mc == 0
             ? builder.constant(schedule.mc)
             : builder.min(builder.constant(schedule.mc),
                           builder.sub(m, firstRow));
  if (problem.shape.m >= 0 && problem.shape.m <= schedule.mc)
    rows = builder.constant(problem.shape.m);

  Value panelCount = builder.evaluate(problem.n.ceilDiv(schedule.nr));
  Value firstPanel = builder.mul(group, builder.constant(schedule.panels));
  Value panels = schedule.panels == 1
                     ? builder.constant(1)
                     : builder.min(builder.constant(schedule.panels),
                                   builder.sub(panelCount, firstPanel));
  Value zero = builder.constant(0);
  LogicalResult result = success();
  auto forPanels =
      [&](const std::function<LogicalResult(Value panel, Value slot)> &body) {
        if (schedule.panels == 1) {
          if (failed(body(firstPanel, zero)))
            result = failure();
          return;
        }
        builder.loop(zero, panels, 1, [&](Value slot) {
          if (failed(body(builder.add(firstPanel, slot), slot)))
            result = failure();
        });
      };

  if (!schedule.kc) {
    if (problem.shape.copiesLhs)
      emitLhsCopy(zero, k);
    forPanels([&](Value panel, Value) {
      if (failed(emitPanel(panel, zero, zero, k, /*startsAtZero=*/true)))
        return failure();
      return emitSums(panel, zero);
    });
    return result;
  }
  Value vectorsToClear =
      builder.constant(schedule.mc * vectors * schedule.panels);
  builder.loop(zero, vectorsToClear, 1, [&](Value vector) {
    builder.storeVector(
        builder.zeroVector(format.sum, lanes),
        builder.advance(sums, format.sum,
                        builder.mul(vector, builder.constant(lanes))));
  });
  builder.loop(zero, k, schedule.kc, [&](Value firstStep) {
    Value stepCount =
        builder.min(builder.constant(schedule.kc), builder.sub(k, firstStep));
    if (problem.shape.copiesLhs)
      emitLhsCopy(firstStep, stepCount);
    forPanels([&](Value panel, Value slot) {
      return emitPanel(panel, slot, firstStep, stepCount,
                       /*startsAtZero=*/false);
    });
  });
  forPanels([&](Value panel, Value slot) { return emitSums(panel, slot); });
  return result;
}

/// Rows of the block, from step `firstStep` on, as contiguous rows of factors.
void MatmulEmitter::emitLhsCopy(Value firstStep, Value stepCount) {
  Value base = builder.add(builder.evaluate(problem.lhs.layout.offset),
                           builder.offset(problem.lhsBatch, batch));
  Value source = builder.advance(builder.buffer(problem.lhs.argument),
                                 problem.lhs.storedType, base);
  builder.loop(builder.constant(0), rows, 1, [&](Value row) {
    Value rowOffset =
        builder.offset(problem.lhsRows, builder.add(firstRow, row));
    Value sourceRow =
        builder.advance(source, problem.lhs.storedType, rowOffset);
    Value targetRow =
        builder.advance(lhsCopy, format.lhsFactor,
                        builder.mul(row, builder.constant(lhsRowStride)));
    builder.loop(builder.constant(0), stepCount, lanes, [&](Value step) {
      Value mask = builder.maskBelow(builder.sub(stepCount, step), lanes);
      Value values =
          builder.loadAlong(problem.lhsSteps, problem.lhs.storedType, sourceRow,
                            builder.add(firstStep, step), lanes, mask);
      values = problem.lhs.storedType.isUnsignedInteger()
                   ? emitConvert(builder.ops(), builder.loc(), values,
                                 format.lhsFactor,
                                 /*sourceUnsigned=*/true)
                   : builder.extend(values, format.lhsFactor);
      builder.storeVector(values,
                          builder.advance(targetRow, format.lhsFactor, step));
    });
  });
}

TileRhs MatmulEmitter::getRhs(Value panel, Value firstStep, Value stepCount) {
  Value columns = builder.constant(schedule.nr);
  Value firstColumn = builder.mul(panel, columns);
  Value buffer = builder.buffer(problem.rhs.argument);
  if (problem.packing) {
    Value rowStride = builder.constant(format.stepsTogether * schedule.nr);
    const int64_t panelSteps = getPanelSteps();
    int64_t panelCount = llvm::divideCeil(problem.shape.n, schedule.nr);
    Value index =
        builder.add(builder.mul(batch, builder.constant(panelCount)), panel);
    Value offset = builder.mul(
        builder.add(builder.mul(index, builder.constant(panelSteps)),
                    firstStep),
        columns);
    Value pointer = builder.advance(buffer, problem.rhs.storedType, offset);
    if (!problem.shape.copiesRhs)
      return {pointer,
              rowStride,
              problem.rhs.storedType,
              {},
              streamsThroughL1(builder.target(),
                               panelSteps * schedule.nr * format.rhsBytes())};
    emitWidenPanel(builder, problem.shape.kind, getTile(schedule.mr),
                   problem.rhs.storedType, pointer, stepCount, rhsCopy);
    return {rhsCopy, rowStride, format.rhsFactor, {}};
  }
  Value base = builder.add(builder.evaluate(problem.rhs.layout.offset),
                           builder.offset(problem.rhsBatch, batch));
  Value source = builder.advance(buffer, problem.rhs.storedType, base);
  Value validColumns = builder.sub(n, firstColumn);
  if (problem.shape.copiesRhs) {
    const auto emitCopy =
        problem.shape.kind == MicrokernelKind::FusedMultiplyAdd ? emitPackPanel
                                                                : emitPackPairs;
    emitCopy(
        builder, getTile(schedule.mr),
        {source, problem.rhs.storedType, problem.rhsSteps, problem.rhsColumns},
        firstStep, stepCount, firstColumn, validColumns, rhsCopy);
    return {rhsCopy,
            builder.constant(format.stepsTogether * schedule.nr),
            format.rhsFactor,
            {}};
  }
  Value stride = problem.rhsSteps.empty()
                     ? builder.constant(0)
                     : builder.evaluate(problem.rhsSteps.front().stride);
  Value offset = builder.add(builder.mul(firstStep, stride),
                             builder.offset(problem.rhsColumns, firstColumn));
  TileRhs rhs{builder.advance(source, problem.rhs.storedType, offset),
              stride,
              problem.rhs.storedType,
              {}};
  if (problem.shape.n < 0 || problem.shape.n % schedule.nr != 0)
    for (int64_t vector = 0; vector < vectors; ++vector)
      rhs.masks.push_back(builder.maskBelow(
          builder.sub(validColumns, builder.constant(vector * lanes)), lanes));
  return rhs;
}

SmallVector<Value> MatmulEmitter::getLhsRows(Value row, int64_t count,
                                             Value firstStep) {
  SmallVector<Value> pointers;
  if (lhsCopy) {
    Value first =
        builder.advance(lhsCopy, format.lhsFactor,
                        builder.mul(row, builder.constant(lhsRowStride)));
    for (int64_t i = 0; i < count; ++i)
      pointers.push_back(builder.advance(first, format.lhsFactor,
                                         builder.constant(i * lhsRowStride)));
    return pointers;
  }
  Value base = builder.add(builder.evaluate(problem.lhs.layout.offset),
                           builder.offset(problem.lhsBatch, batch));
  base = builder.add(base, firstStep);
  Value start = builder.advance(builder.buffer(problem.lhs.argument),
                                format.lhsFactor, base);
  Value index = builder.add(firstRow, row);
  if (problem.lhsRows.size() > 1) {
    for (int64_t i = 0; i < count; ++i)
      pointers.push_back(builder.advance(
          start, format.lhsFactor,
          builder.offset(problem.lhsRows,
                         builder.add(index, builder.constant(i)))));
    return pointers;
  }
  // One stride: addresses that differ by constants where it is one.
  Value first = builder.advance(start, format.lhsFactor,
                                builder.offset(problem.lhsRows, index));
  Value stride = problem.lhsRows.empty()
                     ? builder.constant(0)
                     : builder.evaluate(problem.lhsRows.front().stride);
  for (int64_t i = 0; i < count; ++i)
    pointers.push_back(builder.advance(
        first, format.lhsFactor, builder.mul(builder.constant(i), stride)));
  return pointers;
}

/// The first element of a tile's rows and the elements from row to row, where
/// rows have one stride.
std::pair<Value, Value> MatmulEmitter::getLhsBlock(Value row, Value firstStep) {
  if (lhsCopy)
    return {builder.advance(lhsCopy, format.lhsFactor,
                            builder.mul(row, builder.constant(lhsRowStride))),
            builder.constant(lhsRowStride)};
  return {getLhsRows(row, 1, firstStep).front(),
          builder.evaluate(problem.lhsRows.front().stride)};
}

/// A tile's part of the next panel.
Ahead MatmulEmitter::getPanelAhead(const TileRhs &rhs, Value row) {
  const MatmulShape &shape = problem.shape;
  const int64_t blockRows =
      shape.m < 0 ? schedule.mc : std::min(shape.m, schedule.mc);
  if (!problem.packing || shape.copiesRhs)
    return {};
  // Steps of AMX's loop are the 16 rows of a tile.
  const int64_t stepRows = shape.kind == MicrokernelKind::AmxTiles ? 16 : 1;
  const int64_t columnBytes = schedule.nr * format.rhsBytes();
  return getPartOfPanel(builder, rhs.pointer, columnBytes * getPanelSteps(),
                        stepRows * format.stepsTogether * columnBytes,
                        llvm::divideCeil(blockRows, schedule.mr),
                        builder.div(row, builder.constant(schedule.mr)));
}

/// The rows behind a tile of `count` rows, where they lie without gaps: a CPU
/// foresees what is read of a row only when it has seen some of it, which rows
/// from behind the second-level cache make a tile wait for.
Ahead MatmulEmitter::getRowsAhead(Value row, int64_t count) {
  if (lhsCopy || schedule.kc || problem.lhsRows.size() != 1 ||
      problem.lhsRows.front().stride != problem.k)
    return {};
  const int64_t stepBytes =
      count * format.lhsFactor.getIntOrFloatBitWidth() / 8;
  Value first = getLhsRows(row, 1, builder.constant(0)).front();
  return {builder.advance(first, format.lhsFactor,
                          builder.mul(builder.constant(count), k)),
          stepBytes, stepBytes};
}

/// What a tile of multiply-adds brings into the second-level cache: only what
/// does not stay there, as asking takes part of the loads.
SmallVector<Ahead> MatmulEmitter::getAhead(const TileRhs &rhs, Value row,
                                           int64_t count) {
  // Panels that read the rows of one block from where they stay.
  constexpr int64_t kManyPanels = 4;
  const MatmulShape &shape = problem.shape;
  if (shape.kind != MicrokernelKind::FusedMultiplyAdd || shape.k < 0)
    return {};
  const bool blocksStay =
      !schedule.panelsOuter && shape.n > kManyPanels * schedule.nr;
  const int64_t rowsRead = blocksStay ? schedule.mc : shape.m;
  SmallVector<Ahead> all;
  if (rowsRead < 0 ||
      leavesCache(builder.target(), rowsRead * shape.k, format.lhsFactor))
    all.push_back(getRowsAhead(row, count));
  if (wantsPanelsAhead(schedule, shape, builder.target()))
    all.push_back(getPanelAhead(rhs, row));
  llvm::erase_if(all, [](const Ahead &ahead) { return !ahead.pointer; });
  return all;
}

LogicalResult MatmulEmitter::emitPanel(Value panel, Value slot, Value firstStep,
                                       Value stepCount, bool startsAtZero) {
  TileRhs rhs = getRhs(panel, firstStep, stepCount);
  Value panelSums = sumsOf(slot);
  Value firstColumn = builder.mul(panel, builder.constant(schedule.nr));
  SmallVector<Value> masks;
  if (usesRegisters &&
      (problem.shape.n < 0 || problem.shape.n % schedule.nr != 0))
    for (int64_t vector = 0; vector < vectors; ++vector)
      masks.push_back(
          builder.maskBelow(builder.sub(builder.sub(n, firstColumn),
                                        builder.constant(vector * lanes)),
                            lanes));
  if (problem.shape.kind == MicrokernelKind::AmxTiles) {
    Value whole =
        builder.mul(builder.div(builder.add(rows, builder.constant(15)),
                                builder.constant(16)),
                    builder.constant(16));
    emitRowTiles(builder, schedule.mr, whole, schedule.mr - 16,
                 [&](Value row, int64_t count) {
                   auto [start, stride] = getLhsBlock(row, firstStep);
                   Value target = builder.advance(
                       panelSums, format.sum,
                       builder.mul(row, builder.constant(schedule.nr)));
                   emitAmxTile(builder, count, schedule.nr, start, stride, rhs,
                               stepCount, startsAtZero, target, schedule.nr,
                               getPanelAhead(rhs, row));
                 });
    return success();
  }
  LogicalResult result = success();
  std::optional<int64_t> rest;
  if (problem.shape.m >= 0)
    rest = problem.shape.m % schedule.mr;
  emitRowTiles(builder, schedule.mr, rows, rest, [&](Value row, int64_t count) {
    TileShape tile = getTile(count);
    Value target = builder.advance(
        panelSums, format.sum, builder.mul(row, builder.constant(schedule.nr)));
    SmallVector<Value> accumulators = emitMultiplyAccumulate(
        builder, problem.shape.kind, tile, getLhsRows(row, count, firstStep),
        rhs, stepCount, emitZeroTile(builder, tile), getAhead(rhs, row, count));
    if (!startsAtZero)
      accumulators = emitAddTiles(
          builder, emitLoadTile(builder, tile, target, schedule.nr),
          accumulators);
    if (!usesRegisters) {
      emitStoreTile(builder, tile, accumulators, target, schedule.nr);
      return;
    }
    Value resultRow =
        builder.add(builder.add(builder.mul(batch, m), firstRow), row);
    if (failed(epilogue.emitTile(builder, tile, accumulators, resultRow,
                                 firstColumn, masks)))
      result = failure();
  });
  return result;
}

LogicalResult MatmulEmitter::emitSums(Value panel, Value slot) {
  if (usesRegisters)
    return success();
  Value firstColumn = builder.mul(panel, builder.constant(schedule.nr));
  Value columns = problem.shape.n >= 0 && problem.shape.n % schedule.nr == 0
                      ? builder.constant(schedule.nr)
                      : builder.min(builder.constant(schedule.nr),
                                    builder.sub(n, firstColumn));
  Value row = builder.add(builder.mul(batch, m), firstRow);
  return epilogue.emitBlock(builder, row, rows, firstColumn, columns,
                            /*wholeVectors=*/problem.shape.n >= 0 &&
                                problem.shape.n % lanes == 0,
                            format.sum, lanes, sumsOf(slot), schedule.nr);
}

/// Units worth a thread of their own: a thread takes some microseconds to wake.
int64_t getGrain(const MatmulProblem &problem, const MatmulSchedule &schedule) {
  if (schedule.grain > 0)
    return schedule.grain;
  double k = problem.shape.k < 0 ? 256 : problem.shape.k;
  double rows = problem.shape.m < 0 ? schedule.mc
                                    : std::min(schedule.mc, problem.shape.m);
  double columns = schedule.nr * schedule.panels;
  double computeMicroseconds = 2 * rows * columns * k / 100e3;
  double memoryMicroseconds =
      columns * k * problem.shape.format.rhsBytes() / 20e3;
  double microseconds = std::max(computeMicroseconds, memoryMicroseconds);
  // A product of no elements takes no time.
  return microseconds > 0 ? std::max<int64_t>(1, 4.0 / microseconds) : 1;
}

} // namespace

LogicalResult emitMatmul(func::FuncOp kernel, const MatmulProblem &problem,
                         const MatmulSchedule &schedule, const Target &target,
                         std::string &reason) {
  reason = rejectMatmulSchedule(schedule, problem.shape, target);
  if (!reason.empty())
    return failure();
  FailureOr<Epilogue> epilogue =
      Epilogue::create(kernel, problem.result, reason);
  if (failed(epilogue))
    return failure();
  SmallVector<ait::PackingAttr> packings;
  if (problem.packing)
    packings.push_back(ait::PackingAttr::get(
        kernel.getContext(), problem.rhs.argument, *problem.packing,
        schedule.nr, problem.shape.getPackedStepsTogether(),
        problem.packingTransposed));
  ait::setPackings(kernel, packings);
  ait::setScheduleConfig(kernel, schedule.toConfig(kernel.getContext()));
  return rewriteToAbi(
      kernel, target, MatmulEmitter::getGrid(problem, schedule),
      getGrain(problem, schedule),
      [&](KernelBuilder &kernelBuilder, Value begin, Value end) {
        return MatmulEmitter(kernelBuilder, problem, schedule, *epilogue)
            .emit(begin, end);
      });
}

LogicalResult lowerMatmul(func::FuncOp kernel, const Target &target,
                          std::string &reason) {
  FailureOr<MatmulProblem> problem = analyzeMatmul(kernel, target, reason);
  if (failed(problem))
    return failure();
  MatmulSchedule schedule =
      readMatmulSchedule(ait::getScheduleConfig(kernel),
                         chooseMatmulSchedule(problem->shape, target));
  return emitMatmul(kernel, *problem, schedule, target, reason);
}

} // namespace aitune
