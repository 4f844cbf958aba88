#include "compiler/codegen/gpu/loops/LoopSchedule.h"

#include "compiler/codegen/gpu/loops/PointPrinter.h"
#include "compiler/codegen/gpu/text/CudaScalar.h"
#include "compiler/codegen/gpu/text/KernelText.h"
#include "compiler/dialect/Ait.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace aitune {
namespace {

/// Reductions of fewer elements are left to one thread.
constexpr int64_t kLeastShared = 32;
constexpr int64_t kElementwiseThreads = 256;
/// Elements of a tile's side, first the best: 32 bytes, in which a GPU reads
/// and writes memory, of numbers of 2 bytes, then of 4.
constexpr int64_t kTileSides[] = {16, 8};
/// The longest packs of codes that are made of wider elements: with packs of 16
/// a row of 11008 took 1.2 times as long on an H200.
constexpr int64_t kMostLanesOfCodes = 8;
/// Rows up to this number of elements are a side of a tile as they are.
constexpr int64_t kShortRow = 32;
/// The size that an unknown size counts as in estimates.
constexpr int64_t kTypicalSize = 512;

struct Scheduler {
  Scheduler(LoopNest &nest, DimTable &dims, ArrayAttr symbols,
            int64_t multiprocessors)
      : nest(nest), dims(dims), symbols(symbols),
        multiprocessors(multiprocessors),
        context(nest.outputs.front().value.getContext()) {}

  LoopNest &nest;
  DimTable &dims;
  ArrayAttr symbols;
  int64_t multiprocessors;
  MLIRContext *context;
  LoopAnalysis analysis{dims};
  SmallVector<unsigned> domain; ///< dims of size other than 1
  llvm::DenseSet<unsigned> inner;
  /// For each shared reduction, its entry in analysis.reductions.
  SmallVector<const LoopAnalysis::Reduction *> shared;
  GpuSchedule schedule;

  GpuSchedule run() {
    domain = nest.openAxes(dims);
    tileTransposes();
    nest.visit(analysis);
    findShared();
    if (shared.empty())
      scheduleElementwise();
    else if (readsAlongReduction())
      scheduleRows();
    else
      scheduleColumns();
    return std::move(schedule);
  }

  /// At least 1: empty axes are scheduled as those of one step. Null: of an
  /// index that is computed from data.
  int64_t estimate(AffineExpr size) {
    if (!size)
      return kTypicalSize;
    return std::max<int64_t>(largestValue(size, symbols).value_or(kTypicalSize),
                             1);
  }

  AffineExpr product(ArrayRef<unsigned> of) {
    AffineExpr size = getAffineConstantExpr(1, context);
    for (unsigned dim : of)
      size = size * dims.size(dim);
    return canonical(size);
  }

  /// The dim along which a read is contiguous that is scattered along the last
  /// one, in kernels that only move elements or compute with them one by one.
  std::optional<unsigned> findTransposed() {
    LoopAnalysis reads{dims};
    nest.visit(reads);
    if (domain.size() < 2 || !reads.reductions.empty() ||
        !reads.scanned.empty())
      return std::nullopt;
    unsigned last = domain.back();
    for (const LoopAnalysis::Access &access : reads.accesses) {
      if (access.address.isNonlinearIn(last) ||
          access.address.coefficientOf(last) == 0 ||
          access.address.coefficientOf(last) == 1)
        continue;
      for (unsigned dim : ArrayRef<unsigned>(domain).drop_back())
        if (!access.address.isNonlinearIn(dim) &&
            access.address.coefficientOf(dim) == 1)
          return dim;
    }
    return std::nullopt;
  }

  /// The side of a tile along an axis of this size; 0 if none divides it.
  static int64_t tileSide(AffineExpr size) {
    for (int64_t side : kTileSides)
      if (size.isMultipleOf(side))
        return side;
    return 0;
  }

  /// Replaces the dim of an axis by one that counts tiles and one within them,
  /// which it returns in this order.
  std::pair<unsigned, unsigned> split(unsigned dim, int64_t side) {
    AffineExpr *axis = llvm::find(nest.index, getAffineDimExpr(dim, context));
    AffineExpr tile = dims.make(dims.size(dim).floorDiv(side)),
               inside = dims.make(getAffineConstantExpr(side, context));
    *axis = tile * side + inside;
    return {cast<AffineDimExpr>(tile).getPosition(),
            cast<AffineDimExpr>(inside).getPosition()};
  }

