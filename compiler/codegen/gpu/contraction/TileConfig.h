// The tiles that contractions are computed in, and which of them suit a size.
#ifndef AITUNE_COMPILER_CODEGEN_GPU_CONTRACTION_TILECONFIG_H
#define AITUNE_COMPILER_CODEGEN_GPU_CONTRACTION_TILECONFIG_H

#include <string>
#include <vector>

#include "compiler/codegen/gpu/target/GpuTarget.h"
#include "mlir/IR/Types.h"

namespace aitune {

/// Template arguments of prelude/Tile.cuh, Wgmma.cuh or Stream.cuh.
struct TileConfig {
  int64_t m, n;         ///< rows and columns of a block's tile
  int64_t warpM, warpN; ///< rows and columns of a warp's; 0 for the fp32 core
  int64_t slices;       ///< groups of warps that split a stage's depth
  int64_t stages;       ///< stages of operands in shared memory at a time
  int64_t splits = 1;   ///< blocks of a cluster that split the reduced axis
  /// By warpgroups (prelude/Wgmma.cuh): of half types, rows of B, Hopper.
  bool byGroups = false;
  /// With byGroups: B is packed at load, for the copy engine.
  bool isPacked = false;
  /// Few rows of A and rows of B that are read once (prelude/Stream.cuh): the
  /// reduced elements, rounded up; 0 for the others.
  int64_t streamDepth = 0;

  bool isStream() const { return streamDepth > 0; }
  bool isSimt() const { return warpM == 0 && !isStream(); }
  int64_t threads() const {
    if (isSimt() || isStream())
      return 256;
    return (byGroups ? m / 16 : (m / warpM) * (n / warpN) * slices) * 32;
  }
  /// Blocks on a multiprocessor that registers must suffice for.
  int64_t residentBlocks() const {
    return byGroups && m <= 128 && n <= 128 ? 2 : 1;
  }
  /// Bytes of shared memory of a block, for elements of `elementBytes` bytes.
  int64_t sharedBytes(int64_t elementBytes) const;
  /// "mma 64x32, 2 slices, 6 stages, 4 splits".
  std::string description() const;
  /// "mma", "wgmma", "simt" or "stream".
  const char *algorithm() const;
  /// `MmaCore<half, 64, 32, ...>`.
  std::string core(const std::string &element, bool rowsOfB) const;
  /// The product: `float *tile = multiplyTile<...>(a, b, first, last,
  /// shared);`.
  std::string product(const std::string &element, bool constantB,
                      const std::string &first, const std::string &last) const;
  /// With byGroups: the definition of multiplyGroup, the instruction that
  /// multiplies 64 rows of A with all rows of B.
  std::string groupInstruction(bool isBfloat) const;
};

struct TileProblem {
  int64_t batch, m, n, k; ///< sizes; estimates where dynamic
  mlir::Type element;
  bool rowsOfB;
  bool reducedIsStatic;
  /// B is a constant matrix of known sizes.
  bool mayPackB = false;
};

struct RankedTile {
  double microseconds; ///< estimated, for ranking alone
  TileConfig tile;
};

/// All tiles that suit the problem, by estimated time. Empty if the element
/// type has no tiles on this target.
std::vector<RankedTile> rankTiles(const TileProblem &problem,
                                  const GpuTarget &target);

/// The most promising of rankTiles, unlike each other, at most `most`.
std::vector<TileConfig> chooseTiles(const TileProblem &problem,
                                    const GpuTarget &target, size_t most);

/// Streams for the problem, most promising first; none if it has more than a
/// few rows, or B's reduced axis is not contiguous or of unknown size.
std::vector<TileConfig> chooseStreams(const TileProblem &problem,
                                      const GpuTarget &target);

} // namespace aitune

#endif // AITUNE_COMPILER_CODEGEN_GPU_CONTRACTION_TILECONFIG_H
