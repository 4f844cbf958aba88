// The schedules of contractions that are computed in tiles: how a tile stands
// in ait.config, which ones are legal, and those worth measuring.
#ifndef AITUNE_COMPILER_CODEGEN_GPU_CONTRACTION_TILESPACE_H
#define AITUNE_COMPILER_CODEGEN_GPU_CONTRACTION_TILESPACE_H

#include <vector>

#include "absl/status/statusor.h"
#include "compiler/codegen/gpu/contraction/TileConfig.h"
#include "compiler/codegen/gpu/text/CudaSchedules.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/STLFunctionalExtras.h"

namespace aitune {

/// The tiles to generate for a problem; none where the kernel is to be computed
/// as loops, which a generator falls back to.
using SelectTiles = llvm::function_ref<absl::StatusOr<std::vector<TileConfig>>(
    const TileProblem &problem)>;

/// `tile` as it stands in ait.config: `algorithm` ("mma", "wgmma", "simt",
/// "stream"), `m` and `n` of a block, `slices`, `stages`, `splits`.
mlir::DictionaryAttr toConfig(const TileConfig &tile,
                              mlir::MLIRContext *context);

/// The tile that `config` names. kInvalidArgument says what is wrong with it:
/// shapes are those that rankTiles and chooseStreams have for the problem; the
/// stages of a tile, not those of a stream, are free as far as they fit the
/// memory of a block.
absl::StatusOr<TileConfig> readTileConfig(mlir::DictionaryAttr config,
                                          const TileProblem &problem,
                                          const GpuTarget &target);

/// All tiles worth measuring, the most promising first: those of chooseStreams
/// and rankTiles, each with fewer and more stages.
std::vector<TileConfig> listTiles(const TileProblem &problem,
                                  const GpuTarget &target);

/// Whether the kernel's ait.config asks for a schedule.
bool hasSchedule(mlir::func::FuncOp kernel);

/// The selection that the kernel's ait.config makes; `choose` makes it where
/// that is empty. {algorithm = "loops"} selects no tile.
absl::StatusOr<std::vector<TileConfig>>
selectTiles(mlir::func::FuncOp kernel, const TileProblem &problem,
            const GpuTarget &target,
            llvm::function_ref<std::vector<TileConfig>()> choose);

/// The schedules of listTiles, and of `loops` if the kernel can be computed as
/// loops too. The problem's log2 of m, n and k are the first features.
CudaSchedules describeTiles(const TileProblem &problem, const GpuTarget &target,
                            bool loops, mlir::MLIRContext *context);

} // namespace aitune

#endif // AITUNE_COMPILER_CODEGEN_GPU_CONTRACTION_TILESPACE_H
