// Constants and views: indexing maps, mostly.
#include "compiler/codegen/linalg/KernelToLinalg.h"
#include "compiler/codegen/linalg/PointwiseToScalar.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace aitune {
namespace {

/// Axes of two shapes of equal element count, cut into the shortest runs of
/// equal product.
struct ReshapeRun {
  SmallVector<int64_t, 2> sourceAxes, resultAxes;
};

SmallVector<ReshapeRun> cutIntoRuns(ArrayRef<AffineExpr> source,
                                    ArrayRef<AffineExpr> result) {
  SmallVector<ReshapeRun> runs;
  size_t i = 0, j = 0;
  while (i < source.size() || j < result.size()) {
    ReshapeRun run;
    AffineExpr left = nullptr, right = nullptr;
    auto takeSource = [&] {
      left = left ? left * source[i] : source[i];
      run.sourceAxes.push_back(i++);
    };
    auto takeResult = [&] {
      right = right ? right * result[j] : result[j];
      run.resultAxes.push_back(j++);
    };
    if (i < source.size())
      takeSource();
    if (j < result.size())
      takeResult();
    while (left != right && (i < source.size() || j < result.size())) {
      auto leftConstant = dyn_cast_or_null<AffineConstantExpr>(left);
      auto rightConstant = dyn_cast_or_null<AffineConstantExpr>(right);
      bool leftSmaller =
          leftConstant && rightConstant
              ? leftConstant.getValue() < rightConstant.getValue()
              : (leftConstant && !rightConstant) || (left && left == 1);
      if ((leftSmaller && i < source.size()) || j >= result.size())
        takeSource();
      else
        takeResult();
    }
    runs.push_back(run);
  }
  // Axes of size 1 at the end belong to the last run that has both sides.
  while (runs.size() > 1 &&
         (runs.back().sourceAxes.empty() || runs.back().resultAxes.empty())) {
    ReshapeRun last = runs.pop_back_val();
    runs.back().sourceAxes.append(last.sourceAxes);
    runs.back().resultAxes.append(last.resultAxes);
  }
  return runs;
}

} // namespace

void KernelToLinalg::lowerFull(mlir::ait::FullOp op) {
  define(op.getResult(), filled(op.getLoc(), registerTensor(op.getType()),
                                matchFull(op.getResult(), op.getLoc())));
}

void KernelToLinalg::lowerIota(mlir::ait::IotaOp op) {
  RankedTensorType type = registerTensor(op.getType());
  Type element = type.getElementType();
  double start = op.getStart().convertToDouble(),
         step = op.getStep().convertToDouble();
  define(op.getResult(),
         generic(op.getLoc(), type, {}, {},
                 [&](OpBuilder &b, Location l, ValueRange) {
                   // In i64 or f64, as PyTorch does, then rounded.
                   Type wide = isa<FloatType>(element) ? Type(b.getF64Type())
                                                       : b.getI64Type();
                   Value index = arith::IndexCastOp::create(
                       b, l, b.getI64Type(),
                       linalg::IndexOp::create(b, l, op.getDim()));
                   Value i = emitConvert(b, l, index, wide);
                   Value first = emitConstant(b, l, wide, start),
                         stride = emitConstant(b, l, wide, step);
                   Value value;
                   if (isa<FloatType>(wide))
                     value = arith::AddFOp::create(
                         b, l, first, arith::MulFOp::create(b, l, i, stride));
                   else
                     value = arith::AddIOp::create(
                         b, l, first, arith::MulIOp::create(b, l, i, stride));
                   linalg::YieldOp::create(b, l,
                                           emitConvert(b, l, value, element));
                 }));
}

void KernelToLinalg::lowerReshape(mlir::ait::ReshapeOp op) {
  RankedTensorType from = registerTensor(op.getInput().getType()),
                   to = registerTensor(op.getType());
  SmallVector<AffineExpr> source = mlir::ait::getSymbolicSizes(from),
                          result = mlir::ait::getSymbolicSizes(to);
  Location location = op.getLoc();
  Value value = lowered(op.getInput());
  // Every run collapses to one axis, which is then expanded.
  SmallVector<AffineExpr> flat;
  SmallVector<ReassociationIndices> collapse, expand;
  for (const ReshapeRun &run : cutIntoRuns(source, result)) {
    collapse.emplace_back(run.sourceAxes.begin(), run.sourceAxes.end());
    expand.emplace_back(run.resultAxes.begin(), run.resultAxes.end());
    AffineExpr product = constant(1);
    for (int64_t axis : run.sourceAxes)
      product = product * source[axis];
    flat.push_back(product);
  }
  // A tensor of one element may lose all its axes, or gain its first.
  if (source.empty() || result.empty()) {
    collapse.clear();
    expand.clear();
    flat.clear();
  }
  RankedTensorType middle =
      mlir::ait::getTensorType(flat, from.getElementType());
  if (middle.getRank() != from.getRank())
    value = tensor::CollapseShapeOp::create(builder, location, middle, value,
                                            collapse);
  if (middle.getRank() != to.getRank()) {
    SmallVector<OpFoldResult> sizes;
    for (AffineExpr size : result) {
      if (auto number = dyn_cast<AffineConstantExpr>(size))
        sizes.push_back(builder.getIndexAttr(number.getValue()));
      else
        sizes.push_back(sizeValue(size));
    }
    value = tensor::ExpandShapeOp::create(builder, location, to, value, expand,
                                          sizes);
  }
  define(op.getResult(), value);
}

LogicalResult KernelToLinalg::lowerSource(Operation *op) {
  if (auto full = dyn_cast<mlir::ait::FullOp>(op))
    lowerFull(full);
  else if (auto iota = dyn_cast<mlir::ait::IotaOp>(op))
    lowerIota(iota);
  else
    return failure();
  return success();
}

LogicalResult KernelToLinalg::lowerView(Operation *op) {
  if (auto reshape = dyn_cast<mlir::ait::ReshapeOp>(op)) {
    lowerReshape(reshape);
    return success();
  }
  auto view = dyn_cast<mlir::ait::LinearView>(op);
  if (!view)
    return failure();
  RankedTensorType type = registerTensor(op->getResult(0).getType());
  SmallVector<AffineExpr> index;
  for (int64_t axis = 0; axis < type.getRank(); ++axis)
    index.push_back(dim(axis));
  define(op->getResult(0),
         readAt(op->getLoc(), type, lowered(op->getOperand(0)),
                view.getSourceIndex(index)));
  return success();
}

} // namespace aitune
