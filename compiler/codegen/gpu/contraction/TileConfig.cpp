#include "compiler/codegen/gpu/contraction/TileConfig.h"

#include <algorithm>
#include <cmath>

#include "compiler/codegen/gpu/contraction/TileEstimate.h"
#include "compiler/codegen/gpu/contraction/WarpgroupInstruction.h"
#include "compiler/dialect/ElementTypes.h"
#include "mlir/IR/BuiltinTypes.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace aitune {
namespace {

/// Bytes of shared memory of a block that leave half of a multiprocessor's to a
/// block of the next kernel, which loads its weights while it waits for this
/// one.
constexpr int64_t kHalfShared = 112 << 10;
/// The rows and columns from which on only warpgroups are considered: they were
/// at least 1.17 times as fast as warps in all products measured on an H200.
constexpr int64_t kOnlyGroups = 512;
/// Bytes of a row of B that are read at once in a stream by a warp, and, of
/// codes, by a block.
constexpr int64_t kStreamStep = 512, kCodeStreamStep = 1024;
/// Bytes of an element that codes are widened to.
constexpr int64_t kWidenedBytes = 2;
/// The most streams of codes that are candidates.
constexpr size_t kMostCodeStreams = 8;
/// The most rows of A for a stream, and for one of codes.
constexpr int64_t kMostStreamRows = 4, kMostCodeStreamRows = 16;
/// Rows of B of the usual block of a stream.
constexpr int64_t kUsualStreamRows = 16;
/// Warps of a stream.
constexpr int64_t kStreamWarps = 8;

constexpr TileConfig mma(int64_t m, int64_t n, int64_t warpM, int64_t warpN,
                         int64_t slices, int64_t stages) {
  return {TileConfig::Algorithm::Mma, m, n, warpM, warpN, slices, stages};
}

constexpr TileConfig wgmma(int64_t m, int64_t n, int64_t groupM, int64_t groupN,
                           int64_t stages) {
  return {TileConfig::Algorithm::Wgmma, m, n, groupM, groupN, 1, stages};
}

constexpr TileConfig persistent(int64_t m, int64_t n, int64_t stages) {
  return {TileConfig::Algorithm::Persistent, m, n, 64, n, 1, stages};
}

constexpr TileConfig simt(int64_t m, int64_t n, int64_t stages) {
  return {TileConfig::Algorithm::Simt, m, n, 0, 0, 1, stages};
}

constexpr TileConfig stream(int64_t m, int64_t n, int64_t slices,
                            int64_t stages) {
  return {TileConfig::Algorithm::Stream, m, n, 0, 0, slices, stages};
}

// Blocks have eight or more warps if there is work for them: with only one warp
// for each scheduler, each instruction waits for the one before it.
const TileConfig kTensorTiles[] = {
    mma(128, 256, 64, 64, 1, 3), mma(128, 128, 64, 32, 1, 4),
    mma(128, 64, 32, 32, 1, 4),  mma(64, 128, 32, 32, 1, 4),
    mma(64, 64, 32, 32, 2, 4),   mma(64, 64, 32, 32, 4, 4),
    mma(64, 32, 32, 32, 4, 6),   mma(32, 64, 32, 32, 4, 6),
    mma(32, 32, 32, 32, 4, 6),   mma(16, 64, 16, 32, 4, 6),
    mma(16, 32, 16, 32, 4, 8),
};
// One warpgroup for each 64 rows. Two blocks of the first tile fit on a
// multiprocessor, so that one computes while the other stores.
const TileConfig kGroupTiles[] = {
    wgmma(128, 128, 64, 128, 3), wgmma(128, 192, 64, 192, 5),
    wgmma(128, 256, 64, 256, 4), wgmma(64, 128, 64, 128, 4),
    wgmma(64, 64, 64, 64, 4),
};
// Blocks that stay, with as many stages as fit: of whose two warpgroups each
// has a tile in its turn, or both have one.
const TileConfig kPersistentTiles[] = {
    persistent(64, 256, 5),
    persistent(128, 256, 4),
    persistent(128, 192, 5),
};
// For a B of codes, by warps: one warp at most for each 64 rows, since each
// that has the same rows of B widens them again.
const TileConfig kCodeTiles[] = {
    mma(128, 128, 64, 32, 1, 4), mma(128, 64, 64, 16, 1, 4),
    mma(64, 128, 64, 16, 1, 4),  mma(64, 64, 32, 16, 1, 6),
    mma(64, 64, 64, 16, 1, 6),   mma(32, 128, 32, 16, 1, 6),
    mma(32, 64, 32, 16, 1, 8),   mma(16, 128, 16, 16, 1, 6),
    mma(16, 64, 16, 16, 1, 8),   mma(8, 64, 8, 16, 1, 8),
};
// The same by warpgroups: one for each 64 columns.
const TileConfig kCodeGroupTiles[] = {
    wgmma(256, 128, 256, 64, 4), wgmma(128, 128, 128, 64, 5),
    wgmma(128, 64, 128, 64, 5),  wgmma(64, 128, 64, 64, 6),
    wgmma(64, 64, 64, 64, 6),    wgmma(32, 128, 32, 64, 6),
    wgmma(32, 64, 32, 64, 6),
};
const TileConfig kSimtTiles[] = {
    simt(128, 64, 3),
    simt(64, 64, 3),
    simt(32, 32, 4),
};

/// Whether the target's tensor cores multiply elements of 8 bits of this type.
bool multipliesCodes(Type element, const GpuTarget &target) {
  return element.isInteger(8) ||
         std::make_pair(target.major, target.minor) >= std::make_pair(8, 9);
}

/// The power of two that is at least `size`; 1 for an empty matrix.
int64_t roundUp(int64_t size) {
  return static_cast<int64_t>(
      llvm::PowerOf2Ceil(static_cast<uint64_t>(std::max<int64_t>(size, 1))));
}

/// Whether the blocks of a stream are enough for half of the multiprocessors.
/// Clusters then lose what they gain alone: the blocks of one start together,
/// once there is room for all, where those of a stream begin to copy weights
/// one by one as the kernel before them ends.
bool fillsByStreams(const TileProblem &problem, const GpuTarget &target) {
  const int64_t blocks =
      llvm::divideCeil(problem.n, kUsualStreamRows) * problem.batch;
  return 2 * blocks > target.multiprocessors;
}

/// The tile with more stages, if each multiprocessor has at most two blocks: a
/// step then waits for memory and not for arithmetic.
TileConfig deepen(TileConfig tile, const TileProblem &problem,
                  const GpuTarget &target, int64_t elementBytes) {
  const int64_t blocks = llvm::divideCeil(problem.m, tile.m) *
                         llvm::divideCeil(problem.n, tile.n) * problem.batch *
                         tile.splits;
  if (tile.isPacked || tile.isSimt() || blocks > 2 * target.multiprocessors)
    return tile;
  const int64_t steps =
      llvm::divideCeil(problem.k, kTileStageBytes / elementBytes * tile.splits);
  tile.stages = std::max(tile.stages,
                         std::min(steps + 1, kHalfShared / tile.stageBytes()));
  return tile;
}

} // namespace

