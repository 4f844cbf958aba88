// Finds the model's operators from which kernels and operations were made.
// Every pass keeps the importer's locations, so that a message can name the
// line of the model's source that it is about.
#ifndef AITUNE_COMPILER_PLAN_PROVENANCE_H
#define AITUNE_COMPILER_PLAN_PROVENANCE_H

#include <string>
#include <vector>

#include "compiler/dialect/Ait.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace aitune {

/// The positions in the trace of the operators that `kernel` was made of, for
/// all of its `launches` together, in ascending order. Equal kernels share one
/// function, whose own locations are only those of the first of them.
std::vector<int64_t> traceOps(mlir::func::FuncOp kernel,
                              llvm::ArrayRef<mlir::ait::LaunchOp> launches);

/// The positions in the trace of the operators that `op` itself was made of, in
/// ascending order.
std::vector<int64_t> traceOps(mlir::Operation *op);

/// The operation, the operator that it was made for and the operator's place in
/// the model's source: "ait.mean of aten::layer_norm at functional.py:2935".
/// The scope is left out, so that messages about equal layers are equal.
std::string describe(mlir::Operation *op);

} // namespace aitune

#endif // AITUNE_COMPILER_PLAN_PROVENANCE_H