  /// Where a read runs across the order of the outputs, the elements of a block
  /// are tiles of both orders: it then uses all that each access of memory
  /// brings, and not one element of it.
  void tileTransposes() {
    std::optional<unsigned> across = findTransposed();
    if (!across)
      return;
    unsigned last = domain.back();
    AffineExpr rowSize = dims.size(last);
    bool isShort = getConstant(rowSize) && *getConstant(rowSize) <= kShortRow;
    int64_t side = tileSide(dims.size(*across)), rowSide = tileSide(rowSize);
    if (side == 0 || (!isShort && rowSide == 0))
      return;
    auto [tile, inside] = split(*across, side);
    *llvm::find(domain, *across) = tile;
    domain.pop_back();
    if (isShort) {
      domain.append({inside, last});
      return;
    }
    auto [rowTile, insideRow] = split(last, rowSide);
    domain.append({rowTile, inside, insideRow});
  }

  static bool dependsOn(ArrayRef<AffineExpr> exprs, unsigned dim) {
    return llvm::any_of(
        exprs, [&](AffineExpr expr) { return expr.isFunctionOfDim(dim); });
  }

  /// Whether an output has an element for several points of the domain.
  bool hasReducedOutput() {
    return llvm::any_of(nest.outputs, [&](const KernelOutput &output) {
      return llvm::any_of(domain, [&](unsigned dim) {
        return !dependsOn(nest.indexOf(output), dim);
      });
    });
  }

  void findShared() {
    const bool reducedOutput = hasReducedOutput();
    // A thread for each point would leave the sums of an axis that may be empty
    // unwritten, as there is none then.
    auto isCandidate = [&](const LoopAnalysis::Reduction &reduction) {
      AffineExpr size = product(reduction.reducedDims);
      return nest.isOfDomain(reduction.exprs) &&
             !PointPrinter::combiner(reduction.generic).empty() &&
             (estimate(size) >= kLeastShared ||
              (reducedOutput && !isa<AffineConstantExpr>(size)));
    };
    for (const LoopAnalysis::Reduction &reduction : analysis.reductions)
      if (isCandidate(reduction))
        for (unsigned dim : domain)
          if (!dependsOn(reduction.exprs, dim))
            inner.insert(dim);
    for (const LoopAnalysis::Reduction &reduction : analysis.reductions)
      if (isCandidate(reduction) && llvm::none_of(domain, [&](unsigned dim) {
            return inner.contains(dim) && dependsOn(reduction.exprs, dim);
          }))
        shared.push_back(&reduction);
    if (shared.empty())
      inner.clear();
  }

  /// Of how many elements a read has different addresses.
  double countElements(const LoopAnalysis::Access &access) {
    double elements = 1;
    for (unsigned dim : dimsOf(access.address.toExpr()))
      elements *= static_cast<double>(estimate(dims.size(dim)));
    return elements;
  }

  /// Whether most of what reductions read is contiguous along the reduced axes.
  bool readsAlongReduction() {
    if (domain.empty() || inner.contains(domain.back()))
      return true;
    double along = 0, across = 0;
    for (const LoopAnalysis::Access &access : analysis.accesses) {
      if (!access.inReduction)
        continue;
      const double elements = countElements(access);
      for (const LoopAnalysis::Reduction *reduction : shared)
        if (!reduction->reducedDims.empty() &&
            access.address.coefficientOf(reduction->reducedDims.back()) == 1)
          along += elements;
      if (access.address.coefficientOf(domain.back()) == 1)
        across += elements;
    }
    return along >= across;
  }

  FlatAxes merge(ArrayRef<unsigned> of,
                 llvm::function_ref<bool(unsigned, unsigned)> canMerge) {
    FlatAxes axes;
    for (unsigned dim : of)
      appendAxis(axes.groups, dim, dims, canMerge);
    axes.size = product(of);
    return axes;
  }
  FlatAxes merge(ArrayRef<unsigned> of) {
    return merge(of, [&](unsigned outer, unsigned inner) {
      return analysis.canMerge(outer, inner);
    });
  }

