// An outlined kernel on its way to an implementation.
#ifndef AITUNE_COMPILER_CANDIDATES_KERNEL_H
#define AITUNE_COMPILER_CANDIDATES_KERNEL_H

#include <optional>
#include <string>
#include <vector>

#include "compiler/candidates/CutKernel.h"
#include "compiler/candidates/KernelCompiler.h"
#include "compiler/candidates/LibraryCalls.h"
#include "compiler/dialect/Ait.h"
#include "compiler/plan/KernelImplementation.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace aitune {

/// A kernel function and the ways found to run it.
struct Kernel {
  mlir::func::FuncOp function;
  llvm::SmallVector<mlir::ait::LaunchOp> launches;
  std::optional<LibraryMatch> library;
  std::string generatedFailure, libraryFailure;
  std::vector<KernelImplementation> candidates;
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

/// The implementation that is one launch of the code compiled from `function`.
KernelImplementation generatedImplementation(mlir::func::FuncOp function,
                                             const CompiledKernel &compiled);

/// The implementation of a kernel that is one launch of the code compiled from
/// each of its parts.
KernelImplementation cutImplementation(CutKernel &parts,
                                       const CompiledKernel &first,
                                       const CompiledKernel &second);

} // namespace aitune

#endif // AITUNE_COMPILER_CANDIDATES_KERNEL_H
