// The schedule of a loop kernel on a GPU: what one thread, a group of threads
// and a block compute.
//
// The outputs of a nest share an iteration domain. If no reduction is large
// enough to be shared by threads, each thread computes a pack of neighbouring
// elements. Otherwise a group of threads computes a unit together. The row axes
// are those that the reductions' results depend on; a unit is a point of the
// row axes, and the group's threads are distributed along the reduced axes. In
// a column schedule the reduced axes are strided in memory and the last row
// axis is contiguous: a unit is then a pack of neighbouring points of that
// axis.
#ifndef AITUNE_COMPILER_CODEGEN_GPU_LOOPS_LOOPSCHEDULE_H
#define AITUNE_COMPILER_CODEGEN_GPU_LOOPS_LOOPSCHEDULE_H

#include "compiler/codegen/loops/LoopNest.h"
#include "mlir/IR/BuiltinAttributes.h"

namespace aitune {

enum class GpuScheduleKind { Elementwise, Row, Column };

/// Axes that are enumerated by one flat index.
struct FlatAxes {
  llvm::SmallVector<LoopGroup> groups; ///< groups of axes, outermost first
  mlir::AffineExpr size;               ///< the product of the axes' sizes
};

/// A reduction whose elements the threads of a group share.
struct SharedReduction {
  mlir::Value result; ///< the tensor that the reduction computes
  /// The index of an element of `result`, as expressions of the row axes' dims.
  llvm::SmallVector<mlir::AffineExpr> exprs;
  /// The value of each loop of the linalg.generic that computes `result`.
  llvm::SmallVector<mlir::AffineExpr> loops;
  FlatAxes axes; ///< the reduced axes
  /// Whether the reduction runs along the schedule's inner axes; otherwise it
  /// has axes of its own.
  bool sharesInnerAxes = false;
};

struct GpuSchedule {
  GpuScheduleKind kind = GpuScheduleKind::Elementwise;
  FlatAxes rows;  ///< the axes that number the units; all axes for Elementwise
  FlatAxes inner; ///< the axes of the loop over a unit's elements; may be empty
  /// Shared reductions in the order of evaluation.
  std::vector<SharedReduction> reductions;
  int64_t lanes = 1; ///< number of elements of a pack
  /// The dim along which packs lie. Not set in a row schedule, where each loop
  /// over a row has packs along its own last dim.
  std::optional<unsigned> laneDim;
  int64_t groupThreads = 1;  ///< number of threads that share a unit
  int64_t groupsInBlock = 1; ///< number of groups of threads in a block
  /// The number of steps of a thread's loop over the inner axes, if it is
  /// constant.
  std::optional<int64_t> chunks;

  int64_t threads() const { return groupThreads * groupsInBlock; }
};

/// Decides the schedule of a nest, which groupOutputs made, and opens its axes
/// in `dims`. `symbols` is the module's ait.symbols; `multiprocessors` is the
/// number of the GPU's multiprocessors.
GpuSchedule scheduleForGpu(LoopNest &nest, DimTable &dims,
                           mlir::ArrayAttr symbols, int64_t multiprocessors);

} // namespace aitune

#endif // AITUNE_COMPILER_CODEGEN_GPU_LOOPS_LOOPSCHEDULE_H
