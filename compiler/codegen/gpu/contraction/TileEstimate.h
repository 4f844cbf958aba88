// The estimated time of a tile on a GPU, by which tiles are ranked before any
// is measured: a model with few numbers, which were measured on an H200.
#ifndef AITUNE_COMPILER_CODEGEN_GPU_CONTRACTION_TILEESTIMATE_H
#define AITUNE_COMPILER_CODEGEN_GPU_CONTRACTION_TILEESTIMATE_H

#include "compiler/codegen/gpu/contraction/TileConfig.h"

namespace aitune {

/// Bytes of a row of a stage.
inline constexpr int64_t kTileStageBytes = 128;

/// The estimated microseconds of `problem` in tiles of `tile`, not of a stream,
/// for elements of A of `elementBytes` bytes. Good only for ranking.
double estimateMicroseconds(const TileConfig &tile, const TileProblem &problem,
                            const GpuTarget &target, int64_t elementBytes);

} // namespace aitune

#endif // AITUNE_COMPILER_CODEGEN_GPU_CONTRACTION_TILEESTIMATE_H
