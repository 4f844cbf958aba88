// Reductions and scans of PointEmitter.
#include "compiler/codegen/cpu/loops/PointEmitter.h"

#include "compiler/dialect/Ait.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/TypeUtilities.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace aitune {

/// The loops of one reduction, outermost first; merged dims share a loop.
struct PointEmitter::ReductionLoops {
  linalg::GenericOp generic;
  SmallVector<AffineExpr> loops;
  struct Group {
    SmallVector<unsigned> dims;
    AffineExpr size;
  };
  SmallVector<Group> groups;
  /// Lanes along the innermost group; 1: the lanes, if any, are of a loop
  /// around.
  int64_t lanes = 1;
  /// Accumulators that the innermost loop keeps, so that additions overlap.
  int64_t unroll = 1;
  SmallVector<Value> neutral;
};

namespace {

/// Additions that one accumulator takes before it is added to another. A float
/// sum of n terms by one accumulator is off by up to n roundings; by blocks,
/// and blocks of blocks, by some hundred (Higham, The accuracy of floating
/// point summation, 1993).
constexpr int64_t kBlockSteps = 64;
constexpr int kMostBlockLevels = 2;

/// The value of a merged group's dims, of which addresses only need the last.
void bindGroup(EmissionScope &scope, ArrayRef<unsigned> dims, Value iv,
               OpBuilder &b, Location location) {
  Value zero = arith::ConstantIntOp::create(b, location, 0, 64);
  for (unsigned dim : dims.drop_back())
    scope.bindings[dim] = zero;
  scope.bindings[dims.back()] = iv;
}

/// Whether `generic` adds up floating-point numbers.
bool isFloatSum(linalg::GenericOp generic) {
  Operation *terminator = generic.getBody()->getTerminator();
  return terminator->getNumOperands() == 1 &&
         terminator->getOperand(0).getDefiningOp<arith::AddFOp>();
}

} // namespace

SmallVector<Value> PointEmitter::step(ReductionLoops &loops,
                                      ValueRange accumulators) {
  Body body(loops.generic, loops.loops);
  unsigned inputs = loops.generic.getNumDpsInputs();
  for (auto [i, accumulator] : llvm::enumerate(accumulators))
    body.known[loops.generic.getBody()->getArgument(inputs + i)] = accumulator;
  SmallVector<Value> results;
  for (auto [yielded, accumulator] :
       llvm::zip(loops.generic.getBody()->getTerminator()->getOperands(),
                 accumulators)) {
    Value value = evaluate(yielded, body);
    if (auto vector = dyn_cast<VectorType>(accumulator.getType()))
      value = broadcast(value, vector.getDimSize(0));
    results.push_back(value);
  }
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
  const ReductionLoops::Group &group = loops.groups.back();
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
          bindGroup(scope, group.dims, at, b, location);
          if (lanes > 1) {
            scope.laneDim = group.dims.back();
            scope.lanes = lanes;
            scope.mask = mask;
          }
        },
        [&] { after = step(loops, before); });
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
  // A last step of fewer lanes; with a dynamic size perhaps of none.
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
    return step(loops, accumulators);
  if (depth + 1 == loops.groups.size())
    return reduceInnermost(loops, accumulators);
  const ReductionLoops::Group &group = loops.groups[depth];
  return sumInBlocks(
      loops, materializeUniform(group.size), 1, getConstant(group.size),
      accumulators, [&](Value iv, ValueRange carried) {
        bindGroup(*current, group.dims, iv, b, location);
        if (!isFloatSum(loops.generic))
          return reduceOver(loops, depth + 1, carried);
        return combine(loops.generic, carried,
                       reduceOver(loops, depth + 1, loops.neutral));
      });
}

