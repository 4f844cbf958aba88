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
  /// Candidates that are not to be taken, as labelOf names them.
  std::vector<std::string> leftOut;
  /// The error of the first candidate that failed; OK if none did.
  absl::Status failure;
  /// The places at which it is worth trying to cut the kernel in two (listCuts
  /// of CutKernel.h).
  std::vector<int> cuts;
  /// The two parts for each place at which it was cut.
  std::vector<CutKernel> parts;
  /// The place of the parts that were chosen; 0: the kernel was not cut. (No
  /// part can begin at operation 0.)
  int chosenCut = 0;
  /// If a search chose the schedule in ait.config: the default schedule, which
  /// is compiled too, so that a build without a search can be compared.
  /// Otherwise empty.
  std::string defaultConfig;
};

/// The name of a candidate in reports and in Kernel::leftOut.
std::string labelOf(const KernelImplementation &candidate);

/// The text of a module that contains `function` alone, with the ranges of the
/// symbols on which its sizes depend.
std::string moduleText(mlir::func::FuncOp function, mlir::ArrayAttr symbols);

/// A digest of the kernel's structure, without its name and schedule.
std::string digestOf(mlir::func::FuncOp kernel, mlir::ArrayAttr symbols);

/// The bytes that a launch must read and write: the sum of estimateBytes of its
/// operands and results.
double countBytes(mlir::func::FuncOp kernel);

/// The upper bound of each symbol's range, in the order of ait.symbols (which
/// may be null).
std::vector<int64_t> largestSizes(mlir::ArrayAttr symbols);

/// The sizes at which kernels are measured: those of the call that a model is
/// compiled for, or else the largest.
std::vector<int64_t> measuredSizes(mlir::ArrayAttr symbols);

/// The floating-point operations of a launch (countFlops) at measuredSizes.
int64_t evaluateFlops(mlir::func::FuncOp kernel, mlir::ArrayAttr symbols);

/// Appends the steps, temporaries and objects of `part`, an implementation of a
/// part of a kernel that has `kernelOperands` inputs and results together.
/// Operand i of the part is operand operands[i] of `whole`.
void appendSteps(const KernelImplementation &part, llvm::ArrayRef<int> operands,
                 int kernelOperands, KernelImplementation &whole);

} // namespace aitune

#endif // AITUNE_COMPILER_CANDIDATES_KERNEL_H
