// Index tensors of operators that read and write elements by them.
#ifndef AITUNE_FRONTEND_IMPORTER_INDEX_POSITIONS_H_
#define AITUNE_FRONTEND_IMPORTER_INDEX_POSITIONS_H_

#include "absl/status/statusor.h"
#include "frontend/importer/op_importer.h"

namespace aitune::frontend {

// An index as int32 or int64; rejects other dtypes than integers.
absl::StatusOr<mlir::Value> ToIndex(OpImporter& call, mlir::Value index);

// Positions in an axis that neighbouring axes of these `sizes`, in this order,
// are merged to: of the entries that the `indices`, one for each axis and
// broadcast together, say. Negative indices count from the end; each is checked
// against its own axis.
mlir::Value PositionsInMergedAxes(OpImporter& call,
                                  llvm::ArrayRef<mlir::Value> indices,
                                  llvm::ArrayRef<mlir::AffineExpr> sizes);

}  // namespace aitune::frontend

#endif  // AITUNE_FRONTEND_IMPORTER_INDEX_POSITIONS_H_
