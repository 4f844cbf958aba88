#include "compiler/codegen/cpu/loops/LoopSchedule.h"

#include <cmath>

#include "llvm/ADT/SetVector.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace aitune {
namespace {

/// Simple operations that a unit should have at least, so that finding its
/// place costs nothing; and how many units a kernel should have for threads to
/// share.
constexpr double kLeastUnitWork = 2048;
constexpr int64_t kWantedUnits = 16;
/// Values of the loop across the lanes in a unit, where lanes read with a
/// stride: 512 bytes of 4-byte elements, enough neighbouring cache lines that a
/// CPU's prefetchers follow. On a Zen 4, transposes out of memory take a
/// quarter less time than with 32.
constexpr int64_t kAcross = 128;
/// Simple operations of an element up to which its code is repeated for each
/// lane's worth of a transposed square; more would make the code long, while
/// the loads would be a small part of the work.
constexpr double kTileCost = 24;
/// The most lanes with which squares are transposed in registers: the vectors
/// of one must fit there. Narrow elements do not fill them.
constexpr int64_t kMostTileLanes = 16;
/// The parts of the loop over the lanes, each a copy of its code: so many
/// whatever it computes, and so many if all copies together cost little. A
/// part's cost is not known, so that of an element stands for it, although most
/// of it may be in other parts.
constexpr double kMostSplits = 8;
constexpr double kMostCheapSplits = 128;
constexpr double kMostSplitCost = 8192;
/// More symbols than a kernel has.
constexpr size_t kMostSymbols = 64;
/// The size that an unknown size counts as in estimates.
constexpr int64_t kTypicalSize = 64;

/// Whether lanes along `dim` would read with a stride elements that a reduction
/// could read in order.
bool readsReductionsAcross(const LoopAnalysis &analysis, const DimTable &dims,
                           unsigned dim) {
  for (const LoopAnalysis::Access &access : analysis.accesses) {
    if (!access.inReduction)
      continue;
    AffineExpr coefficient = access.address.coefficientOf(dim);
    if (!access.address.isNonlinearIn(dim) &&
        (coefficient == 0 || coefficient == 1))
      continue;
    for (const LoopAnalysis::Reduction &reduction : analysis.reductions)
      for (unsigned reduced : reduction.reducedDims)
        if (access.address.coefficientOf(reduced) == 1 &&
            getConstant(dims.size(reduced)).value_or(kTypicalSize) >= 8)
          return true;
  }
  return false;
}

struct Scheduler {
  Scheduler(LoopNest &nest, DimTable &dims, int64_t maxLanes, double unitWork)
      : nest(nest), dims(dims), maxLanes(maxLanes), unitWork(unitWork) {}

  LoopNest &nest;
  DimTable &dims;
  int64_t maxLanes;
  double unitWork;
  LoopAnalysis analysis{dims};
  SmallVector<unsigned> domain; ///< dims of size other than 1
  llvm::DenseSet<unsigned> inner;
  SmallVector<UnitLoop> groups;
  CpuSchedule schedule;
  double rowCost = 0;     ///< once a row
  double elementCost = 1; ///< once an element

  CpuSchedule run() {
    domain = nest.openAxes(dims);
    nest.visit(analysis);
    findInnerAxes();
    chooseLaneDim();
    mergeAxes();
    findSplits();
    splitIntoUnits();
    findScan();
    return std::move(schedule);
  }

  void findInnerAxes() {
    for (unsigned dim : domain)
      if (analysis.scanned.contains(dim))
        inner.insert(dim);
    for (const LoopAnalysis::Reduction &reduction : analysis.reductions) {
      if (!nest.isOfDomain(reduction.exprs) || isScan(reduction.generic))
        continue;
      for (unsigned dim : domain)
        if (llvm::none_of(reduction.exprs, [&](AffineExpr expr) {
              return expr.isFunctionOfDim(dim);
            }))
          inner.insert(dim);
    }
    for (const KernelOutput &output : nest.outputs)
      for (auto [size, own, expr] :
           llvm::zip(nest.sizes, sizesOf(output.value), nest.index))
        if (own == 1 && size != 1)
          inner.insert(cast<AffineDimExpr>(expr).getPosition());
    // The cost of values that are computed once for each row does not count for
    // an element.
    elementCost = analysis.cost;
    for (const LoopAnalysis::Reduction &reduction : analysis.reductions) {
      bool ofRow = nest.isOfDomain(reduction.exprs) &&
                   llvm::none_of(reduction.exprs, [&](AffineExpr expr) {
                     return llvm::any_of(dimsOf(expr), [&](unsigned dim) {
                       return inner.contains(dim);
                     });
                   });
      if (!ofRow || inner.empty())
        continue;
      rowCost += reduction.cost;
      elementCost -= reduction.cost;
      schedule.rowValues.emplace_back(
          reduction.generic->getResult(reduction.result), reduction.exprs);
    }
    elementCost = std::max(elementCost, 1.0);
  }

