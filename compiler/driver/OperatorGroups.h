// Which of the model's operators which launches compute, as units that another
// could compute in their place.
#ifndef AITUNE_COMPILER_DRIVER_OPERATORGROUPS_H
#define AITUNE_COMPILER_DRIVER_OPERATORGROUPS_H

#include <cstdint>
#include <string>
#include <vector>

#include "compiler/dialect/Ait.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/SmallVector.h"

namespace aitune {

/// Launches that together compute some operators, and no others compute them.
struct OperatorGroup {
  /// The group's launches in the order of @main.
  llvm::SmallVector<mlir::ait::LaunchOp> launches;
  /// The operators' positions in the trace, ascending.
  std::vector<int64_t> traceOps;
  /// Those of them that do more than a pointwise computation.
  std::vector<int64_t> core;
  /// Equal for groups of the same kernels that do as many operators.
  std::string form;
};

/// The launches of @main of `module`, a fused one, that run at each call, in
/// groups. An operator that one launch copies data for, and another computes,
/// is the other's. Launches that were made of no operator are in no group.
std::vector<OperatorGroup> groupByOperators(mlir::ModuleOp module);

} // namespace aitune

#endif // AITUNE_COMPILER_DRIVER_OPERATORGROUPS_H
