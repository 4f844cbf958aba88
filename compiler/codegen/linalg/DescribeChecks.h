// The checks of lowered kernel functions in the form of the plan.
#ifndef AITUNE_COMPILER_CODEGEN_LINALG_DESCRIBECHECKS_H
#define AITUNE_COMPILER_CODEGEN_LINALG_DESCRIBECHECKS_H

#include <vector>

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "runtime/plan/plan.pb.h"

namespace aitune {

/// The checks that the kernel reports, in the order of its KernelCheck memory,
/// from the attribute `ait.checks` that ait-lower-to-linalg sets; empty if it
/// has none. Their locations are empty, because launches have them.
std::vector<CheckProto> describeChecks(mlir::func::FuncOp kernel);

} // namespace aitune

#endif // AITUNE_COMPILER_CODEGEN_LINALG_DESCRIBECHECKS_H