int64_t TileConfig::splitElements(int64_t k, int64_t elementBytes) const {
  const int64_t depth = kTileStageBytes / elementBytes;
  // Pairs of stages, where two sets of widened codes take turns.
  return llvm::alignTo(llvm::divideCeil(k, splits),
                       isWgmma() && widensB ? 2 * depth : depth);
}

int64_t TileConfig::persistentBlocks(int64_t rows, int64_t columns,
                                     const GpuTarget &target) const {
  return std::min<int64_t>(target.multiprocessors,
                           llvm::divideCeil(rows, m) *
                               llvm::divideCeil(columns, n));
}

int64_t TileConfig::stageBytes() const {
  return m * kTileStageBytes +
         n * (widensB ? kTileStageBytes / 2 : kTileStageBytes);
}

int64_t TileConfig::residentBlocks() const {
  if (isWgmma())
    return m <= (widensB ? 64 : 128) && n <= 128 ? 2 : 1;
  // With fewer registers, blocks of the next kernel start beside those of this
  // one. Of one row times int8 codes on an H200, in microseconds, without and
  // with these numbers: 14.4 and 13.6 for 12288 x 4096, 23.2 and 22.0 for
  // 22016 x 4096, 14.4 and 12.8 for 4096 x 11008.
  if (isStream() && widensB && m <= 8) {
    if (n == 16)
      return stages == 2 ? 4 : stages == 4 ? 3 : 1;
    return n == 32 && stages == 2 ? 3 : 1;
  }
  return 1;
}

std::vector<double> TileConfig::algorithmFeatures() const {
  return {isWgmma() ? 1.0 : 0.0, isPacked ? 1.0 : 0.0, isStream() ? 1.0 : 0.0};
}

int64_t TileConfig::sharedBytes(int64_t elementBytes) const {
  // A is held as what codes are widened to.
  if (isStream())
    return stages * n * (widensB ? kCodeStreamStep : kStreamStep) +
           m * (streamDepth * (widensB ? kWidenedBytes : elementBytes) +
                (widensB ? 16 : 0) + slices * (n + 4) * 4);
  if (isPersistent()) // two barriers of 8 bytes a stage
    return stages * (stageBytes() + 16);
  int64_t fill = stages * (stageBytes() + (isPacked ? 8 : 0)),
          result = slices * m * (n + 4) * 4;
  return std::max(fill, result);
}

