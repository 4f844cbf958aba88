// The schedule of a loop nest on a CPU: which axes enumerate the work units,
// which are loops inside of a unit, and along which axis the vector lanes lie.
//
// There are two kinds of axes: inner axes, along which the result of some
// reduction does not change, and row axes, which are all others. A unit is a
// point of the row axes (a row of a softmax) or, if there are no inner axes, a
// block of the domain (in pointwise kernels, pools, data movement). Where lanes
// read with a stride what lies in order along another axis, as in a transpose,
// a block of that axis is the innermost loop: each cache line is then read
// once, and squares of the operand are loaded in its order and transposed in
// registers.
#ifndef AITUNE_COMPILER_CODEGEN_CPU_LOOPS_LOOPSCHEDULE_H
#define AITUNE_COMPILER_CODEGEN_CPU_LOOPS_LOOPSCHEDULE_H

#include "compiler/codegen/loops/LoopNest.h"

namespace aitune {

/// A loop over units, or over the elements of a unit.
struct UnitLoop : LoopGroup {
  bool isInner = false; ///< whether its axes are inner axes
  /// The number of values of the loop that a unit covers; not set if it covers
  /// all of them.
  std::optional<int64_t> block;
};

struct CpuSchedule {
  /// The loops that enumerate the units, outermost first.
  llvm::SmallVector<UnitLoop> unitLoops;
  /// The loops of a unit, outermost first; blocked groups are here too.
  llvm::SmallVector<UnitLoop> unitInner;
  int64_t lanes = 1; ///< elements along `laneDim` that a vector holds
  std::optional<unsigned> laneDim;
  /// Whether the lanes lie along a row axis: inner loops are then inside of the
  /// loop over lanes.
  bool isColumn = false;
  /// The innermost loop's dim, if scans run along it: its steps are executed in
  /// order, and each continues the sum of the one before.
  std::optional<unsigned> scanDim;
  /// The innermost loop's dim, if an operand lies in order along it that the
  /// lanes read with a stride, and an element takes so few operations that a
  /// step may compute as many values of the dim as there are lanes.
  std::optional<unsigned> tileDim;
  /// The values of the lane dim at which conditions change: expressions of
  /// symbols, numbers among them greater than 0 and less than its size. They
  /// ascend at usual sizes; at others one may be less than the one before it,
  /// or greater than the size.
  llvm::SmallVector<mlir::AffineExpr> splits;
  /// The row statistics to compute before the inner loops, in order: a tensor
  /// and the index of its element.
  llvm::SmallVector<std::pair<mlir::Value, llvm::SmallVector<mlir::AffineExpr>>>
      rowValues;
  mlir::AffineExpr units; ///< the number of units
  double unitCost = 1;    ///< the number of simple operations in a unit
};

/// Decides the schedule of a nest, which groupOutputs made, and opens its axes
/// in `dims`. `maxLanes` is the number of elements that one operation of the
/// kernel's arithmetic covers; `unitWork` is the number of simple operations
/// that a unit should have.
CpuSchedule scheduleForCpu(LoopNest &nest, DimTable &dims, int64_t maxLanes,
                           double unitWork);

} // namespace aitune

#endif // AITUNE_COMPILER_CODEGEN_CPU_LOOPS_LOOPSCHEDULE_H