  /// The number of lanes along the last group of axes. More than 1 only if the
  /// lanes are neighbours in the outputs that run along them, packs are whole,
  /// and most reads are contiguous along them.
  int64_t chooseLanes(const FlatAxes &axes, unsigned dim) {
    AffineExpr size = axes.groups.back().size;
    // Bytes of an element of the outputs that run along the lanes, and of all.
    int64_t widest = 0, widestOfAll = 1;
    for (const KernelOutput &output : nest.outputs) {
      const int64_t bytes = cudaBytes(
          cast<RankedTensorType>(output.value.getType()).getElementType());
      widestOfAll = std::max(widestOfAll, bytes);
      if (dependsOn(nest.indexOf(output), dim))
        widest = std::max(widest, bytes);
    }
    if (widest == 0)
      widest = widestOfAll;
    int packed = 0, scattered = 0;
    bool readsWider = false;
    for (const LoopAnalysis::Access &access : analysis.accesses) {
      if (access.address.isNonlinearIn(dim))
        ++scattered;
      else if (access.address.coefficientOf(dim) == 1) {
        ++packed;
        readsWider |= access.elementBits > 8;
      } else if (access.address.coefficientOf(dim) != 0)
        ++scattered;
    }
    int64_t lanes = packed > scattered ? 16 / widest : 1;
    if (readsWider)
      lanes = std::min(lanes, kMostLanesOfCodes);
    while (lanes > 1 && !size.isMultipleOf(lanes))
      lanes /= 2;
    return lanes;
  }

  void scheduleElementwise() {
    schedule.kind = GpuScheduleKind::Elementwise;
    schedule.rows = merge(domain);
    schedule.groupsInBlock = kElementwiseThreads;
    if (domain.empty()) {
      schedule.groupsInBlock = 32;
      return;
    }
    unsigned last = domain.back();
    if (analysis.scanned.contains(last))
      return;
    schedule.laneDim = last;
    schedule.lanes = chooseLanes(schedule.rows, last);
    // Enough threads for every multiprocessor before long packs.
    int64_t total = estimate(schedule.rows.size);
    while (schedule.lanes > 1 && total / schedule.lanes < multiprocessors * 128)
      schedule.lanes /= 2;
    if (total / schedule.lanes < multiprocessors * kElementwiseThreads)
      schedule.groupsInBlock = 128;
  }

  /// Adds the shared reductions with the dims of their loops. A reduction whose
  /// sizes are those of the inner axes uses their dims, so that both loops read
  /// the same elements.
  void addReductions(ArrayRef<unsigned> innerDims, bool mayShare) {
    for (const LoopAnalysis::Reduction *reduction : shared) {
      SharedReduction entry;
      entry.result = reduction->generic->getResult(reduction->result);
      entry.exprs = reduction->exprs;
      linalg::GenericOp generic = reduction->generic;
      entry.loops = bindLoops(generic, reduction->result, reduction->exprs);
      SmallVector<unsigned> own(reduction->reducedDims);
      entry.sharesInnerAxes =
          mayShare && own.size() == innerDims.size() &&
          llvm::all_of(llvm::zip(own, innerDims), [&](auto pair) {
            return dims.size(std::get<0>(pair)) == dims.size(std::get<1>(pair));
          });
      ArrayRef<unsigned> used = entry.sharesInnerAxes ? innerDims : own;
      SmallVector<AffineExpr> sizes = getLoopSizes(generic);
      unsigned next = 0;
      for (auto [loop, size] : llvm::zip(entry.loops, sizes))
        if (!loop)
          loop = size == 1 ? getAffineConstantExpr(0, context)
                           : getAffineDimExpr(used[next++], context);
      entry.axes = entry.sharesInnerAxes ? schedule.inner : merge(own);
      schedule.reductions.push_back(std::move(entry));
    }
  }

  void splitDomain(SmallVectorImpl<unsigned> &rowDims,
                   SmallVectorImpl<unsigned> &innerDims) {
    for (unsigned dim : domain)
      (inner.contains(dim) ? innerDims : rowDims).push_back(dim);
  }