std::vector<RankedTile> rankTiles(const TileProblem &problem,
                                  const GpuTarget &target) {
  Type element = problem.element;
  const bool isHalf = ait::isHalf(element),
             isOfCodes = isCode(element) && multipliesCodes(element, target);
  if (!isHalf && !isOfCodes && !element.isF32())
    return {};
  if ((!isHalf || problem.codes) && !problem.rowsOfB)
    return {};
  if (!isHalf && problem.codes)
    return {};
  const int64_t elementBytes = element.getIntOrFloatBitWidth() / 8;
  const bool mayHaveClusters = !fillsByStreams(problem, target) ||
                               chooseStreams(problem, target).empty();
  std::vector<RankedTile> ranked;
  auto add = [&](ArrayRef<TileConfig> tiles) {
    for (TileConfig tile : tiles) {
      // More than half of such a tile would be outside of the matrix.
      if (tile.m > 16 && tile.m >= 2 * roundUp(problem.m))
        continue;
      if (tile.n > 32 && tile.n >= 2 * roundUp(problem.n))
        continue;
      tile.widensB = static_cast<bool>(problem.codes);
      // Smaller tiles do not become faster by packing, since they wait for more
      // than their copies.
      tile.isPacked =
          tile.isPersistent() || (tile.isWgmma() && problem.mayPackB &&
                                  tile.m >= 128 && tile.n >= 192);
      while (tile.stages > 2 &&
             tile.sharedBytes(elementBytes) > target.sharedMemoryPerBlock)
        --tile.stages;
      for (int64_t splits : {1, 2, 4, 8}) {
        tile.splits = splits;
        int64_t depth = kTileStageBytes / elementBytes;
        // A split product of warpgroups is faster when it runs alone, but
        // between other kernels its cluster waits for free multiprocessors: 2
        // to 3 us more in a transformer's layers.
        if (splits > 1 &&
            (tile.isPersistent() || (tile.isWgmma() && !tile.widensB) ||
             !mayHaveClusters || !problem.reducedIsStatic || target.major < 9 ||
             target.major >= 12 || problem.k < splits * depth * 2))
          continue;
        if (tile.sharedBytes(elementBytes) > target.sharedMemoryPerBlock)
          continue;
        // No block of a cluster without work.
        if ((splits - 1) * tile.splitElements(problem.k, elementBytes) >=
            problem.k)
          continue;
        ranked.push_back(
            {estimateMicroseconds(tile, problem, target, elementBytes), tile});
        if (TileConfig deep = deepen(tile, problem, target, elementBytes);
            deep.stages > tile.stages)
          ranked.push_back(
              {estimateMicroseconds(deep, problem, target, elementBytes),
               deep});
      }
    }
  };
  const bool byGroups = (isHalf || isOfCodes) && !problem.codes &&
                        problem.rowsOfB && target.hasWgmma() &&
                        problem.m > 32 &&
                        problem.gathering != Gathering::Elements;
  if (problem.codes) {
    add(kCodeTiles);
    if (target.hasWgmma() && problem.m > 16)
      add(kCodeGroupTiles);
  } else if ((isHalf || isOfCodes || target.allowTf32) &&
             !(byGroups && problem.m >= kOnlyGroups &&
               problem.n >= kOnlyGroups))
    add(kTensorTiles);
  if (byGroups)
    add(kGroupTiles);
  // With few columns at a time the epilogue takes longer than the products. Of
  // gathered rows there is no run on a GPU yet.
  if (byGroups && problem.mayPackB && problem.gathering == Gathering::None &&
      problem.n % 4 == 0)
    add(kPersistentTiles);
  if (element.isF32())
    add(kSimtTiles);
  // Tiles with equal estimates have an order too, so that the result does not
  // depend on the sort.
  auto order = [](const RankedTile &ranked) {
    const TileConfig &tile = ranked.tile;
    return std::make_tuple(ranked.microseconds, -tile.m, -tile.n, tile.splits,
                           -tile.stages, tile.isWgmma());
  };
  llvm::sort(ranked, [&](const RankedTile &a, const RankedTile &b) {
    return order(a) < order(b);
  });
  return ranked;
}

