// How a loop nest runs on a CPU: which axes make the work units, which are
// loops inside a unit, and along which one the vector lanes lie.
//
// The domain's axes are of two classes: inner axes, along which some
// reduction's result does not change, and row axes, all others. A unit is a
// point of the row axes (a row of a softmax), or a block of the domain when
// there are no inner axes (pointwise kernels, pools, data movement).
#ifndef AITUNE_COMPILER_CODEGEN_CPU_LOOPS_LOOPSCHEDULE_H
#define AITUNE_COMPILER_CODEGEN_CPU_LOOPS_LOOPSCHEDULE_H

#include "compiler/codegen/loops/LoopNest.h"

namespace aitune {

/// A loop over units, or over the elements of one.
struct UnitLoop : LoopGroup {
  bool isInner = false; ///< whether its axes are inner axes
  /// How many values of the group a unit covers, if not all of them.
  std::optional<int64_t> block;
};

struct CpuSchedule {
  /// The loops that enumerate the units, outermost first.
  llvm::SmallVector<UnitLoop> unitLoops;
  /// The loops of a unit, outermost first; a blocked group is here too.
  llvm::SmallVector<UnitLoop> unitInner;
  int64_t lanes = 1; ///< elements along `laneDim` that a vector holds
  std::optional<unsigned> laneDim;
  /// The lanes lie along a row axis: inner loops run inside the loop over
  /// lanes.
  bool isColumn = false;
  /// An axis that scans run along and that is the innermost loop: its steps
  /// run in order, each from the last one's sum.
  std::optional<unsigned> scanDim;
  /// Where conditions on the lane dim change; ascending, inside (0, size).
  llvm::SmallVector<int64_t> splits;
  /// Row statistics to compute before the inner loops, in order: a tensor and
  /// the index of its element.
  llvm::SmallVector<std::pair<mlir::Value, llvm::SmallVector<mlir::AffineExpr>>>
      rowValues;
  mlir::AffineExpr units; ///< how many units there are
  double unitCost = 1;    ///< simple operations that a unit takes
};

/// Decides the schedule of a nest from groupOutputs and opens its axes.
/// `maxLanes`: elements of the kernel's arithmetic that one operation covers;
/// `unitWork`: simple operations that a unit should have.
CpuSchedule scheduleForCpu(LoopNest &nest, DimTable &dims, int64_t maxLanes,
                           double unitWork);

} // namespace aitune

#endif // AITUNE_COMPILER_CODEGEN_CPU_LOOPS_LOOPSCHEDULE_H
