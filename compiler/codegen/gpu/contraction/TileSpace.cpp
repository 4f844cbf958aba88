#include "compiler/codegen/gpu/contraction/TileSpace.h"

#include <algorithm>
#include <cmath>

#include "absl/status/status.h"
#include "compiler/dialect/KernelAttributes.h"
#include "mlir/IR/Builders.h"
#include "runtime/status/status_macros.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace aitune {
namespace {

/// The numbers of stages worth trying beside the one with which a tile is
/// ranked.
constexpr int64_t kStages[] = {2, 3, 4, 5, 6, 8, 12};
/// Loops, in ait.config.
constexpr char kLoops[] = "loops";

int64_t elementBytes(const TileProblem &problem) {
  return problem.element.getIntOrFloatBitWidth() / 8;
}

/// Whether two tiles differ in their stages at most.
bool haveOneShape(const TileConfig &a, const TileConfig &b) {
  return a.m == b.m && a.n == b.n && a.slices == b.slices &&
         a.splits == b.splits && a.algorithm == b.algorithm;
}

bool isLegal(const TileConfig &tile, const TileProblem &problem,
             const GpuTarget &target) {
  // A tile is computed while the next one is under way.
  return tile.stages >= 2 &&
         tile.sharedBytes(elementBytes(problem)) <= target.sharedMemoryPerBlock;
}

void addIfNew(std::vector<TileConfig> &tiles, const TileConfig &tile) {
  if (llvm::none_of(tiles, [&](const TileConfig &other) {
        return other.stages == tile.stages && haveOneShape(other, tile);
      }))
    tiles.push_back(tile);
}

std::vector<TileConfig> listRanked(const TileProblem &problem,
                                   const GpuTarget &target) {
  std::vector<TileConfig> tiles;
  for (const TileConfig &stream : chooseStreams(problem, target))
    addIfNew(tiles, stream);
  for (const RankedTile &ranked : rankTiles(problem, target))
    addIfNew(tiles, ranked.tile);
  return tiles;
}

double log2Of(double value) { return std::log2(std::max(value, 1.0)); }

std::vector<double> getFeatures(const TileConfig &tile,
                                const TileProblem &problem,
                                const GpuTarget &target) {
  const double blocks = double(llvm::divideCeil(problem.m, tile.m)) *
                        double(llvm::divideCeil(problem.n, tile.n)) *
                        double(problem.batch) * double(tile.splits);
  auto padding = [](int64_t size, int64_t of) {
    size = std::max<int64_t>(size, 1);
    return double(llvm::alignTo(size, of)) / double(size);
  };
  std::vector<double> features = {
      log2Of(double(problem.m)),
      log2Of(double(problem.n)),
      log2Of(double(problem.k)),
      log2Of(double(tile.m)),
      log2Of(double(tile.n)),
      padding(problem.m, tile.m),
      padding(problem.n, tile.n),
      double(tile.slices),
      double(tile.stages),
      log2Of(double(tile.splits)),
      double(tile.threads()) / 128,
      double(tile.sharedBytes(elementBytes(problem))) / (64 << 10),
      log2Of(blocks / target.multiprocessors)};
  llvm::append_range(features, tile.algorithmFeatures());
  return features;
}

/// The schedules of listTiles, and of `loops`.
std::vector<Schedule> describeTiles(const TileProblem &problem,
                                    const GpuTarget &target, bool loops,
                                    MLIRContext *context) {
  std::vector<Schedule> schedules;
  for (const TileConfig &tile : listTiles(problem, target))
    schedules.push_back(
        {mlir::ait::printScheduleConfig(toConfig(tile, context)),
         tile.description(), getFeatures(tile, problem, target)});
  if (!loops || schedules.empty())
    return schedules;
  // No tile at all: the features of the problem, and zeros.
  std::vector<double> features(schedules.front().features.size());
  std::copy_n(schedules.front().features.begin(), 3, features.begin());
  Builder builder(context);
  schedules.push_back(
      {mlir::ait::printScheduleConfig(builder.getDictionaryAttr(
           builder.getNamedAttr("algorithm", builder.getStringAttr(kLoops)))),
       kLoops, std::move(features)});
  return schedules;
}

} // namespace