  void chooseLaneDim() {
    if (domain.empty())
      return;
    unsigned last = domain.back();
    if (analysis.scanned.contains(last) ||
        readsReductionsAcross(analysis, dims, last))
      return;
    schedule.laneDim = last;
    schedule.isColumn = !inner.empty() && !inner.contains(last);
  }

  void mergeAxes() {
    for (unsigned dim : domain) {
      bool isInner = inner.contains(dim);
      // Only neighbours are merged, so an axis of the other class ends a group.
      if (!groups.empty() && groups.back().isInner == isInner &&
          analysis.canMerge(groups.back().dims.back(), dim))
        groups.back().add(dim, dims);
      else
        groups.push_back({{{dim}, dims.size(dim)}, isInner, std::nullopt});
    }
    if (!schedule.laneDim)
      return;
    schedule.lanes = chooseLanes(getConstant(groups.back().size), maxLanes);
    if (schedule.lanes == 1)
      schedule.laneDim.reset();
  }

  static int64_t estimate(AffineExpr size) {
    return getConstant(size).value_or(kTypicalSize);
  }

  int64_t roundToLanes(int64_t elements) {
    return std::max<int64_t>(schedule.lanes,
                             elements / schedule.lanes * schedule.lanes);
  }

  /// The loop along which a read lies in order that has a stride along the
  /// lanes; null if there is none.
  UnitLoop *findAcross() {
    if (!schedule.laneDim)
      return nullptr;
    unsigned lane = *schedule.laneDim;
    for (const LoopAnalysis::Access &access : analysis.accesses) {
      const LinearForm &address = access.address;
      if (access.inReduction || address.isNonlinearIn(lane) ||
          address.coefficientOf(lane) == 0 || address.coefficientOf(lane) == 1)
        continue;
      for (UnitLoop &group : llvm::MutableArrayRef(groups).drop_back())
        if (unsigned dim = group.dims.back();
            !address.isNonlinearIn(dim) && address.coefficientOf(dim) == 1)
          return &group;
    }
    return nullptr;
  }

  /// Makes units that are blocks of both loops. Returns their elements.
  double blockBoth(UnitLoop &across, UnitLoop &lanes, double wanted) {
    auto limit = [&](UnitLoop &group, int64_t most) {
      std::optional<int64_t> size = getConstant(group.size);
      if (size && *size <= most)
        return *size;
      group.block = most;
      return most;
    };
    if (elementCost <= kTileCost) {
      schedule.tileDim = across.dims.back();
      schedule.lanes = std::min(schedule.lanes, kMostTileLanes);
    }
    // An axis may have no elements.
    const int64_t rows = std::max<int64_t>(limit(across, kAcross), 1);
    const int64_t columns = limit(
        lanes, roundToLanes(std::llround(wanted / static_cast<double>(rows))));
    for (UnitLoop &group : groups)
      if ((&group != &across && &group != &lanes) || group.block)
        schedule.unitLoops.push_back(group);
    schedule.unitInner = {lanes, across};
    return static_cast<double>(rows * columns);
  }

  void splitIntoUnits() {
    double elements = 1; // elements of a unit's inner loops
    double wanted = 1;   // elements that are wanted without inner axes
    if (inner.empty()) {
      double total = 1;
      for (const UnitLoop &group : groups)
        total *= estimate(group.size);
      wanted = std::max(kLeastUnitWork, std::min(unitWork, total * elementCost /
                                                               kWantedUnits)) /
               elementCost;
    }
    if (UnitLoop *across = inner.empty() ? findAcross() : nullptr) {
      elements = blockBoth(*across, groups.back(), wanted);
    } else if (inner.empty()) {
      bool full = false;
      for (UnitLoop &group : llvm::reverse(groups)) {
        bool isLaneGroup = schedule.laneDim && &group == &groups.back();
        std::optional<int64_t> size = getConstant(group.size);
        if (full) {
          schedule.unitLoops.insert(schedule.unitLoops.begin(), group);
          continue;
        }
        if (size && elements * *size <= wanted) {
          elements *= *size;
          schedule.unitInner.insert(schedule.unitInner.begin(), group);
          continue;
        }
        full = true;
        int64_t block =
            std::max<int64_t>(1, static_cast<int64_t>(wanted / elements));
        if (isLaneGroup)
          block = roundToLanes(block);
        if (size && block >= *size) {
          elements *= *size;
          schedule.unitInner.insert(schedule.unitInner.begin(), group);
        } else if (block == 1) {
          schedule.unitLoops.insert(schedule.unitLoops.begin(), group);
        } else {
          elements *= block;
          group.block = block;
          schedule.unitLoops.insert(schedule.unitLoops.begin(), group);
          schedule.unitInner.insert(schedule.unitInner.begin(), group);
        }
      }
    } else {
      for (UnitLoop &group : groups)
        if (group.isInner)
          elements *= estimate(group.size);
      for (UnitLoop &group : groups) {
        bool isLaneGroup = schedule.laneDim && &group == &groups.back();
        if (group.isInner) {
          schedule.unitInner.push_back(group);
        } else if (isLaneGroup) {
          double column = rowCost + elements * elementCost;
          group.block =
              roundToLanes(static_cast<int64_t>(unitWork / 4 / column));
          schedule.unitLoops.push_back(group);
          schedule.unitInner.insert(schedule.unitInner.begin(), group);
          elements *= static_cast<double>(*group.block);
          rowCost *= static_cast<double>(*group.block);
        } else {
          schedule.unitLoops.push_back(group);
        }
      }
    }
    schedule.unitCost = std::max(1.0, rowCost + elements * elementCost);
    schedule.units =
        getAffineConstantExpr(1, nest.outputs.front().value.getContext());
    for (const UnitLoop &group : schedule.unitLoops)
      schedule.units =
          schedule.units *
          (group.block ? group.size.ceilDiv(*group.block) : group.size);
  }

