// An outlined kernel on its way to an implementation.
#ifndef AITUNE_COMPILER_PIPELINES_KERNEL_H
#define AITUNE_COMPILER_PIPELINES_KERNEL_H

#include <optional>
#include <string>
#include <vector>

#include "compiler/dialect/Ait.h"
#include "compiler/pipelines/KernelCompiler.h"
#include "compiler/pipelines/KernelImplementation.h"
#include "compiler/pipelines/LibraryCalls.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace aitune {

/// A kernel function and the ways found to run it.
struct Kernel {
  mlir::func::FuncOp function;
  llvm::SmallVector<mlir::ait::LaunchOp> launches;
  std::optional<LibraryMatch> library;
  std::string generatedFailure, libraryFailure;
  std::vector<KernelImplementation> candidates;
};

/// `function` as the text of a module of its own, with the ranges of the
/// symbols that its sizes are made of.
std::string moduleText(mlir::func::FuncOp function, mlir::ArrayAttr symbols);

/// The implementation that is one launch of the code compiled from `function`.
KernelImplementation generatedImplementation(mlir::func::FuncOp function,
                                             const CompiledKernel &compiled);

} // namespace aitune

#endif // AITUNE_COMPILER_PIPELINES_KERNEL_H
