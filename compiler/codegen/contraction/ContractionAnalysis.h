// How the contraction of a kernel sees its operands: the sizes of the product,
// and where in the kernel's arguments the elements of each operand lie.
//
// The one reading of views (permute, slice, expand, reshape) that generators
// for all devices share. ait-analyze-contractions writes it on the kernel as
// ait.contraction; a generator asks getContraction and decides what of it it
// has code for.
//
// fusion/KernelGraph decides on views itself, before there is a kernel: it asks
// which views of the graph are worth reading in place, a question of cost
// (pieces shorter than a sector of a cache, other readers) beside that of what
// can be read, and takes a subset of the views that this analysis can follow.
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
  /// - Of a matmul: leading axes that the right side steps through are batches,
  ///   the others are rows.
  /// - Of a convolution: one batch for each group; m is the result's pixels of
  ///   all images, n the channels of a group's result, k the taps times the
  ///   channels of a group's input.
  /// - Of an attention: one batch for each head of each sequence; m queries, n
  ///   keys, k the depth of a query: its first product.
  mlir::AffineExpr batch, m, n, k;
  /// For each operand of `op`, with the operand's own axes: what it is of an
  /// argument; none if the kernel computes it.
  llvm::SmallVector<std::optional<OperandAccess>> operands;
  /// For each operand: why it has no access.
  llvm::SmallVector<std::string> reasons;
};

/// A matmul's operands by the product's axes, whatever is transposed.
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

/// What ait-analyze-contractions found; analyzeContraction for a kernel that it
/// did not run on, as one whose schedules are listed. Fails, with `reason`, as
/// that does, and if ait.contraction is of other operands.
mlir::FailureOr<ContractionAnalysis> getContraction(mlir::func::FuncOp kernel,
                                                    std::string &reason);

/// The operands of `analysis`, whose contraction is a matmul. Fails, with
/// `reason`, if the kernel computes one of them.
mlir::FailureOr<MatmulAccess>
getMatmulAccess(const ContractionAnalysis &analysis, std::string &reason);

/// The form that is written on kernels.
mlir::ait::ContractionAttr toAttribute(const ContractionAnalysis &analysis);

} // namespace aitune

#endif // AITUNE_COMPILER_CODEGEN_CONTRACTION_CONTRACTIONANALYSIS_H