std::vector<TileConfig> chooseTiles(const TileProblem &problem,
                                    const GpuTarget &target, size_t most) {
  const std::vector<RankedTile> ranked = rankTiles(problem, target);
  // The best of each shape first, since shapes differ most. At most half of the
  // chosen tiles are split, since the cost of a cluster is the least certain.
  std::vector<TileConfig> chosen;
  size_t split = 0;
  for (size_t round = 0; round < 2; ++round)
    for (const auto &[time, tile] : ranked) {
      size_t same = 0;
      for (const TileConfig &other : chosen)
        same += other.m == tile.m && other.n == tile.n &&
                other.slices == tile.slices &&
                other.algorithm == tile.algorithm;
      if (same > round || chosen.size() >= most ||
          time > 3 * ranked.front().microseconds ||
          (tile.splits > 1 && split >= most / 2))
        continue;
      bool known = false;
      for (const TileConfig &other : chosen)
        known |= other.description() == tile.description();
      if (known)
        continue;
      split += tile.splits > 1;
      chosen.push_back(tile);
    }
  return chosen;
}

/// As chooseStreams, for a B of codes.
static std::vector<TileConfig> chooseCodeStreams(const TileProblem &problem,
                                                 const GpuTarget &target) {
  const Type element = problem.element;
  if ((!element.isF16() && !element.isBF16() && !ait::isFloatCode(element)) ||
      !problem.rowsOfB || !problem.reducedIsStatic || problem.k == 0 ||
      problem.m > kMostCodeStreamRows)
    return {};
  const int64_t elementBytes = element.getIntOrFloatBitWidth() / 8;
  // Too few blocks leave multiprocessors idle, so that clusters split the
  // reduced axis.
  const bool mayHaveClusters = !fillsByStreams(problem, target);
  std::vector<TileConfig> chosen;
  for (int64_t splits : {1, 2, 4})
    for (auto [n, stages] :
         {std::pair(16, 4), {16, 3}, {16, 2}, {32, 3}, {32, 2}, {64, 2}}) {
      const int64_t blocks = llvm::divideCeil(problem.n, n) * problem.batch;
      if (splits > 1 &&
          (target.major < 9 || target.major >= 12 || !mayHaveClusters ||
           blocks * splits > 3 * target.multiprocessors ||
           problem.k < splits * kCodeStreamStep))
        continue;
      TileConfig tile = stream(problem.m, n, kStreamWarps, stages);
      tile.splits = splits;
      tile.widensB = true;
      tile.streamDepth = llvm::alignTo(
          tile.splitElements(problem.k, elementBytes), kCodeStreamStep);
      tile.stages = std::min(tile.stages, tile.streamDepth / kCodeStreamStep);
      const bool known = llvm::any_of(chosen, [&](const TileConfig &other) {
        return other.description() == tile.description();
      });
      if (!known &&
          tile.sharedBytes(elementBytes) <= target.sharedMemoryPerBlock)
        chosen.push_back(tile);
    }
  // Those first of which there are two blocks for each multiprocessor.
  auto order = [&](const TileConfig &tile) {
    const double blocks = double(llvm::divideCeil(problem.n, tile.n)) *
                          double(problem.batch * tile.splits);
    return std::make_tuple(
        std::abs(std::log2(blocks / (2.0 * target.multiprocessors))),
        tile.splits, tile.n, -tile.stages);
  };
  llvm::sort(chosen, [&](const TileConfig &a, const TileConfig &b) {
    return order(a) < order(b);
  });
  if (chosen.size() > kMostCodeStreams)
    chosen.erase(chosen.begin() + kMostCodeStreams, chosen.end());
  return chosen;
}

std::vector<TileConfig> chooseStreams(const TileProblem &problem,
                                      const GpuTarget &target) {
  if (problem.gathering != Gathering::None)
    return {};
  if (problem.codes || ait::isFloatCode(problem.element))
    return chooseCodeStreams(problem, target);
  Type element = problem.element;
  bool isHalf = ait::isHalf(element);
  if ((!isHalf && !element.isF32()) || !problem.rowsOfB ||
      !problem.reducedIsStatic || problem.k == 0 || problem.m > kMostStreamRows)
    return {};
  int64_t elementBytes = isHalf ? 2 : 4, step = kStreamStep / elementBytes;
  // Two blocks share a multiprocessor. More and smaller blocks are slower,
  // because they are distributed unevenly while blocks of the previous kernel
  // still run. With few stages, blocks of the next kernel fit beside them.
  std::vector<TileConfig> chosen;
  for (auto [n, stages] :
       {std::pair(16, 12), {16, 6}, {16, 8}, {8, 12}, {32, 6}}) {
    TileConfig tile = stream(problem.m, n, /*slices=*/1, stages);
    tile.streamDepth = llvm::alignTo(problem.k, step);
    tile.stages = std::min(tile.stages, tile.streamDepth / step);
    if (tile.sharedBytes(elementBytes) <= target.sharedMemoryPerBlock)
      chosen.push_back(tile);
  }
  return chosen;
}

} // namespace aitune
