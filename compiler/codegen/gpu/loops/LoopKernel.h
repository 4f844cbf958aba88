// Generates CUDA text for loop kernels: pointwise operations, reductions,
// normalisations, softmax, data movement, gathers, pools, scans.
#ifndef AITUNE_COMPILER_CODEGEN_GPU_LOOPS_LOOPKERNEL_H
#define AITUNE_COMPILER_CODEGEN_GPU_LOOPS_LOOPKERNEL_H

#include "absl/status/statusor.h"
#include "compiler/codegen/gpu/target/GpuTarget.h"
#include "compiler/codegen/gpu/text/GeneratedCandidate.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace aitune {

/// The only candidate for a kernel in the form that ait-lower-to-linalg leaves.
/// It has one step for each iteration domain of the kernel's outputs. Errors as
/// generateCuda.
absl::StatusOr<GeneratedCandidate> generateLoopKernel(mlir::func::FuncOp kernel,
                                                      mlir::ArrayAttr symbols,
                                                      const GpuTarget &target);

} // namespace aitune

#endif // AITUNE_COMPILER_CODEGEN_GPU_LOOPS_LOOPKERNEL_H
