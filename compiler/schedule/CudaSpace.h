// The search space of a kernel on a GPU, in the form of Schedule.h.
#ifndef AITUNE_COMPILER_SCHEDULE_CUDASPACE_H
#define AITUNE_COMPILER_SCHEDULE_CUDASPACE_H

#include "absl/status/statusor.h"
#include "compiler/codegen/gpu/target/GpuTarget.h"
#include "compiler/schedule/Schedule.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinAttributes.h"

namespace aitune {

/// The space of `kernel`, as generateCuda takes it, with the module's
/// `symbols`. Its first schedule is the empty ait.config: the fastest of the
/// few candidates that a build without a search measures. kUnimplemented for
/// kernels without parameters, others as generateCuda's errors. Not
/// thread-safe for one MLIRContext.
absl::StatusOr<KernelSpace> listCudaSpace(mlir::func::FuncOp kernel,
                                          mlir::ArrayAttr symbols,
                                          const GpuTarget &target);

} // namespace aitune

#endif // AITUNE_COMPILER_SCHEDULE_CUDASPACE_H
