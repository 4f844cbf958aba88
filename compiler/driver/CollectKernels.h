// The kernels of a fused module.
#ifndef AITUNE_COMPILER_DRIVER_COLLECTKERNELS_H
#define AITUNE_COMPILER_DRIVER_COLLECTKERNELS_H

#include <vector>

#include "compiler/candidates/Kernel.h"
#include "mlir/IR/BuiltinOps.h"

namespace aitune {

/// The outlined kernels of `module` with their launches, in the module's order.
/// Marks the arguments that are there before a call: they may be read early.
std::vector<Kernel> collectKernels(mlir::ModuleOp module);

} // namespace aitune

#endif // AITUNE_COMPILER_DRIVER_COLLECTKERNELS_H
