// Reductions and scans of PointEmitter.
#include "compiler/codegen/cpu/loops/PointEmitter.h"

#include "mlir/IR/TypeUtilities.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace aitune {

/// The loops of one reduction, outermost first; merged dims share a loop.
struct PointEmitter::ReductionLoops {
  linalg::GenericOp generic;
  SmallVector<AffineExpr> loops;
  SmallVector<LoopGroup> groups;
  /// Lanes along the innermost group; 1: the lanes, if any, are of a loop
  /// around.
  int64_t lanes = 1;
  /// Accumulators that the innermost loop keeps, so that additions overlap.
  int64_t unroll = 1;
  SmallVector<Value> neutral;
};

namespace {

/// The number of additions to one accumulator before it is added to another.
/// The error of a float sum of n terms in one accumulator is up to n roundings;
/// with blocks, and blocks of blocks, it is about a hundred (Higham, The
/// accuracy of floating point summation, 1993).
constexpr int64_t kBlockSteps = 64;
constexpr int kMostBlockLevels = 2;

/// Whether `generic` adds up floating-point numbers.
bool isFloatSum(linalg::GenericOp generic) {
  Operation *terminator = generic.getBody()->getTerminator();
  return terminator->getNumOperands() == 1 &&
         terminator->getOperand(0).getDefiningOp<arith::AddFOp>();
}

} // namespace

SmallVector<Value> PointEmitter::step(linalg::GenericOp generic,
                                      ArrayRef<AffineExpr> loops,
                                      ValueRange accumulators) {
  SmallVector<Value> results, before(accumulators);
  evaluateStep(generic, loops, before, [&](size_t i, Value value) {
    if (auto vector = dyn_cast<VectorType>(before[i].getType()))
      value = broadcast(value, vector.getDimSize(0));
    results.push_back(value);
  });
  return results;
}

SmallVector<Value> PointEmitter::combine(linalg::GenericOp generic,
                                         ValueRange lhs, ValueRange rhs) {
  Block *block = generic.getBody();
  unsigned inputs = generic.getNumDpsInputs();
  if (lhs.size() == 1) {
    // lhs is the accumulator of the one combining operation, rhs its other
    // operand.
    Operation *combiner = block->getTerminator()->getOperand(0).getDefiningOp();
    SmallVector<Value> operands;
    for (Value operand : combiner->getOperands())
      operands.push_back(operand == block->getArgument(inputs) ? lhs[0]
                                                               : rhs[0]);
    OperationState state(location, combiner->getName(), operands,
                         TypeRange{lhs[0].getType()}, combiner->getAttrs());
    return {b.create(state)->getResult(0)};
  }
  // An extremum and its position: body selects by "x is better than the
  // accumulator". Of equals the earlier position stays.
  auto valueSelect =
      block->getTerminator()->getOperand(0).getDefiningOp<arith::SelectOp>();
  auto isBetter = [&](Value x, Value accumulator) {
    Body body(generic, {});
    body.known[valueSelect.getTrueValue()] = x;
    body.known[block->getArgument(inputs)] = accumulator;
    return evaluate(valueSelect.getCondition(), body);
  };
  Value rightBetter = isBetter(rhs[0], lhs[0]),
        leftBetter = isBetter(lhs[0], rhs[0]);
  Value earlier = arith::CmpIOp::create(b, location, arith::CmpIPredicate::slt,
                                        rhs[1], lhs[1]);
  Value allOnes = arith::ConstantOp::create(
      b, location,
      isa<VectorType>(earlier.getType())
          ? TypedAttr(DenseElementsAttr::get(
                cast<VectorType>(earlier.getType()), b.getBoolAttr(true)))
          : TypedAttr(b.getBoolAttr(true)));
  Value leftNotBetter = arith::XOrIOp::create(b, location, leftBetter, allOnes);
  Value takeRight = arith::OrIOp::create(
      b, location, rightBetter,
      arith::AndIOp::create(b, location, leftNotBetter, earlier));
  return {arith::SelectOp::create(b, location, takeRight, rhs[0], lhs[0]),
          arith::SelectOp::create(b, location, takeRight, rhs[1], lhs[1])};
}

SmallVector<Value> PointEmitter::combineLanes(linalg::GenericOp generic,
                                              ValueRange values) {
  SmallVector<Value> parts(values);
  int64_t lanes = cast<VectorType>(parts[0].getType()).getDimSize(0);
  for (int64_t half = lanes / 2; half >= 1; half /= 2) {
    SmallVector<int64_t> low, high;
    for (int64_t i = 0; i < half; ++i) {
      low.push_back(i);
      high.push_back(i + half);
    }
    SmallVector<Value> first, second;
    for (Value part : parts) {
      if (half == 1) {
        first.push_back(
            vector::ExtractOp::create(b, location, part, ArrayRef<int64_t>{0}));
        second.push_back(
            vector::ExtractOp::create(b, location, part, ArrayRef<int64_t>{1}));
        continue;
      }
      first.push_back(vector::ShuffleOp::create(b, location, part, part, low));
      second.push_back(
          vector::ShuffleOp::create(b, location, part, part, high));
    }
    parts = combine(generic, first, second);
  }
  return parts;
}

