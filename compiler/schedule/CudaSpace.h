// The search space of a kernel on a GPU, in the form of Schedule.h.
#ifndef AITUNE_COMPILER_SCHEDULE_CUDASPACE_H
#define AITUNE_COMPILER_SCHEDULE_CUDASPACE_H

#include "absl/status/statusor.h"
#include "compiler/codegen/gpu/target/GpuTarget.h"
#include "compiler/schedule/Schedule.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinAttributes.h"

namespace aitune {

/// The space of `kernel`, which is in the form that generateCuda takes, with
/// the module's `symbols`. Its first schedule is the empty ait.config, which
/// stands for the fastest of the few candidates that a build without a search
/// measures. kUnimplemented for kernels without parameters; other errors as
/// generateCuda. Not thread-safe for one MLIRContext.
absl::StatusOr<KernelSpace> listCudaSpace(mlir::func::FuncOp kernel,
                                          mlir::ArrayAttr symbols,
                                          const GpuTarget &target);

} // namespace aitune

#endif // AITUNE_COMPILER_SCHEDULE_CUDASPACE_H