  void findScan() {
    if (schedule.unitInner.empty())
      return;
    const UnitLoop &innermost = schedule.unitInner.back();
    unsigned dim = innermost.dims.back();
    if (innermost.dims.size() == 1 && !innermost.block &&
        analysis.scanned.contains(dim))
      schedule.scanDim = dim;
  }

  /// Where the condition `threshold` < 0 changes along `dim`; null if that is
  /// not one place, or outside of the dim's values.
  AffineExpr findSplit(AffineExpr threshold, unsigned dim) {
    LinearForm form = decompose(threshold);
    AffineExpr size = dims.size(dim);
    std::optional<int64_t> coefficient = getConstant(form.coefficientOf(dim));
    if (form.terms.size() != 1 || form.isNonlinearIn(dim) || !coefficient ||
        *coefficient == 0)
      return nullptr;
    AffineExpr at;
    if (std::optional<int64_t> constant = getConstant(form.constant))
      at = getAffineConstantExpr(
          *coefficient > 0
              ? llvm::divideCeilSigned(-*constant, *coefficient)
              : llvm::divideFloorSigned(*constant, -*coefficient) + 1,
          size.getContext());
    else if (*coefficient == 1)
      at = canonical(-form.constant);
    else if (*coefficient == -1)
      at = canonical(form.constant + 1);
    else
      return nullptr;
    auto ranges = [&](unsigned) { return std::optional<DimRange>(); };
    if (getBounds(at, ranges).upper.value_or(1) <= 0 ||
        getBounds(at - size, ranges).lower.value_or(-1) >= 0)
      return nullptr;
    return at;
  }

  /// The value of `size` where all symbols are typical.
  static int64_t estimateAtTypical(AffineExpr size) {
    SmallVector<AffineExpr> typical(
        kMostSymbols, getAffineConstantExpr(kTypicalSize, size.getContext()));
    return getConstant(size.replaceSymbols(typical)).value_or(kTypicalSize);
  }

  void findSplits() {
    // The loop over the lanes has to be the innermost one.
    if (!schedule.laneDim || schedule.isColumn ||
        groups.back().dims.size() > 1 || (inner.empty() && findAcross()))
      return;
    llvm::SmallSetVector<AffineExpr, 8> splits;
    for (AffineExpr threshold : analysis.thresholds)
      if (AffineExpr at = findSplit(threshold, *schedule.laneDim))
        splits.insert(at);
    // One operand, as a padding has: in rows that may be short, its loads under
    // masks take no longer than more parts do.
    if (analysis.accesses.size() <= nest.outputs.size() + 1 &&
        !llvm::all_of(splits, llvm::IsaPred<AffineConstantExpr>))
      return;
    // A part of the loop has no comparison, and neither the index nor the load
    // of any other part.
    const double count = static_cast<double>(splits.size());
    const double cost = std::max(elementCost - 3 * count, 1.0);
    if (count > kMostSplits &&
        (count > kMostCheapSplits || count * cost > kMostSplitCost))
      return;
    elementCost = cost;
    // Equal ones stay in the order of the conditions.
    SmallVector<std::pair<int64_t, size_t>> order;
    for (AffineExpr split : splits)
      order.emplace_back(estimateAtTypical(split), order.size());
    llvm::sort(order);
    for (auto [value, number] : order)
      schedule.splits.push_back(splits[number]);
  }
};

} // namespace

CpuSchedule scheduleForCpu(LoopNest &nest, DimTable &dims, int64_t maxLanes,
                           double unitWork) {
  return Scheduler(nest, dims, maxLanes, unitWork).run();
}

} // namespace aitune
