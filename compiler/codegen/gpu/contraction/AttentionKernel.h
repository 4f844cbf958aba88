// Generates CUDA text for attention kernels, which never store all scores.
#ifndef AITUNE_COMPILER_CODEGEN_GPU_CONTRACTION_ATTENTIONKERNEL_H
#define AITUNE_COMPILER_CODEGEN_GPU_CONTRACTION_ATTENTIONKERNEL_H

#include "absl/status/statusor.h"
#include "compiler/codegen/gpu/target/GpuTarget.h"
#include "compiler/codegen/gpu/text/GeneratedCandidate.h"
#include "compiler/support/Schedule.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace aitune {

/// Candidates for a kernel around one ait.attention: blocks of queries on
/// tensor cores (f16 and bf16 with depths that are multiples of 8, up to 128 by
/// warps and on Hopper up to 256 by warpgroups), or fp32 arithmetic for the
/// rest. Few queries with many keys are split among the blocks of a cluster.
/// The mask may be computed in the kernel.
/// Errors as generateCuda.
absl::StatusOr<std::vector<GeneratedCandidate>>
generateAttention(mlir::func::FuncOp kernel, mlir::ArrayAttr symbols,
                  const GpuTarget &target);

/// The schedules that the kernel's ait.config may ask for: `query_warps` and
/// `key_warps` of a block, with `splits` of it where blocks share keys, or
/// `warpgroups`, `resident` and `keys` (see AttentionShape). Empty for kernels
/// in fp32 arithmetic. Errors as generateCuda.
absl::StatusOr<std::vector<Schedule>>
listAttentionShapes(mlir::func::FuncOp kernel, mlir::ArrayAttr symbols,
                    const GpuTarget &target);

} // namespace aitune

#endif // AITUNE_COMPILER_CODEGEN_GPU_CONTRACTION_ATTENTIONKERNEL_H
