// What lowered kernel functions check, in the plan's form.
#ifndef AITUNE_COMPILER_CODEGEN_LINALG_DESCRIBECHECKS_H
#define AITUNE_COMPILER_CODEGEN_LINALG_DESCRIBECHECKS_H

#include <vector>

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "runtime/plan/plan.pb.h"

namespace aitune {

/// The checks that the kernel reports, in the order of its KernelChecks, from
/// the attribute `ait.checks` that ait-lower-to-linalg leaves; none without it.
/// Their locations, which launches have, are empty.
std::vector<CheckProto> describeChecks(mlir::func::FuncOp kernel);

} // namespace aitune

#endif // AITUNE_COMPILER_CODEGEN_LINALG_DESCRIBECHECKS_H
