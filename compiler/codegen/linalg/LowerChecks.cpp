// ait.check: limits that hold whatever the data is, and the report of data
// that breaks them.
#include "compiler/codegen/linalg/KernelToLinalg.h"
#include "compiler/codegen/linalg/PointwiseToScalar.h"

using namespace mlir;

namespace aitune {

Value KernelToLinalg::report(OpBuilder &b, mlir::ait::CheckOp op, Value value,
                             Value failed, Value shown) {
  if (op.getSilent())
    return value;
  return mlir::ait::ReportOp::create(b, op.getLoc(), value, failed, shown,
                                     b.getI64IntegerAttr(checks.size()));
}

LogicalResult KernelToLinalg::lowerCheck(Operation *operation) {
  auto op = dyn_cast<mlir::ait::CheckOp>(operation);
  if (!op)
    return failure();
  RankedTensorType type = registerTensor(op.getType());
  bool isUnsigned = op.getType().getElementType().isUnsignedInteger();
  AffineMap map = builder.getMultiDimIdentityMap(type.getRank());
  auto body = [&](OpBuilder &b, Location l, ValueRange arguments) {
    Value input = arguments[0];
    auto compare = [&](arith::CmpIPredicate predicate, Value lhs, Value rhs) {
      return arith::CmpIOp::create(b, l, predicate, lhs, rhs);
    };
    if (!op.getSize()) {
      Value zero = emitConstant(b, l, input.getType(), 0),
            one = emitConstant(b, l, input.getType(), 1);
      Value isZero = compare(arith::CmpIPredicate::eq, input, zero);
      Value shown = arith::ConstantIntOp::create(b, l, 0, 64);
      Value divisor = report(b, op, input, isZero, shown);
      linalg::YieldOp::create(
          b, l, Value(arith::SelectOp::create(b, l, isZero, one, divisor)));
      return;
    }
    Value shown = emitConvert(b, l, input, b.getI64Type(), isUnsigned);
    AffineExpr entries = op.getSize()->getResult(0);
    Value size = arith::IndexCastOp::create(b, l, b.getI64Type(),
                                            indexValue(b, l, entries));
    Value index = shown;
    if (op.getFromEnd()) {
      Value zero = arith::ConstantIntOp::create(b, l, 0, 64);
      Value fromEnd = arith::AddIOp::create(b, l, index, size);
      index = arith::SelectOp::create(
          b, l, compare(arith::CmpIPredicate::slt, index, zero), fromEnd,
          index);
    }
    // Negative ones are the largest unsigned numbers.
    Value failed = compare(arith::CmpIPredicate::uge, index, size);
    index = report(b, op, index, failed, shown);
    index = clampIndex(b, l, index, entries, NegativeIndex::IsFirst);
    index = arith::IndexCastOp::create(b, l, b.getI64Type(), index);
    linalg::YieldOp::create(b, l,
                            emitConvert(b, l, index, type.getElementType()));
  };
  define(op.getResult(),
         generic(op.getLoc(), type, {lowered(op.getInput())}, {map}, body));
  if (op.getSilent())
    return success();
  NamedAttrList described;
  described.set("operator", op.getOperatorNameAttr());
  described.set("number", op.getNumber() ? op.getNumberAttr()
                                         : builder.getI64IntegerAttr(0));
  if (AffineMapAttr size = op.getSizeAttr())
    described.set("size", size);
  if (op.getFromEnd())
    described.set("from_end", builder.getUnitAttr());
  checks.push_back(described.getDictionary(builder.getContext()));
  return success();
}

} // namespace aitune
