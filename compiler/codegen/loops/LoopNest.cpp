#include "compiler/codegen/loops/LoopNest.h"

#include "compiler/dialect/Ait.h"
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
/// What an unknown size counts as in estimates.
constexpr int64_t kTypicalSize = 64;

SmallVector<AffineExpr> sizesOf(Value tensor) {
  return mlir::ait::getSymbolicSizes(cast<RankedTensorType>(tensor.getType()));
}

/// Lanes along `dim` read strided what a reduction could read in order.
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
  SmallVector<LoopGroup> groups;
  double rowCost = 0;     ///< once a row
  double elementCost = 1; ///< once an element

  void run() {
    analyze();
    findInnerAxes();
    chooseLanes();
    mergeAxes();
    splitIntoUnits();
    findSplits();
    findScan();
  }

  void analyze() {
    for (AffineExpr expr : nest.index)
      if (auto dim = dyn_cast<AffineDimExpr>(expr))
        domain.push_back(dim.getPosition());
    for (const KernelOutput &output : nest.outputs) {
      SmallVector<AffineExpr> exprs = nest.indexOf(output);
      auto type = cast<RankedTensorType>(output.value.getType());
      analysis.visit(output.value, exprs);
      analysis.accesses.push_back(
          {decompose(linearize(type, exprs)), false,
           type.getElementType().getIntOrFloatBitWidth()});
      analysis.cost += 1;
    }
  }

  bool isOfDomain(ArrayRef<AffineExpr> exprs) {
    return llvm::all_of(exprs, [&](AffineExpr expr) {
      return llvm::all_of(dimsOf(expr), [&](unsigned dim) {
        return llvm::is_contained(domain, dim);
      });
    });
  }

  void findInnerAxes() {
    for (unsigned dim : domain)
      if (analysis.scanned.contains(dim))
        inner.insert(dim);
    for (const LoopAnalysis::Reduction &reduction : analysis.reductions) {
      if (!isOfDomain(reduction.exprs) || isScan(reduction.generic))
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
    // What is computed once a row.
    elementCost = analysis.cost;
    for (const LoopAnalysis::Reduction &reduction : analysis.reductions) {
      bool ofRow = isOfDomain(reduction.exprs) &&
                   llvm::none_of(reduction.exprs, [&](AffineExpr expr) {
                     return llvm::any_of(dimsOf(expr), [&](unsigned dim) {
                       return inner.contains(dim);
                     });
                   });
      if (!ofRow || inner.empty())
        continue;
      rowCost += reduction.cost;
      elementCost -= reduction.cost;
      nest.rowValues.emplace_back(
          reduction.generic->getResult(reduction.result), reduction.exprs);
    }
    elementCost = std::max(elementCost, 1.0);
  }

  void chooseLanes() {
    if (domain.empty())
      return;
    unsigned last = domain.back();
    if (analysis.scanned.contains(last) ||
        readsReductionsAcross(analysis, dims, last))
      return;
    nest.laneDim = last;
    nest.isColumn = !inner.empty() && !inner.contains(last);
  }

  void mergeAxes() {
    for (unsigned dim : domain) {
      bool isInner = inner.contains(dim);
      // Only neighbours are merged, so an axis of the other class ends a group.
      if (!groups.empty() && groups.back().isInner == isInner &&
          analysis.canMerge(groups.back().dims.back(), dim)) {
        groups.back().dims.push_back(dim);
        groups.back().size = canonical(groups.back().size * dims.size(dim));
      } else {
        groups.push_back({{dim}, dims.size(dim), isInner, std::nullopt});
      }
    }
    if (!nest.laneDim)
      return;
    std::optional<int64_t> size = getConstant(groups.back().size);
    // An empty axis has one lane.
    nest.lanes = std::clamp<int64_t>(
        llvm::PowerOf2Ceil(size.value_or(maxLanes)), 1, maxLanes);
    if (nest.lanes == 1)
      nest.laneDim.reset();
  }

  static int64_t estimate(AffineExpr size) {
    return getConstant(size).value_or(kTypicalSize);
  }

  int64_t roundToLanes(int64_t elements) {
    return std::max<int64_t>(nest.lanes, elements / nest.lanes * nest.lanes);
  }

  void splitIntoUnits() {
    double elements = 1; // of a unit's inner loops
    if (inner.empty()) {
      double total = 1;
      for (const LoopGroup &group : groups)
        total *= estimate(group.size);
      double wanted =
          std::max(kLeastUnitWork,
                   std::min(unitWork, total * elementCost / kWantedUnits)) /
          elementCost;
      bool full = false;
      for (LoopGroup &group : llvm::reverse(groups)) {
        bool isLaneGroup = nest.laneDim && &group == &groups.back();
        std::optional<int64_t> size = getConstant(group.size);
        if (full) {
          nest.unitLoops.insert(nest.unitLoops.begin(), group);
          continue;
        }
        if (size && elements * *size <= wanted) {
          elements *= *size;
          nest.unitInner.insert(nest.unitInner.begin(), group);
          continue;
        }
        full = true;
        int64_t block =
            std::max<int64_t>(1, static_cast<int64_t>(wanted / elements));
        if (isLaneGroup)
          block = roundToLanes(block);
        if (size && block >= *size) {
          elements *= *size;
          nest.unitInner.insert(nest.unitInner.begin(), group);
        } else if (block == 1) {
          nest.unitLoops.insert(nest.unitLoops.begin(), group);
        } else {
          elements *= block;
          group.block = block;
          nest.unitLoops.insert(nest.unitLoops.begin(), group);
          nest.unitInner.insert(nest.unitInner.begin(), group);
        }
      }
    } else {
      for (LoopGroup &group : groups)
        if (group.isInner)
          elements *= estimate(group.size);
      for (LoopGroup &group : groups) {
        bool isLaneGroup = nest.laneDim && &group == &groups.back();
        if (group.isInner) {
          nest.unitInner.push_back(group);
        } else if (isLaneGroup) {
          double column = rowCost + elements * elementCost;
          group.block =
              roundToLanes(static_cast<int64_t>(unitWork / 4 / column));
          nest.unitLoops.push_back(group);
          nest.unitInner.insert(nest.unitInner.begin(), group);
          elements *= static_cast<double>(*group.block);
          rowCost *= static_cast<double>(*group.block);
        } else {
          nest.unitLoops.push_back(group);
        }
      }
    }
    nest.unitCost = std::max(1.0, rowCost + elements * elementCost);
    nest.units =
        getAffineConstantExpr(1, nest.outputs.front().value.getContext());
    for (const LoopGroup &group : nest.unitLoops)
      nest.units = nest.units * (group.block ? group.size.ceilDiv(*group.block)
                                             : group.size);
  }

  void findScan() {
    if (nest.unitInner.empty())
      return;
    const LoopGroup &innermost = nest.unitInner.back();
    unsigned dim = innermost.dims.back();
    if (innermost.dims.size() == 1 && !innermost.block &&
        analysis.scanned.contains(dim))
      nest.scanDim = dim;
  }

  void findSplits() {
    if (!nest.laneDim || nest.isColumn)
      return;
    unsigned lane = *nest.laneDim;
    const LoopGroup &group = nest.unitInner.back();
    std::optional<int64_t> size = getConstant(group.size);
    if (group.dims.size() != 1 || group.block || !size)
      return;
    llvm::SmallSetVector<int64_t, 8> splits;
    for (AffineExpr threshold : analysis.thresholds) {
      LinearForm form = decompose(threshold);
      std::optional<int64_t> coefficient =
          getConstant(form.coefficientOf(lane));
      std::optional<int64_t> constant = getConstant(form.constant);
      if (form.terms.size() != 1 || form.isNonlinearIn(lane) || !coefficient ||
          !constant || *coefficient == 0)
        continue;
      int64_t at = llvm::divideCeilSigned(-*constant, *coefficient);
      if (at > 0 && at < *size)
        splits.insert(at);
    }
    constexpr size_t kMostSplits = 8; // each is a copy of the loop
    if (splits.size() > kMostSplits)
      return;
    nest.splits = splits.takeVector();
    llvm::sort(nest.splits);
  }
};

} // namespace

