// The sizes of a contraction's product, and where in the kernel's arguments the
// elements of its operands lie.
//
// This follows views (permute, slice, expand, reshape) for the code generators
// of all devices. ait-analyze-contractions writes the result on the kernel as
// ait.contraction. A generator reads it by getContraction and decides for which
// of these operands it has code.
//
// Fusion decides before that, in fusion/KernelGraph.h, which views of the graph
// are worth reading in place. That is also a question of cost (pieces shorter
// than a sector of a cache, other readers), so it takes a subset of the views
// that this analysis can follow.
#ifndef AITUNE_COMPILER_CODEGEN_CONTRACTION_CONTRACTIONANALYSIS_H
#define AITUNE_COMPILER_CODEGEN_CONTRACTION_CONTRACTIONANALYSIS_H

#include <optional>
#include <string>

#include "compiler/codegen/contraction/OperandLayout.h"
#include "compiler/dialect/Ait.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace aitune {

/// result[b, m, n] = sum over k of lhs[b, m, k] * rhs[b, k, n]; all sizes over
/// the module's symbols.
struct ContractionAnalysis {
  mlir::ait::Contraction op;
  /// The sizes of the product, as Contraction::getProductSizes gives them; but
  /// where the right side of a matmul stays where it is in memory from batch to
  /// batch, these are rows (m) and there is one batch.
  mlir::AffineExpr batch, m, n, k;
  /// The place of each operand of `op` in an argument, with the operand's own
  /// axes; not set if the kernel computes the operand.
  llvm::SmallVector<std::optional<OperandAccess>> operands;
  /// For each operand, why `operands` has no place of it; empty if it has one.
  llvm::SmallVector<std::string> reasons;
};

/// The places of a matmul's operands by the axes of the product, so that it
/// does not matter which side is transposed.
struct MatmulAccess {
  OperandAccess lhs, rhs;
  LayoutAxis lhsBatch, lhsRows, lhsSteps;
  LayoutAxis rhsBatch, rhsSteps, rhsColumns;
};

/// The operation of `kernel` that is a contraction. Null, with `reason`, if
/// there is none or more than one.
mlir::ait::Contraction findContraction(mlir::func::FuncOp kernel,
                                       std::string &reason);

/// The analysis of findContraction's operation. Fails with its `reason`.
mlir::FailureOr<ContractionAnalysis>
analyzeContraction(mlir::func::FuncOp kernel, std::string &reason);

/// The result of ait-analyze-contractions, read from ait.contraction; that of
/// analyzeContraction for a kernel without the attribute, such as one whose
/// schedules are listed. Fails, and sets `reason`, as analyzeContraction, and
/// if ait.contraction does not fit the contraction's operands.
mlir::FailureOr<ContractionAnalysis> getContraction(mlir::func::FuncOp kernel,
                                                    std::string &reason);

/// The places of the operands of `analysis`, whose contraction is a matmul.
/// Fails, and sets `reason`, if the kernel computes one of them.
mlir::FailureOr<MatmulAccess>
getMatmulAccess(const ContractionAnalysis &analysis, std::string &reason);

/// `analysis` as the attribute ait.contraction.
mlir::ait::ContractionAttr toAttribute(const ContractionAnalysis &analysis);

} // namespace aitune

#endif // AITUNE_COMPILER_CODEGEN_CONTRACTION_CONTRACTIONANALYSIS_H
