#include "compiler/codegen/gpu/contraction/TileEstimate.h"

#include <algorithm>
#include <cmath>

namespace aitune {
namespace {

/// What tiles are ranked by, measured on an H200; other GPUs rank them in a
/// similar order. Rates are per microsecond.
constexpr double kClocks = 1700;
/// Instructions that a multiprocessor with enough warps issues per clock, and
/// the clocks that a single warp waits from one to the next.
constexpr double kInstructionsPerClock = 2.5, kClocksOfWarp = 4;
/// Operations of one multiprocessor: by warpgroups on half types and on codes,
/// on these in blocks that stay, and by warps times the bytes of an element
/// (1.5e6 of tf32, 3e6 of half types).
constexpr double kGroupOperations = 4.5e6, kGroupCodeOperations = 9e6,
                 kPersistentCodeOperations = 11e6, kWarpOperationBytes = 6e6;
/// Bytes that are copied into one multiprocessor, and into all of them.
constexpr double kBytesIntoOne = 80e3, kBytesIntoAll = 9e6;
/// Threads and blocks of a multiprocessor at a time: the most threads that it
/// has (CUDA C++ Programming Guide, "Technical Specifications per Compute
/// Capability", 8.0 and 9.0), and the most blocks that are counted on.
constexpr int64_t kMostThreads = 2048, kMostBlocks = 4;
/// A multiplication by a warp's tensor cores is of so many rows and columns,
/// and of a quarter of the depth of a stage.
constexpr int64_t kMmaRows = 16, kMmaColumns = 8;
constexpr double kMmasOfStage = 4;
/// Elements along a side of a block of simt that its threads have one of each.
constexpr int64_t kSimtSide = 16;
/// Chunks of 16 bytes in a row of a stage.
constexpr int64_t kChunks = kTileStageBytes / 16;
/// About the instructions of a thread for each load from shared memory, for
/// each chunk that it copies there, and for a stage beside those.
constexpr double kInstructionsOfLoad = 2, kInstructionsOfCopy = 8,
                 kInstructionsOfStage = 30;
/// Microseconds until a copy arrives; those of an epilogue, those that the
/// blocks of a cluster take more to add up, for all and for each, and those
/// of each group of warps that splits the depth.
constexpr double kCopyLatency = 0.9, kEpilogue = 1.2, kClusterSum = 1.0,
                 kBlockSum = 1.0, kSliceSum = 0.05;

/// Microseconds from the last product of a tile of a block that stays until its
/// warpgroup has stored it: 2 to 4 on an H200, of 64 x 256 elements, with a
/// GELU.
constexpr double kEpilogueOfGroup = 3;

} // namespace

/// The estimate of tiles in blocks that stay. All blocks have as many tiles.
/// With two warpgroups in turn, one stores while the other multiplies: of two
/// tiles that takes as long as their products, or as the products and the
/// epilogue of one.
static double estimatePersistent(const TileConfig &tile,
                                 const TileProblem &problem,
                                 const GpuTarget &target,
                                 int64_t elementBytes) {
  const double depth = double(kTileStageBytes) / double(elementBytes),
               steps = std::ceil(double(problem.k) / depth),
               tiles = std::ceil(double(problem.m) / double(tile.m)) *
                       std::ceil(double(problem.n) / double(tile.n)),
               rounds = std::ceil(tiles / double(target.multiprocessors));
  const double operations = elementBytes == 1 ? kPersistentCodeOperations
                                              : kGroupOperations,
               products =
                   steps *
                   std::max(2.0 * double(tile.m * tile.n) * depth / operations,
                            double(tile.stageBytes()) * target.multiprocessors /
                                kBytesIntoAll);
  if (!tile.takesTurns())
    return rounds * (products + kEpilogueOfGroup) + kCopyLatency;
  return rounds * std::max(products, (products + kEpilogueOfGroup) / 2) +
         kEpilogueOfGroup + kCopyLatency;
}

// `step` is the time of one stage of operands: the maximum of its arithmetic,
// its copies and its latency.
double estimateMicroseconds(const TileConfig &tile, const TileProblem &problem,
                            const GpuTarget &target, int64_t elementBytes) {
  if (tile.isPersistent())
    return estimatePersistent(tile, problem, target, elementBytes);
  double depth = static_cast<double>(kTileStageBytes / elementBytes);
  double steps = std::ceil(problem.k / depth / tile.splits);
  double blocks = std::ceil(double(problem.m) / tile.m) *
                  std::ceil(double(problem.n) / tile.n) * problem.batch *
                  tile.splits;
  int64_t resident = std::max<int64_t>(
      1, std::min<int64_t>(kMostThreads / tile.threads(),
                           target.sharedMemoryPerBlock /
                               tile.sharedBytes(elementBytes)));
  resident = std::min(resident, kMostBlocks);
  double busy = std::min(blocks, double(target.multiprocessors) * resident);
  double waves =
      std::ceil(blocks / (double(target.multiprocessors) * resident));
  double together =
      std::min<double>(resident, std::ceil(blocks / target.multiprocessors));
  double warps = static_cast<double>(tile.threads()) / 32;
  double instructions =
      tile.isSimt()
          ? depth * (double(tile.m) * tile.n / TileConfig::kPlainThreads +
                     kInstructionsOfLoad * (tile.m + tile.n) / kSimtSide)
          : kMmasOfStage / tile.slices *
                    (double(tile.warpM) / kMmaRows * tile.warpN / kMmaColumns +
                     kInstructionsOfLoad * (tile.warpM + tile.warpN) /
                         kMmaRows) +
                kInstructionsOfCopy * (tile.m + tile.n) * kChunks /
                    tile.threads() +
                kInstructionsOfStage;
  // Four codes are widened by eight instructions.
  if (tile.widensB)
    instructions += double(tile.warpN) * 2 * 8 / 4;
  double compute =
      instructions *
      std::max(warps * together / kInstructionsPerClock, kClocksOfWarp) /
      kClocks / together;
  double operations = 2.0 * tile.m * tile.n * depth;
  if (tile.isWgmma())
    compute = operations /
              (elementBytes == 1 ? kGroupCodeOperations : kGroupOperations);
  else if (!tile.isSimt())
    compute = std::max(compute,
                       operations * double(elementBytes) / kWarpOperationBytes);
  double bytes = static_cast<double>(tile.stageBytes());
  double transfer =
      bytes / std::min(kBytesIntoOne / together, kBytesIntoAll / busy);
  double latency =
      kCopyLatency / (tile.isWgmma() ? tile.stages - 1 : tile.stages);
  double step = std::max({compute * together, transfer, latency});
  double epilogue =
      kEpilogue +
      (tile.splits > 1 ? kClusterSum + kBlockSum * tile.splits : 0) +
      kSliceSum * tile.slices;
  return waves * (steps * step + epilogue);
}

} // namespace aitune
