// The schedules of contractions that are computed in tiles: how ait.config
// names a tile, which tiles are legal, and which are worth measuring.
#ifndef AITUNE_COMPILER_CODEGEN_GPU_CONTRACTION_TILESPACE_H
#define AITUNE_COMPILER_CODEGEN_GPU_CONTRACTION_TILESPACE_H

#include <vector>

#include "absl/status/statusor.h"
#include "compiler/codegen/gpu/contraction/TileConfig.h"
#include "compiler/support/Schedule.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/STLFunctionalExtras.h"

namespace aitune {

/// Returns the tiles to generate for a problem. If there are none, the
/// generator computes the kernel as loops.
using SelectTiles = llvm::function_ref<absl::StatusOr<std::vector<TileConfig>>(
    const TileProblem &problem)>;

/// The ait.config that names `tile`: `algorithm` ("mma", "wgmma", "simt",
/// "stream"), `m` and `n` of a block, `slices`, `stages`, `splits`.
mlir::DictionaryAttr toConfig(const TileConfig &tile,
                              mlir::MLIRContext *context);

/// The tile that `config` names. kInvalidArgument, with the reason, for a tile
/// that is not legal: its shape must be one of rankTiles or chooseStreams for
/// the problem; its number of stages, if it is not a stream, may be any that
/// fits the shared memory of a block.
absl::StatusOr<TileConfig> readTileConfig(mlir::DictionaryAttr config,
                                          const TileProblem &problem,
                                          const GpuTarget &target);

/// All tiles worth measuring, the most promising first: those of chooseStreams
/// and rankTiles, each with fewer and more stages.
std::vector<TileConfig> listTiles(const TileProblem &problem,
                                  const GpuTarget &target);

/// Whether the kernel's ait.config names a schedule.
bool hasSchedule(mlir::func::FuncOp kernel);

/// The tile that the kernel's ait.config names; no tile for {algorithm =
/// "loops"}. If the config is empty, the result of `choose`.
absl::StatusOr<std::vector<TileConfig>>
selectTiles(mlir::func::FuncOp kernel, const TileProblem &problem,
            const GpuTarget &target,
            llvm::function_ref<std::vector<TileConfig>()> choose);

/// The schedules of listTiles for `kernel`, and that of loops if it can be
/// computed as loops too. Their first features are log2 of m, n and k.
/// `generate` generates the kernel with the tiles that it is given the means to
/// select, and its error is the result where it selects none.
absl::StatusOr<std::vector<Schedule>> listTileSchedules(
    mlir::func::FuncOp kernel, const GpuTarget &target,
    llvm::function_ref<absl::Status(SelectTiles select)> generate);

} // namespace aitune

#endif // AITUNE_COMPILER_CODEGEN_GPU_CONTRACTION_TILESPACE_H
