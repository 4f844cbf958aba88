#include "compiler/codegen/contraction/ContractionAnalysis.h"

#include "compiler/dialect/KernelAttributes.h"
#include "llvm/ADT/STLExtras.h"

#include <algorithm>

using namespace mlir;

namespace aitune {
namespace {

/// The leading axes of a matmul that the right side steps through.
unsigned countBatchAxes(ait::MatmulOp op,
                        const std::optional<OperandAccess> &rhs) {
  const unsigned leading = op.getRhs().getType().getRank() - 2;
  if (rhs && isBroadcast(rhs->layout.collapse(0, leading)))
    return 0;
  return leading == 0 ? 0 : op.getType().getRank() - 2;
}

/// Sets the sizes of the product.
void setSizes(ContractionAnalysis &analysis) {
  const ait::ProductSizes sizes = analysis.op.getProductSizes();
  analysis.batch = sizes.batch;
  analysis.m = sizes.m;
  analysis.n = sizes.n;
  analysis.k = sizes.k;
  auto matmul = dyn_cast<ait::MatmulOp>(analysis.op.getOperation());
  if (matmul && countBatchAxes(matmul, analysis.operands[1]) == 0) {
    analysis.m = ait::canonicalizeSize(sizes.batch * sizes.m);
    analysis.batch = getAffineConstantExpr(1, matmul.getContext());
  }
}

AffineMap makeMap(ArrayRef<AffineExpr> exprs, MLIRContext *context) {
  unsigned symbols = 0;
  for (AffineExpr expr : exprs)
    expr.walk([&](AffineExpr part) {
      if (auto symbol = dyn_cast<AffineSymbolExpr>(part))
        symbols = std::max(symbols, symbol.getPosition() + 1);
    });
  return AffineMap::get(0, symbols, exprs, context);
}

ait::OperandViewAttr toAttribute(const OperandAccess &access) {
  MLIRContext *context = access.storedType.getContext();
  SmallVector<AffineMap> axes;
  for (const LayoutAxis &axis : access.layout.axes) {
    SmallVector<AffineExpr> modes;
    for (const LayoutMode &mode : axis)
      modes.append({mode.size, mode.stride});
    axes.push_back(makeMap(modes, context));
  }
  return ait::OperandViewAttr::get(context, access.argument, access.storedType,
                                   makeMap(access.layout.offset, context),
                                   axes);
}

OperandAccess toAccess(ait::OperandViewAttr view) {
  OperandAccess access{
      static_cast<unsigned>(view.getArgument()),
      {ait::canonicalizeSize(view.getOffset().getResult(0)), {}},
      view.getElementType()};
  for (AffineMap axis : view.getAxes()) {
    SmallVector<LayoutMode> modes;
    for (unsigned i = 0; i < axis.getNumResults(); i += 2)
      modes.push_back({ait::canonicalizeSize(axis.getResult(i)),
                       ait::canonicalizeSize(axis.getResult(i + 1))});
    access.layout.axes.push_back(coalesce(modes));
  }
  return access;
}

/// What `attribute`, set on `kernel`, says of `op`. Fails if it was made for
/// another function.
FailureOr<ContractionAnalysis> fromAttribute(ait::ContractionAttr attribute,
                                             func::FuncOp kernel,
                                             ait::Contraction op,
                                             std::string &reason) {
  ContractionAnalysis analysis;
  analysis.op = op;
  ArrayRef<AffineExpr> sizes = attribute.getSizes().getResults();
  analysis.batch = ait::canonicalizeSize(sizes[0]);
  analysis.m = ait::canonicalizeSize(sizes[1]);
  analysis.n = ait::canonicalizeSize(sizes[2]);
  analysis.k = ait::canonicalizeSize(sizes[3]);
  bool fits = attribute.getOperands().size() == op->getNumOperands();
  for (auto [operand, value] :
       llvm::zip(attribute.getOperands(), op->getOperands())) {
    auto view = dyn_cast<ait::OperandViewAttr>(operand);
    fits &= !view || (view.getArgument() < kernel.getNumArguments() &&
                      static_cast<int64_t>(view.getAxes().size()) ==
                          cast<RankedTensorType>(value.getType()).getRank());
    analysis.operands.push_back(view ? std::optional(toAccess(view))
                                     : std::nullopt);
    analysis.reasons.push_back(
        view ? "" : cast<StringAttr>(operand).getValue().str());
  }
  if (!fits) {
    reason = "ait.contraction is not of the kernel's operands";
    return failure();
  }
  return analysis;
}

} // namespace

ait::Contraction findContraction(func::FuncOp kernel, std::string &reason) {
  ait::Contraction found;
  for (auto op : kernel.getOps<ait::Contraction>()) {
    if (found) {
      reason = "the kernel has more than one contraction";
      return {};
    }
    found = op;
  }
  if (!found)
    reason = "the kernel has no contraction";
  return found;
}

FailureOr<ContractionAnalysis> analyzeContraction(func::FuncOp kernel,
                                                  std::string &reason) {
  ContractionAnalysis analysis;
  analysis.op = findContraction(kernel, reason);
  if (!analysis.op)
    return failure();
  for (Value operand : analysis.op->getOperands()) {
    FailureOr<OperandAccess> access =
        getOperandAccess(operand, analysis.reasons.emplace_back());
    analysis.operands.push_back(succeeded(access) ? std::optional(*access)
                                                  : std::nullopt);
  }
  setSizes(analysis);
  return analysis;
}

FailureOr<ContractionAnalysis> getContraction(func::FuncOp kernel,
                                              std::string &reason) {
  ait::ContractionAttr attribute = ait::getContractionAnalysis(kernel);
  if (!attribute)
    return analyzeContraction(kernel, reason);
  ait::Contraction op = findContraction(kernel, reason);
  if (!op)
    return failure();
  return fromAttribute(attribute, kernel, op, reason);
}

FailureOr<MatmulAccess> getMatmulAccess(const ContractionAnalysis &analysis,
                                        std::string &reason) {
  for (auto [operand, why] :
       llvm::zip_equal(analysis.operands, analysis.reasons))
    if (!operand) {
      reason = why;
      return failure();
    }
  auto op = cast<ait::MatmulOp>(static_cast<Operation *>(analysis.op));
  MatmulAccess access;
  access.lhs = *analysis.operands[0];
  access.rhs = *analysis.operands[1];
  Layout left = access.lhs.layout, right = access.rhs.layout;
  const unsigned rank = left.axes.size(), rightRank = right.axes.size();
  if (op.getTransposeLhs())
    std::swap(left.axes[rank - 2], left.axes[rank - 1]);
  if (op.getTransposeRhs())
    std::swap(right.axes[rightRank - 2], right.axes[rightRank - 1]);
  const unsigned batchAxes = countBatchAxes(op, analysis.operands[1]);
  access.lhsBatch = left.collapse(0, batchAxes);
  access.lhsRows = left.collapse(batchAxes, rank - 1);
  access.lhsSteps = left.axes[rank - 1];
  // What is repeated for each batch is one matrix for all rows.
  if (batchAxes > 0)
    access.rhsBatch = right.collapse(0, rightRank - 2);
  access.rhsSteps = right.axes[rightRank - 2];
  access.rhsColumns = right.axes[rightRank - 1];
  return access;
}

ait::ContractionAttr toAttribute(const ContractionAnalysis &analysis) {
  MLIRContext *context = analysis.batch.getContext();
  SmallVector<Attribute> operands;
  for (auto [operand, why] :
       llvm::zip_equal(analysis.operands, analysis.reasons))
    operands.push_back(operand ? Attribute(toAttribute(*operand))
                               : StringAttr::get(context, why));
  return ait::ContractionAttr::get(
      context,
      makeMap({analysis.batch, analysis.m, analysis.n, analysis.k}, context),
      ArrayAttr::get(context, operands));
}

} // namespace aitune
