// Generates CUDA text for convolution kernels with their epilogues.
#ifndef AITUNE_COMPILER_CODEGEN_GPU_CONTRACTION_CONVOLUTIONKERNEL_H
#define AITUNE_COMPILER_CODEGEN_GPU_CONTRACTION_CONVOLUTIONKERNEL_H

#include "absl/status/statusor.h"
#include "compiler/codegen/gpu/target/GpuTarget.h"
#include "compiler/codegen/gpu/text/GeneratedCandidate.h"
#include "compiler/support/Schedule.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace aitune {

/// Candidates for a kernel around one ait.convolution: the product of windows
/// and filters in tiles (channels-last, one group, whole chunks of channels,
/// constant filters), and plain loops, which also serve depthwise and grouped
/// convolutions. Errors as generateCuda.
absl::StatusOr<std::vector<GeneratedCandidate>>
generateConvolution(mlir::func::FuncOp kernel, mlir::ArrayAttr symbols,
                    const GpuTarget &target);

/// The schedules that the kernel's ait.config may name: tiles, and plain loops.
/// Empty for kernels that tiles do not support. Errors as generateCuda.
absl::StatusOr<std::vector<Schedule>>
listConvolutionTiles(mlir::func::FuncOp kernel, mlir::ArrayAttr symbols,
                     const GpuTarget &target);

} // namespace aitune

#endif // AITUNE_COMPILER_CODEGEN_GPU_CONTRACTION_CONVOLUTIONKERNEL_H