DictionaryAttr toConfig(const TileConfig &tile, MLIRContext *context) {
  Builder builder(context);
  NamedAttrList config;
  config.set("algorithm", builder.getStringAttr(tile.algorithmName()));
  for (auto [name, value] : {std::pair("m", tile.m),
                             {"n", tile.n},
                             {"slices", tile.slices},
                             {"stages", tile.stages},
                             {"splits", tile.splits}})
    config.set(name, builder.getI64IntegerAttr(value));
  return config.getDictionary(context);
}

absl::StatusOr<TileConfig> readTileConfig(DictionaryAttr config,
                                          const TileProblem &problem,
                                          const GpuTarget &target) {
  auto algorithm = config.getAs<StringAttr>("algorithm");
  auto number = [&](StringRef name, int64_t otherwise) {
    auto value = config.getAs<IntegerAttr>(name);
    return value ? value.getInt() : otherwise;
  };
  for (TileConfig tile : listRanked(problem, target)) {
    if (!algorithm || algorithm.getValue() != tile.algorithmName() ||
        number("m", -1) != tile.m || number("n", -1) != tile.n ||
        number("slices", 1) != tile.slices ||
        number("splits", 1) != tile.splits)
      continue;
    const int64_t stages = number("stages", tile.stages);
    if (tile.hasFixedStages() && stages != tile.stages)
      continue;
    tile.stages = stages;
    if (tile.hasFixedStages() || isLegal(tile, problem, target))
      return tile;
    return absl::InvalidArgumentError(
        llvm::formatv("ait.config asks for {0} stages; a block has 2 at least, "
                      "and {1} bytes of shared memory for them",
                      tile.stages, target.sharedMemoryPerBlock)
            .str());
  }
  return absl::InvalidArgumentError(
      "no tile of this kernel is as its ait.config says: " +
      mlir::ait::printScheduleConfig(config));
}

std::vector<TileConfig> listTiles(const TileProblem &problem,
                                  const GpuTarget &target) {
  std::vector<TileConfig> tiles = listRanked(problem, target);
  const size_t ranked = tiles.size();
  for (size_t i = 0; i < ranked; ++i)
    for (int64_t stages : kStages) {
      TileConfig tile = tiles[i];
      tile.stages = stages;
      if (!tile.hasFixedStages() && isLegal(tile, problem, target))
        addIfNew(tiles, tile);
    }
  return tiles;
}

bool hasSchedule(func::FuncOp kernel) {
  const DictionaryAttr config = mlir::ait::getScheduleConfig(kernel);
  return config && !config.empty();
}

absl::StatusOr<std::vector<TileConfig>>
selectTiles(func::FuncOp kernel, const TileProblem &problem,
            const GpuTarget &target,
            llvm::function_ref<std::vector<TileConfig>()> choose) {
  if (!hasSchedule(kernel))
    return choose();
  const DictionaryAttr config = mlir::ait::getScheduleConfig(kernel);
  auto algorithm = config.getAs<StringAttr>("algorithm");
  if (algorithm && algorithm.getValue() == kLoops)
    return std::vector<TileConfig>();
  AITUNE_ASSIGN_OR_RETURN(TileConfig tile,
                          readTileConfig(config, problem, target));
  return std::vector<TileConfig>{tile};
}

absl::StatusOr<std::vector<Schedule>> listTileSchedules(
    func::FuncOp kernel, const GpuTarget &target,
    llvm::function_ref<absl::Status(SelectTiles select)> generate) {
  // No tile at all: what is generated then are the loops.
  std::optional<TileProblem> found;
  const absl::Status loops = generate([&](const TileProblem &problem) {
    found = problem;
    return std::vector<TileConfig>();
  });
  if (found)
    return describeTiles(*found, target, loops.ok(), kernel.getContext());
  if (!loops.ok())
    return loops;
  return std::vector<Schedule>();
}

} // namespace aitune
