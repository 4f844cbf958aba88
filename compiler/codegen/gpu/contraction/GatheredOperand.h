// Operands of tiles whose rows are no evenly spaced runs of memory: heads or
// windows that were merged into one axis, transposed left sides, rows of a
// number of bytes that 16 does not divide. Their elements are found one chunk
// or one element at a time (prelude/Gather.cuh), so that tensor cores multiply
// them all the same.
#ifndef AITUNE_COMPILER_CODEGEN_GPU_CONTRACTION_GATHEREDOPERAND_H
#define AITUNE_COMPILER_CODEGEN_GPU_CONTRACTION_GATHEREDOPERAND_H

#include <optional>

#include "compiler/codegen/gpu/contraction/Contraction.h"
#include "compiler/codegen/gpu/contraction/TileConfig.h"

namespace aitune {

/// How an operand is gathered whose rows are numbered by `rowDims`, the last of
/// them the fastest, and whose columns are `reduced`; `chunk` is the number of
/// elements in 16 bytes. Not set if the place of an element is no sum of a part
/// of its row, a part of its column and a part of the batch.
std::optional<Gathering> findGathering(const OperandView &view,
                                       llvm::ArrayRef<mlir::AffineExpr> rowDims,
                                       mlir::AffineExpr reduced,
                                       mlir::AffineExpr reducedSize,
                                       int64_t chunk);

/// Prints the declaration of such an operand as the source `name`, of which a
/// tile begins with the row whose number is the variable `first`. The dims of
/// the batch must be bound.
void declareGathered(PointPrinter &printer, DimTable &dims,
                     llvm::StringRef name, llvm::StringRef first,
                     const OperandView &view, Gathering gathering,
                     llvm::ArrayRef<mlir::AffineExpr> rowDims,
                     mlir::AffineExpr reduced);

} // namespace aitune

#endif // AITUNE_COMPILER_CODEGEN_GPU_CONTRACTION_GATHEREDOPERAND_H
