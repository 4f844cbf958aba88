#include "compiler/codegen/linalg/ScalarBuilder.h"

#include "compiler/codegen/linalg/PointwiseToScalar.h"
#include "mlir/IR/TypeUtilities.h"

using namespace mlir;

namespace aitune {

bool ScalarBuilder::isFloat(Value value) {
  return isa<FloatType>(getElementTypeOrSelf(value));
}
bool ScalarBuilder::isBool(Value value) {
  return getElementTypeOrSelf(value).isInteger(1);
}

Value ScalarBuilder::like(Value value, double number) {
  return emitConstant(builder, location, value.getType(), number);
}

Value ScalarBuilder::likeBits(Value value, uint64_t bits) {
  Type element = getElementTypeOrSelf(value);
  TypedAttr attribute = IntegerAttr::get(
      element, APInt(element.getIntOrFloatBitWidth(), bits, false, true));
  if (auto vector = dyn_cast<VectorType>(value.getType()))
    attribute = DenseElementsAttr::get(vector, Attribute(attribute));
  return arith::ConstantOp::create(builder, location, attribute);
}

Value ScalarBuilder::add(Value lhs, Value rhs) {
  if (isFloat(lhs))
    return binary<arith::AddFOp>(lhs, rhs);
  if (isBool(lhs))
    return binary<arith::OrIOp>(lhs, rhs);
  return binary<arith::AddIOp>(lhs, rhs);
}

Value ScalarBuilder::sub(Value lhs, Value rhs) {
  if (isFloat(lhs))
    return binary<arith::SubFOp>(lhs, rhs);
  return isBool(lhs) ? Value() : binary<arith::SubIOp>(lhs, rhs);
}

Value ScalarBuilder::mul(Value lhs, Value rhs) {
  if (isFloat(lhs))
    return binary<arith::MulFOp>(lhs, rhs);
  if (isBool(lhs))
    return binary<arith::AndIOp>(lhs, rhs);
  return binary<arith::MulIOp>(lhs, rhs);
}

Value ScalarBuilder::integerQuotient(Value lhs, Value rhs, bool wantRemainder) {
  Value zero = like(rhs, 0), one = like(rhs, 1);
  Value isZero = compare(Relation::Equal, rhs, zero);
  if (isUnsigned) {
    Value safe = select(isZero, one, rhs);
    return wantRemainder ? binary<arith::RemUIOp>(lhs, safe)
                         : binary<arith::DivUIOp>(lhs, safe);
  }
  // Division by -1 is done by negation: the least integer / -1 traps too.
  Value isMinusOne = compare(Relation::Equal, rhs, like(rhs, -1));
  Value safe = select(binary<arith::OrIOp>(isZero, isMinusOne), one, rhs);
  if (wantRemainder)
    return binary<arith::RemSIOp>(lhs, safe);
  return select(isMinusOne, binary<arith::SubIOp>(zero, lhs),
                binary<arith::DivSIOp>(lhs, safe));
}

Value ScalarBuilder::div(Value lhs, Value rhs) {
  if (isFloat(lhs))
    return binary<arith::DivFOp>(lhs, rhs);
  return isBool(lhs) ? Value()
                     : integerQuotient(lhs, rhs, /*wantRemainder=*/false);
}

Value ScalarBuilder::truncatingRemainder(Value lhs, Value rhs) {
  if (isFloat(lhs))
    return binary<arith::RemFOp>(lhs, rhs);
  return isBool(lhs) ? Value()
                     : integerQuotient(lhs, rhs, /*wantRemainder=*/true);
}

Value ScalarBuilder::remainder(Value lhs, Value rhs) {
  Value rest = truncatingRemainder(lhs, rhs);
  if (!rest || isUnsigned)
    return rest;
  Value zero = like(lhs, 0);
  Value nonZero = compare(Relation::NotEqual, rest, zero);
  Value signsDiffer = binary<arith::XOrIOp>(compare(Relation::Less, rest, zero),
                                            compare(Relation::Less, rhs, zero));
  return select(binary<arith::AndIOp>(nonZero, signsDiffer), add(rest, rhs),
                rest);
}

Value ScalarBuilder::floorDivide(Value lhs, Value rhs) {
  if (isBool(lhs))
    return Value();
  Value zero = like(lhs, 0);
  if (!isFloat(lhs)) {
    Value quotient = div(lhs, rhs);
    if (isUnsigned)
      return quotient;
    Value inexact =
        compare(Relation::NotEqual, truncatingRemainder(lhs, rhs), zero);
    Value negative = binary<arith::XOrIOp>(compare(Relation::Less, lhs, zero),
                                           compare(Relation::Less, rhs, zero));
    return select(binary<arith::AndIOp>(inexact, negative),
                  sub(quotient, like(lhs, 1)), quotient);
  }
  // (lhs - fmod(lhs, rhs)) / rhs is a whole number up to rounding; rounding it
  // to the nearest is exact where floor(lhs / rhs) would be one too great.
  Value rest = truncatingRemainder(lhs, rhs);
  Value inexact = compare(Relation::NotEqual, rest, zero);
  Value negative = binary<arith::XOrIOp>(compare(Relation::Less, rest, zero),
                                         compare(Relation::Less, rhs, zero));
  Value ratio = div(sub(lhs, rest), rhs);
  ratio = select(binary<arith::AndIOp>(inexact, negative),
                 sub(ratio, like(lhs, 1)), ratio);
  Value rounded = unary<math::FloorOp>(ratio);
  Value tooLow =
      compare(Relation::Greater, sub(ratio, rounded), like(lhs, 0.5));
  rounded = select(tooLow, add(rounded, like(lhs, 1)), rounded);
  Value plain = div(lhs, rhs);
  rounded = select(compare(Relation::Equal, ratio, zero),
                   binary<math::CopySignOp>(zero, plain), rounded);
  return select(compare(Relation::Equal, rhs, zero), plain, rounded);
}

Value ScalarBuilder::maximum(Value lhs, Value rhs) {
  if (isFloat(lhs))
    return binary<arith::MaximumFOp>(lhs, rhs);
  if (isUnsigned || isBool(lhs))
    return binary<arith::MaxUIOp>(lhs, rhs);
  return binary<arith::MaxSIOp>(lhs, rhs);
}

Value ScalarBuilder::minimum(Value lhs, Value rhs) {
  if (isFloat(lhs))
    return binary<arith::MinimumFOp>(lhs, rhs);
  if (isUnsigned || isBool(lhs))
    return binary<arith::MinUIOp>(lhs, rhs);
  return binary<arith::MinSIOp>(lhs, rhs);
}

Value ScalarBuilder::absolute(Value value) {
  if (isFloat(value))
    return unary<math::AbsFOp>(value);
  return isUnsigned || isBool(value) ? value : unary<math::AbsIOp>(value);
}

Value ScalarBuilder::negate(Value value) {
  if (isFloat(value))
    return unary<arith::NegFOp>(value);
  return isBool(value) ? Value() : binary<arith::SubIOp>(like(value, 0), value);
}

Value ScalarBuilder::sigmoid(Value value) {
  Value one = like(value, 1);
  return div(one, add(one, unary<math::ExpOp>(negate(value))));
}

Value ScalarBuilder::compare(Relation relation, Value lhs, Value rhs) {
  static const arith::CmpFPredicate floats[] = {
      arith::CmpFPredicate::OEQ, arith::CmpFPredicate::UNE,
      arith::CmpFPredicate::OLT, arith::CmpFPredicate::OLE,
      arith::CmpFPredicate::OGT, arith::CmpFPredicate::OGE};
  static const arith::CmpIPredicate signedIntegers[] = {
      arith::CmpIPredicate::eq,  arith::CmpIPredicate::ne,
      arith::CmpIPredicate::slt, arith::CmpIPredicate::sle,
      arith::CmpIPredicate::sgt, arith::CmpIPredicate::sge};
  static const arith::CmpIPredicate unsignedIntegers[] = {
      arith::CmpIPredicate::eq,  arith::CmpIPredicate::ne,
      arith::CmpIPredicate::ult, arith::CmpIPredicate::ule,
      arith::CmpIPredicate::ugt, arith::CmpIPredicate::uge};
  int i = static_cast<int>(relation);
  if (isFloat(lhs))
    return arith::CmpFOp::create(builder, location, floats[i], lhs, rhs);
  bool asUnsigned = isUnsigned || isBool(lhs);
  return arith::CmpIOp::create(
      builder, location, asUnsigned ? unsignedIntegers[i] : signedIntegers[i],
      lhs, rhs);
}

Value ScalarBuilder::select(Value condition, Value onTrue, Value onFalse) {
  return arith::SelectOp::create(builder, location, condition, onTrue, onFalse);
}

} // namespace aitune
