// Writes the CUDA text of a contraction that is computed in tiles: the sources
// from which operands are copied, the product (device code of prelude/Tile.cuh,
// prelude/Wgmma.cuh or prelude/Stream.cuh) and the epilogue.
#ifndef AITUNE_COMPILER_CODEGEN_GPU_CONTRACTION_TILEWRITER_H
#define AITUNE_COMPILER_CODEGEN_GPU_CONTRACTION_TILEWRITER_H

#include "compiler/codegen/gpu/contraction/Contraction.h"
#include "compiler/codegen/gpu/contraction/TileConfig.h"

namespace aitune {

/// A contraction as the product of a matrix A [rows, k] and a matrix B
/// [columns, k] (rowsOfB) or [k, columns], for each index of the batch axes.
struct TileKernel {
  /// The dim of each axis of the result, or 0 for an axis of size 1. The last
  /// one is that of the columns; the others are batchDims and then rowDims.
  llvm::SmallVector<mlir::AffineExpr> resultDims, batchDims, rowDims;
  /// The products of the sizes of the batch axes and of the row axes, the
  /// number of columns, and k.
  mlir::AffineExpr batchSize, rowSize, columnSize, reducedSize;
  mlir::AffineExpr reducedDim; ///< the dim of k, in operands' addresses
  /// Element type of A, and of B if that has no codes.
  mlir::Type element;
  /// Element type of B if it holds codes that are widened; else null.
  mlir::Type codes;
  bool rowsOfB = true;
  OperandView a, b;
  /// Elements between rows of A, and between rows of B; null where the operand
  /// is gathered.
  mlir::AffineExpr rowStride, columnStride;
  Gathering gatheringOfA = Gathering::None, gatheringOfB = Gathering::None;
  /// If it is not empty: the declaration of the source `a` in place of Rows<T>.
  /// Its first row is the variable m0.
  std::string sourceA;
  bool isOfVolumes = false; ///< whether that are windows of volumes
  /// How the argument of B is packed at load (kind NONE: it is not).
  PackingProto packingOfB;
};

class TileWriter {
public:
  TileWriter(ContractionParts &parts, DimTable &dims, const TileKernel &kernel,
             mlir::ArrayAttr symbols, const GpuTarget &target)
      : parts(parts), dims(dims), kernel(kernel), symbols(symbols),
        target(target), epilogue(parts, dims, kernel.resultDims) {}

  /// kUnimplemented if the epilogue cannot be written
  /// (EpiloguePrinter::prepare). To be called before `write`.
  absl::Status prepare() { return epilogue.prepare(); }
  /// The candidate with the tiles of `config`, whose kernel has this name.
  /// kUnimplemented names what has no CUDA text.
  absl::StatusOr<GeneratedCandidate> write(llvm::StringRef name,
                                           const TileConfig &config);

private:
  std::string offset(PointPrinter &printer, const OperandView &view);
  void declareA(PointPrinter &printer);
  void declareB(PointPrinter &printer);
  /// Whether the epilogue reads a tensor of as many elements as the result.
  bool readsWholeTensor() const;
  /// The constants of the epilogue that a tile needs, from column `n0` on.
  void prefetchConstants(PointPrinter &printer, const TileConfig &config);
  /// The number of neighbouring elements that the epilogue computes together.
  int64_t lanes() const;
  /// The epilogue of `lanes` elements, whose sums are `pack`, from row `m` and
  /// column `n` on.
  void printElements(PointPrinter &printer, int64_t lanes, const std::string &m,
                     const std::string &n, const std::string &pack);
  /// The condition under which an element is one of the matrix.
  std::string isInside(PointPrinter &printer, const std::string &row,
                       const std::string &column);
  /// As printElements, of the pack that the text `sums` gives, from a row and a
  /// column on that may be outside of the matrix. Without a branch: it reads
  /// the tile's first element then, and stores nothing. In a part of the
  /// printer.
  void printIfInside(PointPrinter &printer, int64_t lanes,
                     const std::string &row, const std::string &column,
                     const std::string &sums);
  /// From the sums in `tile` to the stores of the results.
  void writeEpilogue(PointPrinter &printer, const TileConfig &config);
  /// The body of a block that has one tile; `isFlat`: the grid's first axis has
  /// all of them.
  void writeTile(PointPrinter &printer, const TileConfig &config, bool isFlat,
                 int64_t steps);
  /// The body of a block that stays: all of its tiles.
  void writePersistent(PointPrinter &printer, const TileConfig &config,
                       int64_t steps);
  /// From the sums of such a tile, in registers, to the stores of the results.
  void writePersistentEpilogue(PointPrinter &printer, const TileConfig &config);

  ContractionParts &parts;
  DimTable &dims;
  const TileKernel &kernel;
  mlir::ArrayAttr symbols;
  const GpuTarget &target;
  EpiloguePrinter epilogue;
};

} // namespace aitune

#endif // AITUNE_COMPILER_CODEGEN_GPU_CONTRACTION_TILEWRITER_H
