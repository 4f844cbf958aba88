// Chooses the values of a row that are kept on the stack between the loops over
// the row instead of being computed again in each loop: for example the
// exponentials of a softmax, which both its sum and its result need.
#ifndef AITUNE_COMPILER_CODEGEN_CPU_LOOPS_ROWBUFFERS_H
#define AITUNE_COMPILER_CODEGEN_CPU_LOOPS_ROWBUFFERS_H

#include "compiler/codegen/cpu/loops/LoopSchedule.h"

namespace aitune {

struct RowBufferPlan {
  mlir::Value tensor; ///< the tensor whose elements are kept
  /// The number of the row value (CpuSchedule::rowValues) whose loop computes
  /// it first.
  unsigned filledBy;
  /// Strides of the tensor's axes: dense over the inner axes, times the lanes
  /// in a column nest; 0 for row axes.
  llvm::SmallVector<mlir::AffineExpr> strides;
  int64_t bytes; ///< bytes of the buffer
};

/// The buffers of a nest, which together take at most a part of the L2 cache.
/// `symbols` are those of getModuleSymbols; rows without an upper bound of
/// their length are not kept.
llvm::SmallVector<RowBufferPlan, 2> planRowBuffers(const LoopNest &nest,
                                                   const CpuSchedule &schedule,
                                                   int64_t maxLanes,
                                                   mlir::ArrayAttr symbols);

} // namespace aitune

#endif // AITUNE_COMPILER_CODEGEN_CPU_LOOPS_ROWBUFFERS_H
