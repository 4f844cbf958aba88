// Generates CUDA text for matmul kernels with their epilogues.
#ifndef AITUNE_COMPILER_CODEGEN_GPU_CONTRACTION_MATMULKERNEL_H
#define AITUNE_COMPILER_CODEGEN_GPU_CONTRACTION_MATMULKERNEL_H

#include "absl/status/statusor.h"
#include "compiler/codegen/gpu/target/GpuTarget.h"
#include "compiler/codegen/gpu/text/GeneratedCandidate.h"
#include "compiler/support/Schedule.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace aitune {

/// Candidates for a kernel around one ait.matmul: tiles on tensor cores (f16,
/// bf16, tf32 if allowed) or in fp32, and loops with one reduction for each
/// element of the result (for few rows, and for forms that tiles do not
/// support). Errors as generateCuda.
absl::StatusOr<std::vector<GeneratedCandidate>>
generateMatmul(mlir::func::FuncOp kernel, mlir::ArrayAttr symbols,
               const GpuTarget &target);

/// The schedules that the kernel's ait.config may name: tiles, and loops. Empty
/// for kernels that tiles do not support. Errors as generateCuda.
absl::StatusOr<std::vector<Schedule>> listMatmulTiles(mlir::func::FuncOp kernel,
                                                      mlir::ArrayAttr symbols,
                                                      const GpuTarget &target);

} // namespace aitune

#endif // AITUNE_COMPILER_CODEGEN_GPU_CONTRACTION_MATMULKERNEL_H