SmallVector<Value> PointEmitter::sumInBlocks(
    ReductionLoops &loops, Value end, int64_t step, std::optional<int64_t> size,
    ValueRange accumulators,
    function_ref<SmallVector<Value>(Value iv, ValueRange carried)> body) {
  int64_t steps = size.value_or(INT64_MAX) / step, stride = step;
  for (int level = 0; level < kMostBlockLevels && steps > 2 * kBlockSteps &&
                      isFloatSum(loops.generic);
       ++level) {
    steps /= kBlockSteps;
    stride *= kBlockSteps;
  }
  auto addUp = [&](auto &self, int64_t stride, Value from, Value to,
                   ValueRange before) -> SmallVector<Value> {
    if (stride == step)
      return loop(from, to, step, before, body);
    return loop(from, to, stride, before, [&](Value iv, ValueRange carried) {
      SmallVector<Value> block;
      for (size_t i = 0; i < carried.size(); ++i)
        block.push_back(loops.neutral[i % loops.neutral.size()]);
      Value last = arith::MinUIOp::create(
          b, location, to, arith::AddIOp::create(b, location, iv, i64(stride)));
      block = self(self, stride / kBlockSteps, iv, last, block);
      for (auto [part, total] : llvm::zip(block, carried))
        part = combine(loops.generic, total, part)[0];
      return block;
    });
  };
  return addUp(addUp, stride, i64(0), end, accumulators);
}

SmallVector<Value> PointEmitter::reduceInnermost(ReductionLoops &loops,
                                                 ValueRange accumulators) {
  const LoopGroup &group = loops.groups.back();
  int64_t lanes = loops.lanes, unroll = loops.unroll;
  Value size = materializeUniform(group.size);
  std::optional<int64_t> constantSize = getConstant(group.size);
  auto wholeSteps = [&](int64_t stride) -> Value {
    if (constantSize)
      return i64(*constantSize / stride * stride);
    Value remainder = arith::RemUIOp::create(b, location, size, i64(stride));
    return arith::SubIOp::create(b, location, size, remainder);
  };
  // One step at iv + offset.
  auto chunk = [&](Value iv, int64_t offset, Value mask, ValueRange before) {
    SmallVector<Value> after;
    Value at = offset
                   ? Value(arith::AddIOp::create(b, location, iv, i64(offset)))
                   : iv;
    inScope(
        [&](EmissionScope &scope) {
          if (lanes > 1) {
            scope.laneDim = group.dims.back();
            scope.lanes = lanes;
            scope.mask = mask;
          }
        },
        [&] {
          bind(group, at);
          after = step(loops.generic, loops.loops, before);
        });
    if (mask)
      for (auto [value, old] : llvm::zip(after, before))
        value = arith::SelectOp::create(b, location, mask, value, old);
    return after;
  };

  SmallVector<Value> results(accumulators);
  Value done = i64(0);
  size_t width = accumulators.size();
  if (unroll > 1) {
    SmallVector<Value> sets(results);
    for (int64_t i = 1; i < unroll; ++i)
      llvm::append_range(sets, loops.neutral);
    Value end = wholeSteps(lanes * unroll);
    sets = sumInBlocks(loops, end, lanes * unroll, constantSize, sets,
                       [&](Value iv, ValueRange carried) {
                         SmallVector<Value> next;
                         for (int64_t i = 0; i < unroll; ++i)
                           llvm::append_range(
                               next, chunk(iv, i * lanes, nullptr,
                                           carried.slice(i * width, width)));
                         return next;
                       });
    for (int64_t half = unroll / 2; half >= 1; half /= 2)
      for (int64_t i = 0; i < half; ++i) {
        SmallVector<Value> low(sets.begin() + i * width,
                               sets.begin() + (i + 1) * width);
        SmallVector<Value> high(sets.begin() + (i + half) * width,
                                sets.begin() + (i + half + 1) * width);
        llvm::copy(combine(loops.generic, low, high), sets.begin() + i * width);
      }
    results.assign(sets.begin(), sets.begin() + width);
    done = end;
  }
  Value end = wholeSteps(lanes);
  results = loop(done, end, lanes, results, [&](Value iv, ValueRange carried) {
    return chunk(iv, 0, nullptr, carried);
  });
  if (lanes == 1 || (constantSize && *constantSize % lanes == 0))
    return results;
  // The last step has fewer lanes; with a dynamic size it may have none.
  Value rest = arith::SubIOp::create(b, location, size, end);
  Value mask = maskBelow(rest, lanes);
  if (constantSize)
    return chunk(end, 0, mask, results);
  return loop(end, size, lanes, results, [&](Value iv, ValueRange carried) {
    return chunk(iv, 0, mask, carried);
  });
}