  void scheduleRows() {
    schedule.kind = GpuScheduleKind::Row;
    SmallVector<unsigned> rowDims, innerDims;
    splitDomain(rowDims, innerDims);
    schedule.rows = merge(rowDims);
    // Inner axes merge where the reductions that share them merge too.
    schedule.inner = merge(innerDims, [&](unsigned outer, unsigned in) {
      if (!analysis.canMerge(outer, in))
        return false;
      auto number = [&](unsigned dim) {
        return llvm::find(innerDims, dim) - innerDims.begin();
      };
      return llvm::all_of(
          shared, [&](const LoopAnalysis::Reduction *reduction) {
            return reduction->reducedDims.size() != innerDims.size() ||
                   analysis.canMerge(reduction->reducedDims[number(outer)],
                                     reduction->reducedDims[number(in)]);
          });
    });
    bool lanesAlongInner = !innerDims.empty() && !domain.empty() &&
                           innerDims.back() == domain.back();
    addReductions(innerDims, /*mayShare=*/true);
    // The loop whose length decides how many threads share a row.
    const FlatAxes *longest = nullptr;
    for (const SharedReduction &reduction : schedule.reductions)
      if (!longest || estimate(reduction.axes.size) > estimate(longest->size))
        longest = &reduction.axes;
    if (!innerDims.empty() &&
        estimate(schedule.inner.size) >= estimate(longest->size))
      longest = &schedule.inner;
    unsigned laneDim = longest->groups.back().dims.back();
    schedule.lanes = chooseLanes(*longest, laneDim);
    // One number of lanes for every loop.
    auto limit = [&](const FlatAxes &axes) {
      while (schedule.lanes > 1 && !axes.groups.empty() &&
             !axes.groups.back().size.isMultipleOf(schedule.lanes))
        schedule.lanes /= 2;
    };
    for (const SharedReduction &reduction : schedule.reductions)
      limit(reduction.axes);
    limit(schedule.inner);
    if (!lanesAlongInner && !innerDims.empty())
      schedule.lanes = 1;
    int64_t packs = llvm::divideCeil(estimate(longest->size), schedule.lanes);
    int64_t rows = estimate(schedule.rows.size);
    // Many short reductions with nothing after them, as in a matrix times a
    // vector: one warp computes each, with all of its loads in flight at once.
    bool isDot =
        innerDims.empty() && packs <= 32 * 16 && rows >= multiprocessors * 2;
    if (isDot || packs <= 32 || (packs <= 64 && rows >= multiprocessors * 32))
      schedule.groupThreads = std::min<int64_t>(32, llvm::PowerOf2Ceil(packs));
    else if (packs <= 256)
      schedule.groupThreads = llvm::alignTo(packs, 32);
    else {
      // As few as have the row in so many steps: 3 of 480 threads, not of 512,
      // for 1376 packs. Of many rows small blocks, of which some compute while
      // others wait: on an H200 3 to 18 % faster for 1024 and more rows of 8192
      // halves.
      const bool isManyRows =
          schedule.lanes > 4 && packs <= 2048 && rows >= multiprocessors * 4;
      const int64_t most = packs > 4096 ? 1024 : isManyRows ? 256 : 512;
      const int64_t steps = std::max<int64_t>(llvm::divideCeil(packs, most), 2);
      schedule.groupThreads = llvm::alignTo(llvm::divideCeil(packs, steps), 32);
    }
    if (schedule.groupThreads <= 32 && isDot)
      schedule.groupsInBlock = 128 / schedule.groupThreads;
    else if (schedule.groupThreads <= 32)
      schedule.groupsInBlock = std::max<int64_t>(
          1, (rows >= multiprocessors * 8 ? 128 : 32) / schedule.groupThreads);
    if (!schedule.inner.groups.empty())
      if (std::optional<int64_t> size = getConstant(schedule.inner.size))
        schedule.chunks =
            llvm::divideCeil(*size, schedule.lanes * schedule.groupThreads);
  }

  void scheduleColumns() {
    schedule.kind = GpuScheduleKind::Column;
    SmallVector<unsigned> rowDims, innerDims;
    splitDomain(rowDims, innerDims);
    schedule.rows = merge(rowDims);
    schedule.inner = merge(innerDims);
    schedule.laneDim = rowDims.back();
    schedule.lanes =
        std::min<int64_t>(4, chooseLanes(schedule.rows, *schedule.laneDim));
    addReductions(innerDims, /*mayShare=*/false);
    int64_t columns = llvm::divideCeil(
        estimate(schedule.rows.groups.back().size), schedule.lanes);
    schedule.groupsInBlock = std::min<int64_t>(16, llvm::PowerOf2Ceil(columns));
    // Few blocks leave most of the chip idle: narrower ones, down to 32 bytes.
    int64_t outer = estimate(schedule.rows.size) /
                    estimate(schedule.rows.groups.back().size);
    while (schedule.groupsInBlock > 4 &&
           outer * ((columns - 1) / schedule.groupsInBlock + 1) <
               multiprocessors)
      schedule.groupsInBlock /= 2;
    int64_t longest = 1;
    for (const SharedReduction &reduction : schedule.reductions)
      longest = std::max(longest, estimate(reduction.axes.size));
    schedule.groupThreads = std::min<int64_t>(512 / schedule.groupsInBlock,
                                              llvm::PowerOf2Ceil(longest));
  }
};

} // namespace

GpuSchedule scheduleForGpu(LoopNest &nest, DimTable &dims, ArrayAttr symbols,
                           int64_t multiprocessors) {
  return Scheduler(nest, dims, symbols, multiprocessors).run();
}

} // namespace aitune
