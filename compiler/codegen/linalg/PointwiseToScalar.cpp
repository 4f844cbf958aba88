#include "compiler/codegen/linalg/PointwiseToScalar.h"

#include <limits>
#include <optional>

#include "compiler/codegen/linalg/ScalarBuilder.h"
#include "compiler/dialect/Ait.h"
#include "compiler/dialect/ElementTypes.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/TypeUtilities.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace aitune {
namespace {

/// The number in every lane of a constant.
std::optional<double> matchConstant(Value value) {
  Attribute attribute;
  if (!matchPattern(value, m_Constant(&attribute))) {
    // A scalar constant that was broadcast to a vector.
    Operation *definition = value.getDefiningOp();
    if (!definition ||
        definition->getName().getStringRef() != "vector.broadcast" ||
        !matchPattern(definition->getOperand(0), m_Constant(&attribute)))
      return std::nullopt;
  }
  if (auto splat = dyn_cast<SplatElementsAttr>(attribute))
    attribute = splat.getSplatValue<Attribute>();
  if (auto number = dyn_cast<FloatAttr>(attribute))
    return number.getValueAsDouble();
  if (auto number = dyn_cast<IntegerAttr>(attribute))
    return static_cast<double>(number.getInt());
  return std::nullopt;
}

Value emitGelu(ScalarBuilder &s, Value x, bool tanhApproximation) {
  Value half = s.mul(x, s.like(x, 0.5));
  Value inner;
  if (tanhApproximation) {
    Value cube = s.mul(s.mul(x, x), x);
    Value argument = s.mul(s.add(x, s.mul(cube, s.like(x, 0.044715))),
                           s.like(x, 0.7978845608028654));
    inner = s.unary<math::TanhOp>(argument);
  } else {
    inner = s.unary<math::ErfOp>(s.mul(x, s.like(x, 0.7071067811865476)));
  }
  return s.mul(half, s.add(inner, s.like(x, 1)));
}

/// log(1 + exp(x * beta)) / beta, and x itself above the threshold.
Value emitSoftplus(ScalarBuilder &s, Value x, double beta, double threshold) {
  Value scaled = s.mul(x, s.like(x, beta));
  Value soft = s.div(s.unary<math::Log1pOp>(s.unary<math::ExpOp>(scaled)),
                     s.like(x, beta));
  return s.select(s.compare(Relation::Greater, scaled, s.like(x, threshold)), x,
                  soft);
}

/// min(max(x + 3, 0), 6)
Value emitHardRamp(ScalarBuilder &s, Value x) {
  return s.minimum(s.maximum(s.add(x, s.like(x, 3)), s.like(x, 0)),
                   s.like(x, 6));
}

/// base ^ exponent by squaring, modulo the width as PyTorch's integers; a
/// negative exponent gives 0 unless the base is 1 or -1.
Value emitIntegerPow(ScalarBuilder &s, Value base, Value exponent) {
  unsigned width = getElementTypeOrSelf(base).getIntOrFloatBitWidth();
  Value one = s.like(base, 1), zero = s.like(base, 0),
        minusOne = s.like(base, -1);
  Value result = one, power = base;
  unsigned bits = s.isUnsigned ? width : width - 1;
  if (std::optional<double> constant = matchConstant(exponent);
      constant && *constant >= 0) {
    bits = 0;
    while (bits < width &&
           *constant >= static_cast<double>(uint64_t(1) << bits))
      ++bits;
  }
  for (unsigned bit = 0; bit < bits; ++bit) {
    Value mask = s.integer<arith::AndIOp>(exponent,
                                          s.likeBits(base, uint64_t(1) << bit));
    result = s.select(s.compare(Relation::NotEqual, mask, zero),
                      s.mul(result, power), result);
    if (bit + 1 < bits)
      power = s.mul(power, power);
  }
  if (s.isUnsigned)
    return result;
  Value odd = s.compare(Relation::NotEqual,
                        s.integer<arith::AndIOp>(exponent, one), zero);
  Value unit = s.select(s.compare(Relation::Equal, base, minusOne),
                        s.select(odd, minusOne, one), zero);
  unit = s.select(s.compare(Relation::Equal, base, one), one, unit);
  return s.select(s.compare(Relation::Less, exponent, zero), unit, result);
}

Value emitPow(ScalarBuilder &s, Value base, Value exponent) {
  if (!s.isFloat(base))
    return emitIntegerPow(s, base, exponent);
  // The exponents that need no power; the others round differently by at most
  // a unit in the last place.
  if (std::optional<double> constant = matchConstant(exponent)) {
    Value one = s.like(base, 1);
    if (*constant == 0)
      return one;
    if (*constant == 1)
      return base;
    if (*constant == 2)
      return s.mul(base, base);
    if (*constant == 3)
      return s.mul(s.mul(base, base), base);
    if (*constant == -1)
      return s.div(one, base);
    if (*constant == -2)
      return s.div(one, s.mul(base, base));
  }
  return s.binary<math::PowFOp>(base, exponent);
}

Value emitSign(ScalarBuilder &s, Value x) {
  if (getElementTypeOrSelf(x).isInteger(1))
    return x;
  Value zero = s.like(x, 0), one = s.like(x, 1);
  Value positive = s.select(s.compare(Relation::Greater, x, zero), one, zero);
  if (s.isUnsigned)
    return positive;
  return s.select(s.compare(Relation::Less, x, zero), s.like(x, -1), positive);
}

Value emitClamp(ScalarBuilder &s, mlir::ait::ClampOp op, Value x) {
  if (std::optional<APFloat> min = op.getMin())
    x = s.maximum(x, s.like(x, min->convertToDouble()));
  if (std::optional<APFloat> max = op.getMax())
    x = s.minimum(x, s.like(x, max->convertToDouble()));
  return x;
}

double number(const APFloat &value) { return value.convertToDouble(); }

/// Operations that only floats have; null for another operation.
Value emitFloatUnary(ScalarBuilder &s, Operation *op, Value x) {
  return llvm::TypeSwitch<Operation *, Value>(op)
      .Case([&](mlir::ait::ExpOp) { return s.unary<math::ExpOp>(x); })
      .Case([&](mlir::ait::Exp2Op) { return s.unary<math::Exp2Op>(x); })
      .Case([&](mlir::ait::Expm1Op) { return s.unary<math::ExpM1Op>(x); })
      .Case([&](mlir::ait::LogOp) { return s.unary<math::LogOp>(x); })
      .Case([&](mlir::ait::Log2Op) { return s.unary<math::Log2Op>(x); })
      .Case([&](mlir::ait::Log10Op) { return s.unary<math::Log10Op>(x); })
      .Case([&](mlir::ait::Log1pOp) { return s.unary<math::Log1pOp>(x); })
      .Case([&](mlir::ait::SqrtOp) { return s.unary<math::SqrtOp>(x); })
      .Case([&](mlir::ait::RsqrtOp) {
        return s.div(s.like(x, 1), s.unary<math::SqrtOp>(x));
      })
      .Case([&](mlir::ait::ReciprocalOp) { return s.div(s.like(x, 1), x); })
      .Case([&](mlir::ait::SinOp) { return s.unary<math::SinOp>(x); })
      .Case([&](mlir::ait::CosOp) { return s.unary<math::CosOp>(x); })
      .Case([&](mlir::ait::TanOp) { return s.unary<math::TanOp>(x); })
      .Case([&](mlir::ait::AsinOp) { return s.unary<math::AsinOp>(x); })
      .Case([&](mlir::ait::AcosOp) { return s.unary<math::AcosOp>(x); })
      .Case([&](mlir::ait::AtanOp) { return s.unary<math::AtanOp>(x); })
      .Case([&](mlir::ait::SinhOp) { return s.unary<math::SinhOp>(x); })
      .Case([&](mlir::ait::CoshOp) { return s.unary<math::CoshOp>(x); })
      .Case([&](mlir::ait::AsinhOp) { return s.unary<math::AsinhOp>(x); })
      .Case([&](mlir::ait::AcoshOp) { return s.unary<math::AcoshOp>(x); })
      .Case([&](mlir::ait::AtanhOp) { return s.unary<math::AtanhOp>(x); })
      .Case([&](mlir::ait::TanhOp) { return s.unary<math::TanhOp>(x); })
      .Case([&](mlir::ait::ErfOp) { return s.unary<math::ErfOp>(x); })
      .Case([&](mlir::ait::SigmoidOp) { return s.sigmoid(x); })
      .Case([&](mlir::ait::LogSigmoidOp) {
        Value decay = s.unary<math::ExpOp>(s.negate(s.absolute(x)));
        return s.sub(s.minimum(x, s.like(x, 0)), s.unary<math::Log1pOp>(decay));
      })
      .Case([&](mlir::ait::SiluOp) {
        return s.div(x, s.add(s.like(x, 1), s.unary<math::ExpOp>(s.negate(x))));
      })
      .Case([&](mlir::ait::MishOp) {
        return s.mul(x, s.unary<math::TanhOp>(
                            s.unary<math::Log1pOp>(s.unary<math::ExpOp>(x))));
      })
      .Case([&](mlir::ait::HardswishOp) {
        return s.div(s.mul(x, emitHardRamp(s, x)), s.like(x, 6));
      })
      .Case([&](mlir::ait::HardsigmoidOp) {
        return s.div(emitHardRamp(s, x), s.like(x, 6));
      })
      .Case([&](mlir::ait::GeluOp gelu) {
        return emitGelu(s, x, gelu.getTanhApproximation());
      })
      .Case([&](mlir::ait::EluOp elu) {
        Value decay = s.unary<math::ExpM1Op>(
            s.mul(x, s.like(x, number(elu.getInputScale()))));
        Value negative = s.mul(
            decay, s.like(x, number(elu.getAlpha()) * number(elu.getScale())));
        return s.select(s.compare(Relation::Greater, x, s.like(x, 0)),
                        s.mul(x, s.like(x, number(elu.getScale()))), negative);
      })
      .Case([&](mlir::ait::LeakyReluOp leaky) {
        Value scaled = s.mul(x, s.like(x, number(leaky.getNegativeSlope())));
        return s.select(s.compare(Relation::Greater, x, s.like(x, 0)), x,
                        scaled);
      })
      .Case([&](mlir::ait::SoftplusOp softplus) {
        return emitSoftplus(s, x, number(softplus.getBeta()),
                            number(softplus.getThreshold()));
      })
      .Default([](Operation *) { return Value(); });
}

/// Operations of floats, integers and bools; null for another operation.
Value emitUnary(ScalarBuilder &s, Operation *op, Value x) {
  return llvm::TypeSwitch<Operation *, Value>(op)
      .Case([&](mlir::ait::AbsOp) { return s.absolute(x); })
      .Case([&](mlir::ait::NegOp) { return s.negate(x); })
      .Case([&](mlir::ait::SignOp) { return emitSign(s, x); })
      .Case([&](mlir::ait::FloorOp) {
        return s.isFloat(x) ? s.unary<math::FloorOp>(x) : x;
      })
      .Case([&](mlir::ait::CeilOp) {
        return s.isFloat(x) ? s.unary<math::CeilOp>(x) : x;
      })
      .Case([&](mlir::ait::RoundOp) {
        return s.isFloat(x) ? s.unary<math::RoundEvenOp>(x) : x;
      })
      .Case([&](mlir::ait::TruncOp) {
        return s.isFloat(x) ? s.unary<math::TruncOp>(x) : x;
      })
      .Case([&](mlir::ait::ReluOp) { return s.maximum(x, s.like(x, 0)); })
      .Case([&](mlir::ait::LogicalNotOp) {
        return s.compare(Relation::Equal, x, s.like(x, 0));
      })
      .Case([&](mlir::ait::BitwiseNotOp) {
        return s.isFloat(x) ? Value()
                            : s.integer<arith::XOrIOp>(
                                  x, s.like(x, s.isBool(x) ? 1 : -1));
      })
      .Case([&](mlir::ait::IsNanOp) {
        // NaN alone differs from itself; an integer never does.
        return s.compare(Relation::NotEqual, x, x);
      })
      .Case([&](mlir::ait::IsInfOp) {
        if (!s.isFloat(x))
          return s.compare(Relation::NotEqual, x, x);
        return s.compare(Relation::Equal, s.absolute(x),
                         s.like(x, std::numeric_limits<double>::infinity()));
      })
      .Case([&](mlir::ait::ClampOp clamp) { return emitClamp(s, clamp, x); })
      .Default([&](Operation *) {
        return s.isFloat(x) ? emitFloatUnary(s, op, x) : Value();
      });
}

Value emitBinary(ScalarBuilder &s, Operation *op, Value lhs, Value rhs) {
  auto bits = [&](auto tag) {
    return s.isFloat(lhs) ? Value() : s.integer<decltype(tag)>(lhs, rhs);
  };
  return llvm::TypeSwitch<Operation *, Value>(op)
      .Case([&](mlir::ait::AddOp) { return s.add(lhs, rhs); })
      .Case([&](mlir::ait::SubOp) { return s.sub(lhs, rhs); })
      .Case([&](mlir::ait::MulOp) { return s.mul(lhs, rhs); })
      .Case([&](mlir::ait::DivOp) { return s.div(lhs, rhs); })
      .Case([&](mlir::ait::FloorDivideOp) { return s.floorDivide(lhs, rhs); })
      .Case([&](mlir::ait::RemainderOp) { return s.remainder(lhs, rhs); })
      .Case([&](mlir::ait::FmodOp) { return s.truncatingRemainder(lhs, rhs); })
      .Case([&](mlir::ait::PowOp) { return emitPow(s, lhs, rhs); })
      .Case([&](mlir::ait::Atan2Op) {
        return s.isFloat(lhs) ? s.binary<math::Atan2Op>(lhs, rhs) : Value();
      })
      .Case([&](mlir::ait::CopysignOp) {
        return s.isFloat(lhs) ? s.binary<math::CopySignOp>(lhs, rhs) : Value();
      })
      .Case([&](mlir::ait::MaximumOp) { return s.maximum(lhs, rhs); })
      .Case([&](mlir::ait::MinimumOp) { return s.minimum(lhs, rhs); })
      .Case([&](mlir::ait::BitwiseAndOp) { return bits(arith::AndIOp()); })
      .Case([&](mlir::ait::BitwiseOrOp) { return bits(arith::OrIOp()); })
      .Case([&](mlir::ait::BitwiseXorOp) { return bits(arith::XOrIOp()); })
      .Case(
          [&](mlir::ait::EqOp) { return s.compare(Relation::Equal, lhs, rhs); })
      .Case([&](mlir::ait::NeOp) {
        return s.compare(Relation::NotEqual, lhs, rhs);
      })
      .Case(
          [&](mlir::ait::LtOp) { return s.compare(Relation::Less, lhs, rhs); })
      .Case([&](mlir::ait::LeOp) {
        return s.compare(Relation::LessEqual, lhs, rhs);
      })
      .Case([&](mlir::ait::GtOp) {
        return s.compare(Relation::Greater, lhs, rhs);
      })
      .Case([&](mlir::ait::GeOp) {
        return s.compare(Relation::GreaterEqual, lhs, rhs);
      })
      .Default([](Operation *) { return Value(); });
}

Type getTensorElement(Value value) {
  return getElementTypeOrSelf(value.getType());
}

bool isUnsigned(Type elementType) {
  return elementType.isUnsignedInteger() || elementType.isInteger(1);
}

} // namespace

