// Writes a contraction in tiles: the operands' sources, the product
// (prelude/Tile.cuh) and the epilogue.
#ifndef AITUNE_COMPILER_CODEGEN_GPU_CONTRACTION_TILEWRITER_H
#define AITUNE_COMPILER_CODEGEN_GPU_CONTRACTION_TILEWRITER_H

#include "compiler/codegen/gpu/contraction/Contraction.h"
#include "compiler/codegen/gpu/contraction/TileConfig.h"

namespace aitune {

/// A contraction as the product of a matrix A [rows, k] and a matrix B
/// [columns, k] (rowsOfB) or [k, columns], for each entry of the batch axes.
struct TileKernel {
  /// The result's axes: dims, or 0 for size 1. The last one is the columns; the
  /// others are batchDims and rowDims, in order.
  llvm::SmallVector<mlir::AffineExpr> resultDims, batchDims, rowDims;
  mlir::AffineExpr batchSize, rowSize, columnSize, reducedSize;
  /// Element type of A, and of B if that has no codes.
  mlir::Type element;
  /// Element type of B if it holds codes that are widened; else null.
  mlir::Type codes;
  bool rowsOfB = true;
  OperandView a, b;
  /// Elements between rows of A, and between rows of B.
  mlir::AffineExpr rowStride, columnStride;
  /// Instead of Rows<T>: the declaration of the source `a`, whose first row is
  /// m0.
  std::string sourceA;
  /// How B's argument is packed.
  PackingProto packingOfB;
};

class TileWriter {
public:
  TileWriter(ContractionParts &parts, DimTable &dims, const TileKernel &kernel,
             mlir::ArrayAttr symbols, const GpuTarget &target)
      : parts(parts), dims(dims), kernel(kernel), symbols(symbols),
        target(target), epilogue(parts, dims, kernel.resultDims) {}

  /// kUnimplemented if the epilogue cannot be written.
  absl::Status prepare() { return epilogue.prepare(); }
  absl::StatusOr<GeneratedCandidate> write(llvm::StringRef name,
                                           const TileConfig &config);

private:
  std::string offset(PointPrinter &printer, const OperandView &view);

  ContractionParts &parts;
  DimTable &dims;
  const TileKernel &kernel;
  mlir::ArrayAttr symbols;
  const GpuTarget &target;
  EpiloguePrinter epilogue;
};

} // namespace aitune

#endif // AITUNE_COMPILER_CODEGEN_GPU_CONTRACTION_TILEWRITER_H
