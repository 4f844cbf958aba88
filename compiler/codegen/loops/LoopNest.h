// How a loop kernel is run: which axes make the work units, which are loops
// inside a unit, and along which one the vector lanes lie.
//
// The outputs of a kernel share an iteration domain (the sizes of the widest
// one). Its axes are of two classes: inner axes, along which some reduction's
// result does not change, and row axes, all others. A unit is a point of the
// row axes (a row of a softmax), or a block of the domain when there are no
// inner axes (pointwise kernels, pools, data movement).
#ifndef AITUNE_COMPILER_CODEGEN_LOOPS_LOOPNEST_H
#define AITUNE_COMPILER_CODEGEN_LOOPS_LOOPNEST_H

#include <vector>

#include "compiler/codegen/loops/LoopAnalysis.h"

namespace aitune {

/// A result of the kernel, seen through reshapes: memory is dense either way.
struct KernelOutput {
  mlir::Value value;
  unsigned number;
};

/// Neighbouring axes of the domain that run as one loop.
struct LoopGroup {
  llvm::SmallVector<unsigned> dims; ///< outermost first; addresses use the last
  mlir::AffineExpr size;
  bool isInner = false;
  /// Set when a unit covers so many values of the group only.
  std::optional<int64_t> block;
};

/// One loop nest: outputs with one domain.
struct LoopNest {
  llvm::SmallVector<KernelOutput> outputs;
  llvm::SmallVector<mlir::AffineExpr> sizes; ///< of the domain
  llvm::SmallVector<mlir::AffineExpr>
      index; ///< a dim for each axis, 0 where the size is 1
  llvm::SmallVector<LoopGroup>
      unitLoops; ///< enumerate the units, outermost first
  llvm::SmallVector<LoopGroup>
      unitInner; ///< loops of a unit, outermost first; a blocked group is here
  int64_t lanes = 1; ///< along `laneDim`
  std::optional<unsigned> laneDim;
  /// The lanes lie along a row axis: inner loops run inside the loop over
  /// lanes.
  bool isColumn = false;
  /// An axis that scans run along and that is the innermost loop: its steps
  /// run in order, each from the last one's sum.
  std::optional<unsigned> scanDim;
  /// Where conditions on the lane dim change; ascending, inside (0, size).
  llvm::SmallVector<int64_t> splits;
  /// Row statistics to compute before the inner loops, in order.
  llvm::SmallVector<std::pair<mlir::Value, llvm::SmallVector<mlir::AffineExpr>>>
      rowValues;
  mlir::AffineExpr units;
  double unitCost = 1; ///< simple operations a unit

  /// The index of an output's own axes: 0 where it has size 1.
  llvm::SmallVector<mlir::AffineExpr> indexOf(const KernelOutput &output) const;
  /// Whether the output changes along every inner axis.
  bool isFull(const KernelOutput &output) const;
};

/// Outputs grouped by domain, in order of their first output.
std::vector<LoopNest> groupOutputs(llvm::ArrayRef<KernelOutput> outputs);

/// Fills in the schedule of a nest. `maxLanes`: elements of the kernel's
/// arithmetic that one operation covers; `unitWork`: simple operations that a
/// unit should have.
void scheduleNest(LoopNest &nest, DimTable &dims, int64_t maxLanes,
                  double unitWork);

} // namespace aitune

#endif // AITUNE_COMPILER_CODEGEN_LOOPS_LOOPNEST_H