FailureOr<Value> emitPointwise(OpBuilder &builder, Operation *op,
                               ValueRange operands, bool computeInOperandType) {
  Location location = op->getLoc();
  Type source = getTensorElement(op->getOperand(op->getNumOperands() - 1));
  Type result = getTensorElement(op->getResult(0));
  ScalarBuilder s{builder, location, isUnsigned(source)};

  if (isa<mlir::ait::WhereOp>(op))
    return s.select(operands[0], operands[1], operands[2]);
  if (isa<mlir::ait::ConvertOp>(op)) {
    // In an epilogue the accumulator's type stands for every half type.
    bool keep = computeInOperandType && isa<FloatType>(result) &&
                s.isFloat(operands[0]);
    Value value = keep ? operands[0]
                       : emitConvert(builder, location, operands[0], result,
                                     isUnsigned(source), isUnsigned(result));
    if (value)
      return value;
  } else {
    SmallVector<Value, 2> values(operands.begin(), operands.end());
    Type element = getElementTypeOrSelf(values[0]);
    bool half = mlir::ait::isHalf(element);
    if (half)
      for (Value &value : values)
        value = emitConvert(builder, location, value, builder.getF32Type());
    Value value;
    if (values.size() == 1)
      value = emitUnary(s, op, values[0]);
    else if (values.size() == 2)
      value = emitBinary(s, op, values[0], values[1]);
    if (value) {
      if (half && s.isFloat(value))
        value = emitConvert(builder, location, value, element);
      if (!s.isFloat(value))
        value = emitConvert(builder, location, value, result,
                            /*sourceUnsigned=*/s.isUnsigned);
      return value;
    }
  }
  op->emitOpError()
      << "has no scalar form for elements of " << source
      << "; add one to compiler/codegen/linalg/PointwiseToScalar.cpp";
  return failure();
}

} // namespace aitune
