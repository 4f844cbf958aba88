#include "compiler/codegen/linalg/PointwiseToScalar.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "compiler/dialect/ElementTypes.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/TypeUtilities.h"

using namespace mlir;

namespace aitune {
namespace {

/// `elementType`, or a vector of it in the shape of `like`.
Type withShapeOf(Type like, Type elementType) {
  if (auto vector = dyn_cast<VectorType>(like))
    return vector.clone(elementType);
  return elementType;
}

/// The integer nearest to `number` in the type's range, so that a bound of a
/// clamp outside of the range stays a bound.
APInt toInteger(double number, unsigned width) {
  if (std::isnan(number))
    return APInt::getZero(width);
  if (width == 1)
    return APInt(1, number != 0);
  APInt lowest = APInt::getSignedMinValue(width),
        greatest = APInt::getSignedMaxValue(width);
  if (number >= greatest.roundToDouble(/*isSigned=*/true)) {
    // ui8's upper half, and patterns such as 255, wrap into signless bits.
    if (width < 64 && number < std::ldexp(1.0, width))
      return APInt(width, static_cast<uint64_t>(number));
    return greatest;
  }
  if (number <= lowest.roundToDouble(/*isSigned=*/true))
    return lowest;
  return APInt(width, static_cast<uint64_t>(static_cast<int64_t>(number)),
               /*isSigned=*/true,
               /*implicitTrunc=*/true);
}

Value convertFloatToFloat(OpBuilder &builder, Location location, Value value,
                          Type to) {
  Type from = getElementTypeOrSelf(value);
  // The two halves meet in f32, and so do f64 and a half, as in PyTorch (and
  // there is no instruction for the direct step).
  if (from != to && ((mlir::ait::isHalf(from) && !to.isF32()) ||
                     (mlir::ait::isHalf(to) && !from.isF32())))
    value = convertFloatToFloat(builder, location, value, builder.getF32Type());
  from = getElementTypeOrSelf(value);
  if (from == to)
    return value;
  Type type = withShapeOf(value.getType(), to);
  if (from.getIntOrFloatBitWidth() < to.getIntOrFloatBitWidth())
    return arith::ExtFOp::create(builder, location, type, value);
  return arith::TruncFOp::create(builder, location, type, value);
}

Value convertIntegerToInteger(OpBuilder &builder, Location location,
                              Value value, unsigned width,
                              bool sourceUnsigned) {
  unsigned from = getElementTypeOrSelf(value).getIntOrFloatBitWidth();
  if (from == width)
    return value;
  Type type = withShapeOf(value.getType(), builder.getIntegerType(width));
  if (from > width)
    return arith::TruncIOp::create(builder, location, type, value);
  if (sourceUnsigned || from == 1)
    return arith::ExtUIOp::create(builder, location, type, value);
  return arith::ExtSIOp::create(builder, location, type, value);
}

} // namespace

Type getRegisterType(Type elementType) {
  if (auto integer = dyn_cast<IntegerType>(elementType))
    return IntegerType::get(elementType.getContext(), integer.getWidth());
  return elementType;
}

Value emitConstant(OpBuilder &builder, Location location, Type type,
                   double number) {
  Type element = getElementTypeOrSelf(type);
  TypedAttr attribute;
  if (auto floating = dyn_cast<FloatType>(element)) {
    APFloat value(number);
    bool losesInformation = false;
    value.convert(floating.getFloatSemantics(), APFloat::rmNearestTiesToEven,
                  &losesInformation);
    attribute = FloatAttr::get(floating, value);
  } else if (element.isIndex()) {
    attribute = builder.getIndexAttr(static_cast<int64_t>(number));
  } else {
    attribute = IntegerAttr::get(
        element, toInteger(number, element.getIntOrFloatBitWidth()));
  }
  if (auto vector = dyn_cast<VectorType>(type))
    attribute = DenseElementsAttr::get(vector, Attribute(attribute));
  return arith::ConstantOp::create(builder, location, attribute);
}

Value emitConvert(OpBuilder &builder, Location location, Value value,
                  Type elementType, bool sourceUnsigned, bool resultUnsigned) {
  Type from = getElementTypeOrSelf(value);
  Type to = getRegisterType(elementType);
  if (from == to)
    return value;
  bool fromFloat = isa<FloatType>(from), toFloat = isa<FloatType>(to);
  if (!(fromFloat || from.isInteger()) || !(toFloat || to.isInteger()))
    return nullptr;

  if (to.isInteger(1)) {
    Value zero = emitConstant(builder, location, value.getType(), 0);
    if (fromFloat)
      return arith::CmpFOp::create(builder, location, arith::CmpFPredicate::UNE,
                                   value, zero);
    return arith::CmpIOp::create(builder, location, arith::CmpIPredicate::ne,
                                 value, zero);
  }
  if (fromFloat && toFloat)
    return convertFloatToFloat(builder, location, value, to);
  if (!fromFloat && !toFloat)
    return convertIntegerToInteger(builder, location, value,
                                   to.getIntOrFloatBitWidth(), sourceUnsigned);

  if (fromFloat) {
    if (mlir::ait::isHalf(from))
      value =
          convertFloatToFloat(builder, location, value, builder.getF32Type());
    // Narrow integers go through i32 so that values out of range wrap as they
    // do in PyTorch; ui8 too, for negative numbers.
    unsigned width = std::max(to.getIntOrFloatBitWidth(), 32u);
    Value wide = arith::FPToSIOp::create(
        builder, location,
        withShapeOf(value.getType(), builder.getIntegerType(width)), value);
    return convertIntegerToInteger(builder, location, wide,
                                   to.getIntOrFloatBitWidth(), false);
  }

  Type direct = mlir::ait::isHalf(to) ? builder.getF32Type() : to;
  Type type = withShapeOf(value.getType(), direct);
  Value converted =
      (sourceUnsigned || from.isInteger(1))
          ? Value(arith::UIToFPOp::create(builder, location, type, value))
          : Value(arith::SIToFPOp::create(builder, location, type, value));
  return convertFloatToFloat(builder, location, converted, to);
}

} // namespace aitune