void PointEmitter::reduce(linalg::GenericOp generic, unsigned result,
                          ArrayRef<AffineExpr> exprs) {
  ReductionLoops loops{generic, bindLoops(generic, result, exprs), {}, 1, 1,
                       {}};
  SmallVector<AffineExpr> sizes = getLoopSizes(generic);
  SmallVector<unsigned> reduced;
  for (auto [loop, size, iterator] :
       llvm::zip(loops.loops, sizes, generic.getIteratorTypesArray())) {
    if (iterator != utils::IteratorType::reduction)
      continue;
    loop = size == 1 ? getAffineConstantExpr(0, generic.getContext())
                     : dims.make(size);
    if (auto dim = dyn_cast<AffineDimExpr>(loop))
      reduced.push_back(dim.getPosition());
  }
  LoopAnalysis analysis(dims);
  analysis.visitBody(generic, loops.loops);
  for (unsigned dim : reduced) {
    if (!loops.groups.empty() &&
        analysis.canMerge(loops.groups.back().dims.back(), dim)) {
      ReductionLoops::Group &group = loops.groups.back();
      group.dims.push_back(dim);
      group.size = canonical(group.size * dims.size(dim));
    } else {
      loops.groups.push_back({{dim}, dims.size(dim)});
    }
  }
  // Lanes lie along the innermost axis if most of what is read lies so.
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
        // A reduction over nothing has one lane.
        loops.lanes = std::clamp<int64_t>(
            llvm::PowerOf2Ceil(size.value_or(maxLanes)), 1, maxLanes);
    }
    int64_t steps = size.value_or(1 << 20) / loops.lanes;
    int64_t wanted = analysis.cost > 12 ? 2 : 4;
    loops.unroll = std::max<int64_t>(
        1, std::min<int64_t>(wanted, llvm::bit_floor(uint64_t(steps))));
  }

  int64_t lanes = loops.lanes > 1 ? loops.lanes : around ? around->lanes : 1;
  for (OpOperand &init : generic.getDpsInitsMutable()) {
    Attribute constant;
    matchPattern(
        cast<linalg::FillOp>(init.get().getDefiningOp()).getInputs()[0],
        m_Constant(&constant));
    Value neutral =
        arith::ConstantOp::create(b, location, cast<TypedAttr>(constant));
    loops.neutral.push_back(broadcast(neutral, lanes));
  }
  SmallVector<Value> values = reduceOver(loops, 0, loops.neutral);
  if (loops.lanes > 1)
    values = combineLanes(generic, values);
  AffineMap key = AffineMap::get(4096, 64, exprs, generic.getContext());
  for (auto [i, value] : llvm::enumerate(values))
    current->known[{generic->getResult(i), key}] = value;
}

Value PointEmitter::neutralOf(linalg::GenericOp generic, unsigned result) {
  Attribute constant;
  auto fill =
      cast<linalg::FillOp>(generic.getDpsInits()[result].getDefiningOp());
  matchPattern(fill.getInputs()[0], m_Constant(&constant));
  EmissionScope *around = laneScope();
  return broadcast(
      arith::ConstantOp::create(b, location, cast<TypedAttr>(constant)),
      around ? around->lanes : 1);
}

void PointEmitter::resetScans() {
  for (auto &[op, state] : scans)
    LLVM::StoreOp::create(
        b, location, neutralOf(cast<linalg::GenericOp>(op), 1), state.pointer);
}

bool PointEmitter::runsInOrder(linalg::GenericOp generic, AffineExpr axis,
                               ArrayRef<AffineExpr> exprs) {
  auto state = scans.find(generic);
  auto dim = dyn_cast<AffineDimExpr>(axis);
  if (state == scans.end() || !scanDim || !dim || dim.getPosition() != *scanDim)
    return false;
  int uses = llvm::count_if(
      exprs, [&](AffineExpr expr) { return expr.isFunctionOfDim(*scanDim); });
  if (uses != 1)
    return false;
  // Every step must run: not inside a branch.
  for (EmissionScope *scope = current; scope; scope = scope->parent) {
    if (scope->isBranch)
      return false;
    if (scope->bindings.count(*scanDim))
      break;
  }
  AffineMap index = AffineMap::get(4096, 64, exprs, generic.getContext());
  if (!state->second.index)
    state->second.index = index;
  return state->second.index == index;
}

Value PointEmitter::scan(linalg::GenericOp generic,
                         ArrayRef<AffineExpr> exprs) {
  ReductionLoops loops{generic, bindLoops(generic, 0, exprs), {}, 1, 1, {}};
  unsigned axis = 0;
  SmallVector<AffineExpr> sizes = getLoopSizes(generic);
  for (auto [i, iterator] : llvm::enumerate(generic.getIteratorTypesArray()))
    if (iterator == utils::IteratorType::reduction)
      axis = i;
  AffineExpr last = loops.loops[axis];
  Value zero = neutralOf(generic, 1);
  Type resultType =
      cast<RankedTensorType>(generic->getResult(0).getType()).getElementType();
  EmissionScope *around = laneScope();
  Value none = broadcast(
      arith::ConstantOp::create(b, location, b.getZeroAttr(resultType)),
      around ? around->lanes : 1);
  if (runsInOrder(generic, last, exprs)) {
    Value pointer = scans[generic].pointer;
    Value before = LLVM::LoadOp::create(b, location, zero.getType(), pointer);
    SmallVector<Value> after = step(loops, {none, before});
    LLVM::StoreOp::create(b, location, after[1], pointer);
    return after[0];
  }
  // Read out of order: every element starts again from the first.
  loops.loops[axis] = dims.make(sizes[axis]);
  unsigned scanned = cast<AffineDimExpr>(loops.loops[axis]).getPosition();
  Value end =
      arith::AddIOp::create(b, location, materializeUniform(last), i64(1));
  return loop(i64(0), end, 1, ValueRange{none, zero},
              [&](Value iv, ValueRange carried) {
                current->bindings[scanned] = iv;
                return step(loops, carried);
              })[0];
}

} // namespace aitune
