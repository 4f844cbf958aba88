// The tiles in which contractions are computed on a GPU, and the choice of
// tiles for a problem.
#ifndef AITUNE_COMPILER_CODEGEN_GPU_CONTRACTION_TILECONFIG_H
#define AITUNE_COMPILER_CODEGEN_GPU_CONTRACTION_TILECONFIG_H

#include <string>
#include <vector>

#include "compiler/codegen/gpu/target/GpuTarget.h"
#include "mlir/IR/Types.h"
#include "llvm/Support/ErrorHandling.h"

namespace aitune {

/// The parameters of one of five algorithms, which are template arguments of
/// their device code: tensor cores by warps (mma, prelude/Tile.cuh), tensor
/// cores by warpgroups (wgmma, prelude/Wgmma.cuh), the same in blocks that stay
/// for many tiles (persistent, prelude/PersistentGroups.cuh), fp32 arithmetic
/// (simt, prelude/Tile.cuh), and streaming of B for few rows of A (stream,
/// prelude/Stream.cuh). With a B of codes that are widened, mma and stream are
/// those of prelude/Codes.cuh and wgmma that of prelude/CodeGroups.cuh.
struct TileConfig {
  enum class Algorithm {
    Mma,
    Wgmma, ///< needs f16, bf16 or codes, B given by rows, and Hopper
    /// needs what wgmma needs, known sizes, and a B that is packed at load.
    /// A cost model knows it as what is packed and not by wgmma.
    Persistent,
    Simt,
    Stream, ///< reads each row of B once
  };
  Algorithm algorithm;
  int64_t m, n; ///< rows and columns of a block's tile
  /// Rows and columns of a warp's tile; of a warpgroup's with wgmma and
  /// persistent; 0 for simt and stream.
  int64_t warpM = 0, warpN = 0;
  int64_t slices = 1; ///< groups of warps that split a stage's depth
  int64_t stages = 1; ///< stages of operands in shared memory at a time
  int64_t splits = 1; ///< blocks of a cluster that split the reduced axis
  /// With wgmma and persistent: whether B is packed at load, so that the copy
  /// engine can copy it.
  bool isPacked = false;
  /// With stream: the number of reduced elements, rounded up.
  int64_t streamDepth = 0;
  /// Whether B holds codes of 8 bits, which are widened to A's type; in a
  /// stream of codes that are floats on both sides, both to f16.
  bool widensB = false;

  /// The threads of a block of simt and of stream.
  static constexpr int64_t kPlainThreads = 256;
  /// The threads of a block of persistent: a warpgroup copies, two multiply.
  static constexpr int64_t kPersistentThreads = 384;

  bool isStream() const { return algorithm == Algorithm::Stream; }
  bool isSimt() const { return algorithm == Algorithm::Simt; }
  bool isWgmma() const { return algorithm == Algorithm::Wgmma; }
  bool isPersistent() const { return algorithm == Algorithm::Persistent; }
  /// With persistent: whether the two warpgroups have a tile in their turns,
  /// not both a half of it.
  bool takesTurns() const { return m == 64; }
  /// Whether the number of stages belongs to the tile and is not searched for.
  bool hasFixedStages() const { return isStream(); }
  /// The number of threads of a block.
  int64_t threads() const {
    switch (algorithm) {
    case Algorithm::Simt:
    case Algorithm::Stream:
      return kPlainThreads;
    case Algorithm::Persistent:
      return kPersistentThreads;
    case Algorithm::Wgmma: // a warpgroup for 64 rows of the left operand
      return (widensB ? n : m) * 2;
    case Algorithm::Mma:
      return (m / warpM) * (n / warpN) * slices * 32;
    }
    llvm_unreachable("all algorithms have threads");
  }
  /// The number of blocks on a multiprocessor for which its registers must
  /// suffice.
  int64_t residentBlocks() const;
  /// Of `k` reduced elements those of each block of a cluster but the last, for
  /// elements of A of `elementBytes` bytes; whole stages, not of a stream.
  int64_t splitElements(int64_t k, int64_t elementBytes) const;
  /// Bytes of a stage of operands in shared memory, not of a stream.
  int64_t stageBytes() const;
  /// Bytes of shared memory of a block, for elements of A of `elementBytes`
  /// bytes.
  int64_t sharedBytes(int64_t elementBytes) const;
  /// The numbers by which a cost model tells the algorithms apart.
  std::vector<double> algorithmFeatures() const;
  /// A text for people, such as "mma 64x32, 2 slices, 6 stages, 4 splits".
  std::string description() const;
  /// The algorithm's name: "mma", "wgmma", "persistent", "simt" or "stream".
  const char *algorithmName() const;
  /// With persistent: the blocks that stay, of a problem of so many rows and
  /// columns.
  int64_t persistentBlocks(int64_t rows, int64_t columns,
                           const GpuTarget &target) const;
  /// The C++ type of the core, such as `MmaCore<half, 64, 32, ...>`, for
  /// operands of these C++ types; empty for an algorithm without cores.
  std::string core(const std::string &element, const std::string &elementOfB,
                   bool rowsOfB) const;
  /// The statement that computes the product, as sums of that C++ type, such as
  /// `float *tile = multiplyTile<...>(a, b, first, last, shared);`.
  std::string product(const std::string &sum, const std::string &element,
                      const std::string &elementOfB, bool constantB,
                      const std::string &first, const std::string &last) const;
  /// The device code of the algorithm, to be put behind prelude/Tile.cuh, for
  /// an A of `element`.
  std::string deviceCode(mlir::Type element) const;
};

/// How the rows of an operand are brought into tiles: as evenly spaced runs of
/// memory (None); in chunks of 16 bytes whose places are computed one by one;
/// or element by element.
enum class Gathering { None, Chunks, Elements };

/// A product of matrices that is to be computed in tiles.
struct TileProblem {
  int64_t batch, m, n, k; ///< sizes; estimates of dynamic ones
  /// Element type of A, and of B if that has no codes that are widened: ui8 for
  /// a product of codes, of which those of B are signed; f8E4M3FN for one of
  /// codes that are floats.
  mlir::Type element;
  bool rowsOfB;         ///< whether B is [n, k]; otherwise it is [k, n]
  bool reducedIsStatic; ///< whether k is the same in all calls
  /// Whether B is a constant matrix of known sizes, which can be packed at
  /// load.
  bool mayPackB = false;
  /// Element type of B if it holds codes that are widened; else null.
  mlir::Type codes = {};
  /// The gathering of the operand that needs more of it. A stream gathers
  /// nothing, and warpgroups no elements.
  Gathering gathering = Gathering::None;
};

struct RankedTile {
  double microseconds; ///< estimated time, good only for ranking
  TileConfig tile;
};

/// All tiles that suit the problem, in ascending order of estimated time. Empty
/// if the target has no tiles for the element type.
std::vector<RankedTile> rankTiles(const TileProblem &problem,
                                  const GpuTarget &target);

/// At most `most` of the most promising tiles of rankTiles that differ enough
/// from each other.
std::vector<TileConfig> chooseTiles(const TileProblem &problem,
                                    const GpuTarget &target, size_t most);

/// Tiles of the algorithm stream for the problem, the most promising first.
/// Empty if it has more than a few rows, or if B's reduced axis is not
/// contiguous or of unknown size.
std::vector<TileConfig> chooseStreams(const TileProblem &problem,
                                      const GpuTarget &target);

} // namespace aitune

#endif // AITUNE_COMPILER_CODEGEN_GPU_CONTRACTION_TILECONFIG_H
