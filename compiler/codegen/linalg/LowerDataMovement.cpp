// Reads at places that depend on the position or on data: bodies with
// tensor.extract. A read that could be out of range stands inside scf.if, so a
// loop over part of the domain need not evaluate it.
#include "compiler/codegen/linalg/KernelToLinalg.h"
#include "compiler/codegen/linalg/PointwiseToScalar.h"
#include "compiler/dialect/KernelAttributes.h"

using namespace mlir;

namespace aitune {

Value KernelToLinalg::choose(OpBuilder &b, Location location, Value condition,
                             Type type,
                             llvm::function_ref<Value(OpBuilder &)> onTrue,
                             llvm::function_ref<Value(OpBuilder &)> onFalse) {
  if (!condition)
    return onTrue(b);
  auto branch = scf::IfOp::create(b, location, TypeRange{type}, condition,
                                  /*withElseRegion=*/true);
  OpBuilder thenBuilder = branch.getThenBodyBuilder(),
            elseBuilder = branch.getElseBodyBuilder();
  scf::YieldOp::create(thenBuilder, location, onTrue(thenBuilder));
  scf::YieldOp::create(elseBuilder, location, onFalse(elseBuilder));
  return branch.getResult(0);
}

Value KernelToLinalg::inBounds(OpBuilder &b, Location location,
                               ArrayRef<Bound> bounds) {
  Value all;
  auto require = [&](arith::CmpIPredicate predicate, AffineExpr lhs,
                     AffineExpr rhs) {
    Value holds = arith::CmpIOp::create(b, location, predicate,
                                        indexValue(b, location, lhs),
                                        indexValue(b, location, rhs));
    all = all ? Value(arith::AndIOp::create(b, location, all, holds)) : holds;
  };
  for (const Bound &bound : bounds) {
    // The least and the greatest value of the expression, if it is a dim times
    // a positive number plus a constant.
    AffineExpr least = bound.expr, greatest = bound.expr;
    SmallVector<AffineExpr> zeros(domain.size(), constant(0)), last;
    for (AffineExpr size : domain)
      last.push_back(size - 1);
    least = mlir::ait::canonicalizeSize(least.replaceDims(zeros) - bound.lower);
    greatest = mlir::ait::canonicalizeSize(bound.upper - 1 -
                                           greatest.replaceDims(last));
    auto leastMargin = dyn_cast<AffineConstantExpr>(least);
    auto greatestMargin = dyn_cast<AffineConstantExpr>(greatest);
    if (!leastMargin || leastMargin.getValue() < 0)
      require(arith::CmpIPredicate::sge, bound.expr, bound.lower);
    if (!greatestMargin || greatestMargin.getValue() < 0)
      require(arith::CmpIPredicate::slt, bound.expr, bound.upper);
  }
  return all;
}

Value KernelToLinalg::clampIndex(OpBuilder &b, Location location, Value index,
                                 AffineExpr size, NegativeIndex belowZero) {
  if (!index.getType().isInteger(64))
    index = emitConvert(b, location, index, b.getI64Type());
  Value zero = arith::ConstantIntOp::create(b, location, 0, 64);
  Value sizeInteger = arith::IndexCastOp::create(b, location, b.getI64Type(),
                                                 indexValue(b, location, size));
  if (belowZero == NegativeIndex::CountsFromEnd) {
    Value negative = arith::CmpIOp::create(
        b, location, arith::CmpIPredicate::slt, index, zero);
    Value wrapped = arith::AddIOp::create(b, location, index, sizeInteger);
    index = arith::SelectOp::create(b, location, negative, wrapped, index);
  }
  // Limit the index, so that nothing outside of the tensor is read whatever the
  // data is: an ait.check may be silent, and some indices have no check.
  Value one = arith::ConstantIntOp::create(b, location, 1, 64);
  Value last = arith::SubIOp::create(b, location, sizeInteger, one);
  index = arith::MaxSIOp::create(
      b, location, arith::MinSIOp::create(b, location, index, last), zero);
  return arith::IndexCastOp::create(b, location, b.getIndexType(), index);
}

bool KernelToLinalg::isNeverEmpty(AffineExpr size) {
  ArrayAttr symbolRanges =
      mlir::ait::getModuleSymbols(function->getParentOfType<ModuleOp>());
  // Sizes are not negative, so a part that is not known counts as 0.
  auto least = [&](auto &self, AffineExpr expr) -> int64_t {
    if (auto constant = dyn_cast<AffineConstantExpr>(expr))
      return constant.getValue();
    if (auto symbolExpr = dyn_cast<AffineSymbolExpr>(expr)) {
      if (!symbolRanges || symbolExpr.getPosition() >= symbolRanges.size())
        return 0;
      auto min = cast<DictionaryAttr>(symbolRanges[symbolExpr.getPosition()])
                     .getAs<IntegerAttr>("min");
      return min ? min.getInt() : 0;
    }
    auto binary = dyn_cast<AffineBinaryOpExpr>(expr);
    if (!binary)
      return 0;
    int64_t lhs = self(self, binary.getLHS()),
            rhs = self(self, binary.getRHS());
    if (expr.getKind() == AffineExprKind::Add)
      return lhs + rhs;
    // A product is at least 1 if both factors are positive.
    return expr.getKind() == AffineExprKind::Mul && lhs > 0 && rhs > 0 ? 1 : 0;
  };
  return least(least, size) > 0;
}

Value KernelToLinalg::readWithin(OpBuilder &b, Location location, Value tensor,
                                 ArrayRef<Value> indices, AffineExpr size) {
  auto read = [&](OpBuilder &at) -> Value {
    return tensor::ExtractOp::create(at, location, tensor, indices);
  };
  if (isNeverEmpty(size))
    return read(b);
  Type element = cast<RankedTensorType>(tensor.getType()).getElementType();
  Value isThere = arith::CmpIOp::create(
      b, location, arith::CmpIPredicate::sge, indexValue(b, location, size),
      arith::ConstantIndexOp::create(b, location, 1));
  return choose(b, location, isThere, element, read, [&](OpBuilder &at) {
    return emitConstant(at, location, element, 0);
  });
}

namespace {

Value extractAt(OpBuilder &b, Location location, Value tensor,
                ArrayRef<Value> indices) {
  return tensor::ExtractOp::create(b, location, tensor, indices);
}

} // namespace

void KernelToLinalg::lowerConcat(mlir::ait::ConcatOp op) {
  RankedTensorType type = registerTensor(op.getType());
  int64_t axis = op.getDim();
  SmallVector<AffineExpr> ends;
  AffineExpr end = constant(0);
  for (Value input : op.getInputs()) {
    end = end + mlir::ait::getSymbolicSizes(
                    cast<RankedTensorType>(input.getType()))[axis];
    ends.push_back(end);
  }
  define(
      op.getResult(),
      generic(
          op.getLoc(), type, {}, {}, [&](OpBuilder &b, Location l, ValueRange) {
            // Of the inputs from `first` to `last`: the half that has it.
            std::function<Value(OpBuilder &, size_t, size_t)> read =
                [&](OpBuilder &at, size_t first, size_t last) -> Value {
              if (first == last) {
                SmallVector<Value> indices;
                for (int64_t d = 0; d < type.getRank(); ++d)
                  indices.push_back(indexValue(at, l,
                                               d == axis && first > 0
                                                   ? dim(d) - ends[first - 1]
                                                   : dim(d)));
                return extractAt(at, l, lowered(op.getInputs()[first]),
                                 indices);
              }
              const size_t middle = first + (last - first - 1) / 2;
              Value before =
                  arith::CmpIOp::create(at, l, arith::CmpIPredicate::slt,
                                        indexValue(at, l, dim(axis)),
                                        indexValue(at, l, ends[middle]));
              return choose(
                  at, l, before, type.getElementType(),
                  [&, first](OpBuilder &in) { return read(in, first, middle); },
                  [&, last](OpBuilder &in) {
                    return read(in, middle + 1, last);
                  });
            };
            linalg::YieldOp::create(b, l,
                                    read(b, 0, op.getInputs().size() - 1));
          }));
}

void KernelToLinalg::lowerPad(mlir::ait::PadOp op) {
  RankedTensorType type = registerTensor(op.getType());
  auto inputType = cast<RankedTensorType>(op.getInput().getType());
  SmallVector<AffineExpr> sizes = mlir::ait::getSymbolicSizes(inputType);
  define(op.getResult(),
         generic(op.getLoc(), type, {}, {},
                 [&](OpBuilder &b, Location l, ValueRange) {
                   SmallVector<Bound> bounds;
                   SmallVector<AffineExpr> exprs;
                   for (int64_t axis = 0; axis < type.getRank(); ++axis) {
                     exprs.push_back(dim(axis) - op.getLow()[axis]);
                     bounds.push_back({exprs.back(), constant(0), sizes[axis]});
                   }
                   Value inside = inBounds(b, l, bounds);
                   Value result = choose(
                       b, l, inside, type.getElementType(),
                       [&](OpBuilder &at) {
                         SmallVector<Value> indices;
                         for (AffineExpr expr : exprs)
                           indices.push_back(indexValue(at, l, expr));
                         return extractAt(at, l, lowered(op.getInput()),
                                          indices);
                       },
                       [&](OpBuilder &at) {
                         return emitConstant(at, l, type.getElementType(),
                                             op.getValue().convertToDouble());
                       });
                   linalg::YieldOp::create(b, l, result);
                 }));
}

void KernelToLinalg::lowerSliceScatter(mlir::ait::SliceScatterOp op) {
  RankedTensorType type = registerTensor(op.getType());
  SmallVector<AffineExpr> sizes = mlir::ait::getSymbolicSizes(
      cast<RankedTensorType>(op.getSource().getType()));
  define(
      op.getResult(),
      generic(
          op.getLoc(), type, {}, {}, [&](OpBuilder &b, Location l, ValueRange) {
            SmallVector<Bound> bounds;
            SmallVector<AffineExpr> exprs;
            Value onGrid;
            for (int64_t axis = 0; axis < type.getRank(); ++axis) {
              int64_t start = op.getStarts()[axis], step = op.getSteps()[axis];
              AffineExpr offset = dim(axis) - start;
              exprs.push_back(offset.floorDiv(step));
              bounds.push_back({offset, constant(0), sizes[axis] * step});
              if (step == 1)
                continue;
              Value zero = arith::ConstantIndexOp::create(b, l, 0);
              Value hit =
                  arith::CmpIOp::create(b, l, arith::CmpIPredicate::eq,
                                        indexValue(b, l, offset % step), zero);
              onGrid = onGrid ? Value(arith::AndIOp::create(b, l, onGrid, hit))
                              : hit;
            }
            Value inside = inBounds(b, l, bounds);
            if (inside && onGrid)
              inside = arith::AndIOp::create(b, l, inside, onGrid);
            else if (onGrid)
              inside = onGrid;
            auto readInput = [&](OpBuilder &at) {
              SmallVector<Value> indices;
              for (int64_t axis = 0; axis < type.getRank(); ++axis)
                indices.push_back(indexValue(at, l, dim(axis)));
              return extractAt(at, l, lowered(op.getInput()), indices);
            };
            Value result = choose(
                b, l, inside, type.getElementType(),
                [&](OpBuilder &at) {
                  SmallVector<Value> indices;
                  for (AffineExpr expr : exprs)
                    indices.push_back(indexValue(at, l, expr));
                  return extractAt(at, l, lowered(op.getSource()), indices);
                },
                readInput);
            linalg::YieldOp::create(b, l, result);
          }));
}

void KernelToLinalg::lowerEmbedding(mlir::ait::EmbeddingOp op) {
  RankedTensorType type = registerTensor(op.getType());
  auto weightType = cast<RankedTensorType>(op.getWeight().getType());
  AffineExpr rows = mlir::ait::getSymbolicSizes(weightType)[0];
  SmallVector<AffineExpr> leading;
  for (int64_t axis = 0; axis + 1 < type.getRank(); ++axis)
    leading.push_back(dim(axis));
  AffineMap map = AffineMap::get(type.getRank(), 0, leading, type.getContext());
  define(op.getResult(),
         generic(op.getLoc(), type, {lowered(op.getIndices())}, {map},
                 [&](OpBuilder &b, Location l, ValueRange arguments) {
                   Value row = clampIndex(b, l, arguments[0], rows,
                                          NegativeIndex::IsFirst);
                   Value column = indexValue(b, l, dim(type.getRank() - 1));
                   linalg::YieldOp::create(b, l,
                                           readWithin(b, l,
                                                      lowered(op.getWeight()),
                                                      {row, column}, rows));
                 }));
}

void KernelToLinalg::lowerSelection(Operation *op, int64_t selected,
                                    AffineMap map) {
  Value input = op->getOperand(0), indices = op->getOperand(1);
  RankedTensorType type = registerTensor(op->getResult(0).getType());
  AffineExpr size = mlir::ait::getSymbolicSizes(
      cast<RankedTensorType>(input.getType()))[selected];
  define(op->getResult(0),
         generic(op->getLoc(), type, {lowered(indices)}, {map},
                 [&](OpBuilder &b, Location l, ValueRange arguments) {
                   SmallVector<Value> place;
                   for (int64_t axis = 0; axis < type.getRank(); ++axis)
                     place.push_back(
                         axis == selected
                             ? clampIndex(b, l, arguments[0], size,
                                          NegativeIndex::CountsFromEnd)
                             : indexValue(b, l, dim(axis)));
                   linalg::YieldOp::create(
                       b, l, readWithin(b, l, lowered(input), place, size));
                 }));
}

LogicalResult KernelToLinalg::lowerDataMovement(Operation *op) {
  if (auto concat = dyn_cast<mlir::ait::ConcatOp>(op))
    lowerConcat(concat);
  else if (auto pad = dyn_cast<mlir::ait::PadOp>(op))
    lowerPad(pad);
  else if (auto scatter = dyn_cast<mlir::ait::SliceScatterOp>(op))
    lowerSliceScatter(scatter);
  else if (auto embedding = dyn_cast<mlir::ait::EmbeddingOp>(op))
    lowerEmbedding(embedding);
  else if (auto select = dyn_cast<mlir::ait::IndexSelectOp>(op))
    lowerSelection(
        op, select.getDim(),
        AffineMap::get(select.getType().getRank(), 0, dim(select.getDim())));
  else if (auto gather = dyn_cast<mlir::ait::GatherOp>(op))
    lowerSelection(op, gather.getDim(),
                   builder.getMultiDimIdentityMap(gather.getType().getRank()));
  else
    return failure();
  return success();
}

} // namespace aitune
