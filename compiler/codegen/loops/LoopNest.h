// The loops that a kernel's outputs share, before the schedule of a device says
// how they run (CPU: cpu/loops/LoopSchedule.h, GPU: gpu/loops/LoopSchedule.h).
#ifndef AITUNE_COMPILER_CODEGEN_LOOPS_LOOPNEST_H
#define AITUNE_COMPILER_CODEGEN_LOOPS_LOOPNEST_H

#include <vector>

#include "compiler/codegen/loops/LoopAnalysis.h"

namespace aitune {

/// A result of the kernel.
struct KernelOutput {
  /// The tensor before any reshapes; their result has the same memory.
  mlir::Value value;
  unsigned number; ///< the number of the kernel's result
};

/// Neighbouring axes that run as one loop.
struct LoopGroup {
  /// The axes' dims, outermost first. In the loop, the last dim has the loop's
  /// value and the others are 0, which gives the same addresses.
  llvm::SmallVector<unsigned> dims;
  mlir::AffineExpr size; ///< the product of the axes' sizes

  void add(unsigned dim, const DimTable &table);
};

/// Appends the axis `dim` to the loops `groups`: to the last group if
/// `canMerge` returns true for its last dim and `dim`, otherwise as a new
/// group.
void appendAxis(
    llvm::SmallVectorImpl<LoopGroup> &groups, unsigned dim,
    const DimTable &dims,
    llvm::function_ref<bool(unsigned outer, unsigned inner)> canMerge);

/// The outputs that are computed in one iteration domain.
struct LoopNest {
  llvm::SmallVector<KernelOutput> outputs;
  /// The sizes of the domain, which are those of the largest output.
  llvm::SmallVector<mlir::AffineExpr> sizes;
  /// The dim of each axis; 0 for an axis of size 1. Empty before openAxes.
  llvm::SmallVector<mlir::AffineExpr> index;

  /// Sets `index` to new dims. Returns them, outermost first.
  llvm::SmallVector<unsigned> openAxes(DimTable &dims);
  /// Whether the expressions use only dims of the domain. openAxes must come
  /// before, as for the functions below.
  bool isOfDomain(llvm::ArrayRef<mlir::AffineExpr> exprs) const;
  /// Analyses all outputs, and adds the writes of their elements as accesses.
  void visit(LoopAnalysis &analysis) const;
  /// The index of an element of `output`: that of the domain, with 0 for axes
  /// along which the output has size 1.
  llvm::SmallVector<mlir::AffineExpr> indexOf(const KernelOutput &output) const;
  /// Whether the output changes along every axis of the domain.
  bool isFull(const KernelOutput &output) const;
};

/// The results of a kernel's function, which `terminator` returns, grouped by
/// domain, in the order of the first output of each group. An axis that may be
/// empty belongs to the domains of outputs that change along it alone.
std::vector<LoopNest> groupOutputs(mlir::Operation *terminator);

} // namespace aitune

#endif // AITUNE_COMPILER_CODEGEN_LOOPS_LOOPNEST_H
