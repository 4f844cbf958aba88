// Which values of a row are worth keeping on the stack between the loops over
// the row, instead of computing them again in each: the exponentials of a
// softmax, say, which its sum and its result both need.
#ifndef AITUNE_COMPILER_CODEGEN_CPU_LOOPS_ROWBUFFERS_H
#define AITUNE_COMPILER_CODEGEN_CPU_LOOPS_ROWBUFFERS_H

#include "compiler/codegen/cpu/loops/LoopSchedule.h"

namespace aitune {

struct RowBufferPlan {
  mlir::Value tensor;
  /// The number of the row value (CpuSchedule::rowValues) whose loop computes
  /// it first.
  unsigned filledBy;
  /// Strides of the tensor's axes: dense over the inner axes, times the lanes
  /// in a column nest; 0 for row axes.
  llvm::SmallVector<mlir::AffineExpr> strides;
  int64_t bytes;
};

/// The buffers of a nest, all together at most a part of the second-level
/// cache. `symbolBound(i)`: the greatest value of s`i`, if known; rows without
/// bound are computed again.
llvm::SmallVector<RowBufferPlan, 2> planRowBuffers(
    const LoopNest &nest, const CpuSchedule &schedule, int64_t maxLanes,
    llvm::function_ref<std::optional<int64_t>(unsigned)> symbolBound);

} // namespace aitune

#endif // AITUNE_COMPILER_CODEGEN_CPU_LOOPS_ROWBUFFERS_H