SmallVector<AffineExpr> LoopNest::indexOf(const KernelOutput &output) const {
  SmallVector<AffineExpr> exprs(index);
  for (auto [expr, size] : llvm::zip(exprs, sizesOf(output.value)))
    if (size == 1)
      expr = getAffineConstantExpr(0, expr.getContext());
  return exprs;
}

bool LoopNest::isFull(const KernelOutput &output) const {
  return llvm::all_of(llvm::zip(sizes, sizesOf(output.value)), [](auto pair) {
    return std::get<0>(pair) == std::get<1>(pair);
  });
}

std::vector<LoopNest> groupOutputs(ArrayRef<KernelOutput> outputs) {
  std::vector<LoopNest> nests;
  for (const KernelOutput &output : outputs) {
    SmallVector<AffineExpr> sizes = sizesOf(output.value);
    LoopNest *joined = nullptr;
    for (LoopNest &nest : nests) {
      bool fits = nest.sizes.size() == sizes.size() &&
                  llvm::all_of(llvm::zip(nest.sizes, sizes), [](auto pair) {
                    auto [mine, theirs] = pair;
                    return mine == theirs || mine == 1 || theirs == 1;
                  });
      if (fits && !joined)
        joined = &nest;
    }
    if (!joined) {
      nests.emplace_back();
      joined = &nests.back();
      joined->sizes = sizes;
    }
    for (auto [mine, theirs] : llvm::zip(joined->sizes, sizes))
      if (mine == 1)
        mine = theirs;
    joined->outputs.push_back(output);
  }
  return nests;
}

void scheduleNest(LoopNest &nest, DimTable &dims, int64_t maxLanes,
                  double unitWork) {
  for (AffineExpr size : nest.sizes)
    nest.index.push_back(size == 1 ? getAffineConstantExpr(0, size.getContext())
                                   : dims.make(size));
  Scheduler(nest, dims, maxLanes, unitWork).run();
}

} // namespace aitune
