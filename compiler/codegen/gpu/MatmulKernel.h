// CUDA text for matmul kernels with their epilogues.
#ifndef AITUNE_COMPILER_CODEGEN_GPU_MATMULKERNEL_H
#define AITUNE_COMPILER_CODEGEN_GPU_MATMULKERNEL_H

#include "compiler/codegen/gpu/Generate.h"

namespace aitune {

/// Candidates for a kernel around one ait.matmul: tiles on tensor cores (f16,
/// bf16, tf32 if allowed) or in fp32, and a reduction a result (the way for few
/// rows, and for forms that tiles do not take). Errors as generateCuda.
absl::StatusOr<std::vector<GeneratedCandidate>>
generateMatmul(mlir::func::FuncOp kernel, mlir::ArrayAttr symbols,
               const GpuTarget &target);

} // namespace aitune

#endif // AITUNE_COMPILER_CODEGEN_GPU_MATMULKERNEL_H
