// Which of the model's operators something was made of: every pass keeps the
// importer's locations, so that a message can name the line of the model's
// source that it is about.
#ifndef AITUNE_COMPILER_PLAN_PROVENANCE_H
#define AITUNE_COMPILER_PLAN_PROVENANCE_H

#include <string>
#include <vector>

#include "compiler/dialect/Ait.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace aitune {

/// The positions in the trace of the operators that `kernel` was made of, at
/// every one of its launches: equal kernels are one function, whose own
/// locations are those of the first. Ascending.
std::vector<int64_t> traceOps(mlir::func::FuncOp kernel,
                              llvm::ArrayRef<mlir::ait::LaunchOp> launches);

/// The operation, the operator that it was made for and that one's place in the
/// model's source: "ait.mean of aten::layer_norm at functional.py:2935". Not
/// its scope: what is said of each layer of a stack is the same.
std::string describe(mlir::Operation *op);

} // namespace aitune

#endif // AITUNE_COMPILER_PLAN_PROVENANCE_H