SmallVector<Value> PointEmitter::reduceOver(ReductionLoops &loops,
                                            unsigned depth,
                                            ValueRange accumulators) {
  if (loops.groups.empty())
    return step(loops.generic, loops.loops, accumulators);
  if (depth + 1 == loops.groups.size())
    return reduceInnermost(loops, accumulators);
  const LoopGroup &group = loops.groups[depth];
  return sumInBlocks(
      loops, materializeUniform(group.size), 1, getConstant(group.size),
      accumulators, [&](Value iv, ValueRange carried) {
        bind(group, iv);
        if (!isFloatSum(loops.generic))
          return reduceOver(loops, depth + 1, carried);
        return combine(loops.generic, carried,
                       reduceOver(loops, depth + 1, loops.neutral));
      });
}

SmallVector<Value> PointEmitter::reduce(Reduction &reduction) {
  linalg::GenericOp generic = reduction.generic;
  ReductionLoops loops{generic, reduction.loops, {}, 1, 1, {}};
  LoopAnalysis analysis(dims);
  analysis.visitBody(generic, loops.loops);
  for (unsigned dim : reduction.dims)
    appendAxis(loops.groups, dim, dims, [&](unsigned outer, unsigned inner) {
      return analysis.canMerge(outer, inner);
    });
  // Lanes lie along the innermost axis if most reads are contiguous along it.
  EmissionScope *around = laneScope();
  if (!loops.groups.empty()) {
    unsigned innermost = loops.groups.back().dims.back();
    std::optional<int64_t> size = getConstant(loops.groups.back().size);
    if (!around && !analysis.scanned.contains(innermost)) {
      int strided = 0, contiguous = 0;
      for (const LoopAnalysis::Access &access : analysis.accesses) {
        if (!access.address.involves(innermost))
          continue;
        bool isContiguous = !access.address.isNonlinearIn(innermost) &&
                            access.address.coefficientOf(innermost) == 1;
        (isContiguous ? contiguous : strided)++;
      }
      if (contiguous >= strided)
        loops.lanes = chooseLanes(size, maxLanes);
    }
    int64_t steps = size.value_or(1 << 20) / loops.lanes;
    int64_t wanted = analysis.cost > 12 ? 2 : 4;
    loops.unroll = std::max<int64_t>(
        1, std::min<int64_t>(wanted, llvm::bit_floor(uint64_t(steps))));
  }

  int64_t lanes = loops.lanes > 1 ? loops.lanes : around ? around->lanes : 1;
  for (unsigned i = 0; i < generic.getNumResults(); ++i)
    loops.neutral.push_back(neutralOf(generic, i, lanes));
  SmallVector<Value> values = reduceOver(loops, 0, loops.neutral);
  return loops.lanes > 1 ? combineLanes(generic, values) : values;
}

Value PointEmitter::neutralOf(linalg::GenericOp generic, unsigned result,
                              int64_t lanes) {
  TypedAttr value = getNeutral(generic, result);
  Type type = getElementTypeOrSelf(generic->getResult(result));
  return broadcast(
      value ? constant(value)
            : fail(type, "a reduction that does not start from a constant"),
      lanes);
}

void PointEmitter::resetScans() {
  EmissionScope *around = laneScope();
  for (auto &[op, state] : scans)
    LLVM::StoreOp::create(
        b, location,
        neutralOf(cast<linalg::GenericOp>(op), 1, around ? around->lanes : 1),
        state.pointer);
}

bool PointEmitter::runsInOrder(const Scan &scan) {
  auto state = scans.find(scan.generic);
  auto dim = dyn_cast<AffineDimExpr>(scan.loops[scan.axis]);
  if (state == scans.end() || !scanDim || !dim || dim.getPosition() != *scanDim)
    return false;
  int uses = llvm::count_if(scan.exprs, [&](AffineExpr expr) {
    return expr.isFunctionOfDim(*scanDim);
  });
  if (uses != 1)
    return false;
  // Every step must run: not inside a branch.
  for (EmissionScope *scope = current; scope; scope = scope->parent) {
    if (scope->isBranch)
      return false;
    if (scope->bindings.count(*scanDim))
      break;
  }
  AffineMap index = toKey(scan.exprs, dim.getContext());
  if (!state->second.index)
    state->second.index = index;
  return state->second.index == index;
}

Value PointEmitter::runScan(Scan &scan) {
  EmissionScope *around = laneScope();
  int64_t lanes = around ? around->lanes : 1;
  Value start = neutralOf(scan.generic, 1, lanes);
  Value none =
      broadcast(zero(getElementTypeOrSelf(scan.generic->getResult(0))), lanes);
  if (runsInOrder(scan)) {
    Value pointer = scans[scan.generic].pointer;
    Value before = LLVM::LoadOp::create(b, location, start.getType(), pointer);
    SmallVector<Value> after = step(scan.generic, scan.loops, {none, before});
    LLVM::StoreOp::create(b, location, after[1], pointer);
    return after[0];
  }
  // Read out of order: every element starts again from the first.
  AffineExpr last = scan.loops[scan.axis];
  unsigned dim = restart(scan);
  Value end =
      arith::AddIOp::create(b, location, materializeUniform(last), i64(1));
  return loop(i64(0), end, 1, ValueRange{none, start},
              [&](Value iv, ValueRange carried) {
                current->bindings[dim] = iv;
                return step(scan.generic, scan.loops, carried);
              })[0];
}

} // namespace aitune
