// Index arithmetic of PointEmitter.
#include "compiler/codegen/cpu/loops/PointEmitter.h"

#include "compiler/dialect/Ait.h"

using namespace mlir;

namespace aitune {

Value PointEmitter::materialize(AffineExpr expr) {
  return isLaneVarying(expr) ? materializeLanes(expr)
                             : materializeUniform(expr);
}

Value PointEmitter::divide(Value lhs, Value rhs, Division wanted,
                           bool mayBeNegative) {
  const bool wantsRemainder = wanted == Division::Remainder;
  if (!mayBeNegative)
    return wantsRemainder ? b.createOrFold<arith::RemUIOp>(location, lhs, rhs)
                          : b.createOrFold<arith::DivUIOp>(location, lhs, rhs);
  // Rounded down, as affine expressions are.
  Value rest = arith::RemSIOp::create(b, location, lhs, rhs);
  Value zero =
      arith::ConstantOp::create(b, location, b.getZeroAttr(rest.getType()));
  Value below =
      arith::CmpIOp::create(b, location, arith::CmpIPredicate::slt, rest, zero);
  Value remainder = arith::SelectOp::create(
      b, location, below, arith::AddIOp::create(b, location, rest, rhs), rest);
  if (wantsRemainder)
    return remainder;
  return arith::DivSIOp::create(
      b, location, arith::SubIOp::create(b, location, lhs, remainder), rhs);
}

Value PointEmitter::division(AffineBinaryOpExpr expr, Value lhs, Value rhs,
                             int64_t lanes) {
  const bool isSigned = mayBeNegative(expr.getLHS());
  if (expr.getKind() == AffineExprKind::Mod)
    return divide(lhs, rhs, Division::Remainder, isSigned);
  if (expr.getKind() == AffineExprKind::CeilDiv)
    lhs = arith::SubIOp::create(b, location,
                                arith::AddIOp::create(b, location, lhs, rhs),
                                broadcast(i64(1), lanes));
  return divide(lhs, rhs, Division::Quotient, isSigned);
}

Value PointEmitter::materializeUniform(AffineExpr expr) {
  if (auto constant = dyn_cast<AffineConstantExpr>(expr))
    return i64(constant.getValue());
  if (auto dim = dyn_cast<AffineDimExpr>(expr)) {
    const Value *value = binding(dim.getPosition());
    assert(value && !isa<VectorType>(value->getType()) &&
           "a dim without a loop");
    return *value;
  }
  if (auto symbol = dyn_cast<AffineSymbolExpr>(expr))
    return symbolValue(symbol.getPosition());
  auto binary = cast<AffineBinaryOpExpr>(expr);
  Value lhs = materializeUniform(binary.getLHS());
  if (expr.getKind() == AffineExprKind::Mul && binary.getRHS() == -1)
    return arith::SubIOp::create(b, location, i64(0), lhs);
  Value rhs = materializeUniform(binary.getRHS());
  switch (expr.getKind()) {
  case AffineExprKind::Add:
    return b.createOrFold<arith::AddIOp>(location, lhs, rhs);
  case AffineExprKind::Mul:
    return b.createOrFold<arith::MulIOp>(location, lhs, rhs);
  default:
    return division(binary, lhs, rhs, /*lanes=*/1);
  }
}

Value PointEmitter::materializeLanes(AffineExpr expr) {
  EmissionScope *scope = laneScope();
  int64_t lanes = scope->lanes;
  unsigned laneDim = *scope->laneDim;
  if (!isLaneVarying(expr))
    return broadcast(materializeUniform(expr), lanes);
  if (auto dim = dyn_cast<AffineDimExpr>(expr)) {
    Value value = *binding(dim.getPosition());
    if (dim.getPosition() != laneDim)
      return value;
    SmallVector<int64_t> numbers;
    for (int64_t i = 0; i < lanes; ++i)
      numbers.push_back(i);
    auto type = VectorType::get({lanes}, b.getI64Type());
    Value iota = arith::ConstantOp::create(
        b, location, DenseElementsAttr::get(type, ArrayRef<int64_t>(numbers)));
    return arith::AddIOp::create(b, location, broadcast(value, lanes), iota);
  }
  auto binary = cast<AffineBinaryOpExpr>(expr);
  Value lhs = materializeLanes(binary.getLHS()),
        rhs = materializeLanes(binary.getRHS());
  switch (expr.getKind()) {
  case AffineExprKind::Add:
    return arith::AddIOp::create(b, location, lhs, rhs);
  case AffineExprKind::Mul:
    return arith::MulIOp::create(b, location, lhs, rhs);
  default:
    return division(binary, lhs, rhs, lanes);
  }
}

} // namespace aitune
