// Matmul kernels: a kernel function of kind matmul becomes an ABI function.
#ifndef AITUNE_COMPILER_CODEGEN_CPU_CONTRACTION_MATMUL_H
#define AITUNE_COMPILER_CODEGEN_CPU_CONTRACTION_MATMUL_H

#include <optional>
#include <string>

#include "compiler/codegen/contraction/ContractionAnalysis.h"
#include "compiler/codegen/cpu/contraction/MatmulSchedule.h"
#include "compiler/codegen/cpu/contraction/MicrokernelEpilogue.h"
#include "compiler/dialect/KernelAttributes.h"

namespace aitune {

/// A contraction as the emitter sees it. Rows, steps (the contracted axis) and
/// columns are the axes of the product; leading axes are part of the rows
/// unless the right side has them too.
struct MatmulProblem : MatmulAccess {
  mlir::Value result; ///< the contraction's result, in the kernel's body
  mlir::AffineExpr batch, m, n, k;
  /// How the constant right side is packed at load; none: it is read as it is.
  std::optional<mlir::ait::PackedLayout> packing;
  /// Whether the constant that is packed is [N, K] instead of [K, N].
  bool packingTransposed = false;
  MatmulShape shape;
};

/// Analyses `kernel`, a function of kind matmul: it must contain exactly one
/// ait.matmul, whose operands are arguments or views of arguments. A right side
/// whose argument has the attribute ait.constant is packed. Fails and sets
/// `reason` otherwise.
mlir::FailureOr<MatmulProblem> analyzeMatmul(mlir::func::FuncOp kernel,
                                             const Target &target,
                                             std::string &reason);

/// Changes the microkernel from Bf16Pairs or ByteQuads to AmxTiles if the CPU
/// has AMX for these factors and the sizes fill its tiles: a number of steps
/// that is a multiple of getAmxSteps, and more than a few rows.
void useAmxWhereItFits(MatmulProblem &problem, const Target &target);

/// Replaces `kernel` by the ABI function that computes `problem` and the
/// operations after it. Fails, sets `reason` and leaves the kernel unchanged if
/// the schedule is not legal or no code can be generated for an operation after
/// the matmul.
mlir::LogicalResult emitMatmul(mlir::func::FuncOp kernel,
                               const MatmulProblem &problem,
                               const MatmulSchedule &schedule,
                               const Target &target, std::string &reason);

/// analyzeMatmul and emitMatmul with the schedule of ait.config.
mlir::LogicalResult lowerMatmul(mlir::func::FuncOp kernel, const Target &target,
                                std::string &reason);

} // namespace aitune

#endif // AITUNE_COMPILER_CODEGEN_CPU_CONTRACTION_MATMUL_H
