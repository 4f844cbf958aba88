// The loops that a kernel's outputs share, before a device decides how they run
// (CPU: cpu/loops/LoopSchedule.h, GPU: gpu/loops/LoopSchedule.h).
#ifndef AITUNE_COMPILER_CODEGEN_LOOPS_LOOPNEST_H
#define AITUNE_COMPILER_CODEGEN_LOOPS_LOOPNEST_H

#include <vector>

#include "compiler/codegen/loops/LoopAnalysis.h"

namespace aitune {

/// A result of the kernel, seen through reshapes: memory is dense either way.
struct KernelOutput {
  mlir::Value value;
  unsigned number; ///< of the kernel's result
};

/// Neighbouring axes that run as one loop.
struct LoopGroup {
  /// The axes' dims, outermost first. The last one takes the loop's value and
  /// the others are 0: addresses come out the same.
  llvm::SmallVector<unsigned> dims;
  mlir::AffineExpr size; ///< the product of the axes' sizes

  void add(unsigned dim, const DimTable &table);
};

/// Appends an axis to the loops `groups`, into the last one if `canMerge` says
/// that its last dim and `dim` may be one loop.
void appendAxis(
    llvm::SmallVectorImpl<LoopGroup> &groups, unsigned dim,
    const DimTable &dims,
    llvm::function_ref<bool(unsigned outer, unsigned inner)> canMerge);

/// The outputs of one iteration domain, the sizes of the widest one.
struct LoopNest {
  llvm::SmallVector<KernelOutput> outputs;
  llvm::SmallVector<mlir::AffineExpr> sizes; ///< of the domain
  /// A dim for each axis, 0 where the size is 1; empty before openAxes.
  llvm::SmallVector<mlir::AffineExpr> index;

  /// Fills in `index` with new dims. Returns them, outermost first.
  llvm::SmallVector<unsigned> openAxes(DimTable &dims);
  /// Whether the expressions are of the domain's dims alone; after openAxes.
  bool isOfDomain(llvm::ArrayRef<mlir::AffineExpr> exprs) const;
  /// Follows all outputs, and notes their own addresses as accesses.
  void visit(LoopAnalysis &analysis) const;
  /// The index of an output's own axes: 0 where it has size 1.
  llvm::SmallVector<mlir::AffineExpr> indexOf(const KernelOutput &output) const;
  /// Whether the output changes along every axis of the domain.
  bool isFull(const KernelOutput &output) const;
};

/// The results of a kernel's function grouped by domain, in order of their
/// first output.
std::vector<LoopNest> groupOutputs(mlir::Operation *terminator);

} // namespace aitune

#endif // AITUNE_COMPILER_CODEGEN_LOOPS_LOOPNEST_H
