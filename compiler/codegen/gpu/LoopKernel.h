// CUDA text for loop kernels: pointwise operations, reductions, normalisations,
// softmax, data movement, gathers, pools, scans.
#ifndef AITUNE_COMPILER_CODEGEN_GPU_LOOPKERNEL_H
#define AITUNE_COMPILER_CODEGEN_GPU_LOOPKERNEL_H

#include "compiler/codegen/gpu/Generate.h"

namespace aitune {

/// The one candidate for a kernel in the form ait-lower-to-linalg leaves: a
/// step for each iteration domain among its outputs. Errors as generateCuda.
absl::StatusOr<GeneratedCandidate> generateLoopKernel(mlir::func::FuncOp kernel,
                                                      mlir::ArrayAttr symbols,
                                                      const GpuTarget &target);

} // namespace aitune

#endif // AITUNE_COMPILER_CODEGEN_GPU_LOOPKERNEL_H
