// How a loop kernel runs on a GPU: what a thread, a group of threads and a
// block compute.
//
// The outputs of a nest share an iteration domain. Without reductions worth
// sharing, a thread computes a pack of neighbouring elements. Otherwise a group
// of threads computes a unit together: a point of the row axes (those that the
// reductions' results depend on), with the group's threads along the reduced
// axes. In a column schedule the reduced axes are strided in memory and the
// last row axis is not: a unit is then a pack of neighbouring points of that
// axis.
#ifndef AITUNE_COMPILER_CODEGEN_GPU_LOOPS_LOOPSCHEDULE_H
#define AITUNE_COMPILER_CODEGEN_GPU_LOOPS_LOOPSCHEDULE_H

#include "compiler/codegen/loops/LoopNest.h"
#include "mlir/IR/BuiltinAttributes.h"

namespace aitune {

enum class GpuScheduleKind { Elementwise, Row, Column };

/// Axes that run as one flat index.
struct FlatAxes {
  llvm::SmallVector<LoopGroup> groups; ///< outermost first
  mlir::AffineExpr size;
};

/// A reduction that a group's threads share.
struct SharedReduction {
  mlir::Value result;
  /// The index of the element of `result`, over the row axes' dims.
  llvm::SmallVector<mlir::AffineExpr> exprs;
  /// The value of each loop of the linalg.generic that computes it.
  llvm::SmallVector<mlir::AffineExpr> loops;
  FlatAxes axes; ///< the reduced axes
  /// The reduction runs along the schedule's inner axes, not axes of its own.
  bool sharesInnerAxes = false;
};

struct GpuSchedule {
  GpuScheduleKind kind = GpuScheduleKind::Elementwise;
  FlatAxes rows;  ///< axes that number the units (all axes, for Elementwise)
  FlatAxes inner; ///< axes of the loop over a unit's elements; may be empty
  std::vector<SharedReduction> reductions; ///< in the order of evaluation
  int64_t lanes = 1;                       ///< elements of a pack
  /// The dim that packs lie along; unset in a row schedule, where each loop
  /// over a row has packs along its own last dim.
  std::optional<unsigned> laneDim;
  int64_t groupThreads = 1;  ///< threads that share a unit
  int64_t groupsInBlock = 1; ///< groups of threads in a block
  /// Steps of a thread's loop over the inner axes, if their number is constant.
  std::optional<int64_t> chunks;

  int64_t threads() const { return groupThreads * groupsInBlock; }
};

/// Decides the schedule of a nest from groupOutputs and opens its axes.
GpuSchedule scheduleForGpu(LoopNest &nest, DimTable &dims,
                           mlir::ArrayAttr symbols, int64_t multiprocessors);

} // namespace aitune

#endif // AITUNE_COMPILER_CODEGEN_GPU_LOOPS_LOOPSCHEDULE_H
