// An outlined kernel on its way to an implementation.
#ifndef AITUNE_COMPILER_CANDIDATES_KERNEL_H
#define AITUNE_COMPILER_CANDIDATES_KERNEL_H

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "compiler/candidates/CutKernel.h"
#include "compiler/dialect/Ait.h"
#include "compiler/plan/KernelImplementation.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace aitune {

/// A kernel function and the ways found to run it.
struct Kernel {
  mlir::func::FuncOp function;
  llvm::SmallVector<mlir::ait::LaunchOp> launches;
  std::vector<KernelImplementation> candidates;
  /// Why the first of its ways to run failed; OK if none did.
  absl::Status failure;
  /// Places where it is worth trying to cut it in two (CutKernel.h), the parts
  /// that came of it, and the place of those that were chosen, if any.
  std::vector<int> cuts;
  std::vector<CutKernel> parts;
  int chosenCut = 0;
  /// The config of the schedule taken without a search, where a search chose
  /// another: what a build would be without it is compiled beside it.
  std::string defaultConfig;
};

/// `function` as the text of a module of its own, with the ranges of the
/// symbols that its sizes are made of.
std::string moduleText(mlir::func::FuncOp function, mlir::ArrayAttr symbols);

/// Bytes that a launch must read and write: its operands and results
/// (estimateBytes of each).
double countBytes(mlir::func::FuncOp kernel);

/// The top of each symbol's range, in the order of ait.symbols (may be null).
std::vector<int64_t> largestSizes(mlir::ArrayAttr symbols);

/// FLOPs of a launch, dynamic sizes at the top of their ranges.
int64_t evaluateFlops(mlir::func::FuncOp kernel, mlir::ArrayAttr symbols);

/// Appends the steps, temporaries and objects of `part`, an implementation of a
/// part of a kernel that has `kernelOperands` inputs and results together.
/// Operand i of the part is operand operands[i] of `whole`.
void appendSteps(const KernelImplementation &part, llvm::ArrayRef<int> operands,
                 int kernelOperands, KernelImplementation &whole);

} // namespace aitune

#endif // AITUNE_COMPILER_CANDIDATES_KERNEL_H
