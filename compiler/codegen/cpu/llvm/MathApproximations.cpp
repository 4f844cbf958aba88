#include "compiler/codegen/cpu/llvm/MathApproximations.h"

#include "compiler/codegen/cpu/target/Intrinsics.h"
#include "compiler/codegen/linalg/ScalarBuilder.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/TypeUtilities.h"

using namespace mlir;

namespace aitune {
namespace {

constexpr double kLn2 = 0.69314718055994531;
// ln 2 in two parts: the first has few bits, so that its product with a whole
// number is exact.
constexpr double kLn2High = 0.693359375, kLn2Low = -2.12194440e-4;
constexpr double kLog2E = 1.4426950408889634, kLog10E = 0.43429448190325183;
constexpr double kLog10Of2High = 0.30078125, kLog10Of2Low = 2.48745663981195e-4;
constexpr double kInfinity = __builtin_inf();

/// f32 arithmetic with the scalar or vector type of the function's argument.
struct F32Builder : ScalarBuilder {
  Type floatType, intType;
  bool scalesInOneStep = false;

  F32Builder(OpBuilder &builder, Location location, Value x, bool hasScale)
      : ScalarBuilder{builder, location, /*isUnsigned=*/false},
        floatType(x.getType()) {
    intType = builder.getI32Type();
    auto vector = dyn_cast<VectorType>(floatType);
    if (!vector)
      return;
    intType = vector.clone(intType);
    const int64_t lanes = vector.getNumElements();
    scalesInOneStep = hasScale && vector.getRank() == 1 &&
                      (lanes == 4 || lanes == 8 || lanes == 16);
  }
  Value constant(double number) {
    return arith::ConstantOp::create(
        builder, location,
        attribute(floatType, builder.getF32FloatAttr(number)));
  }
  Value bits(int32_t number) {
    return arith::ConstantOp::create(
        builder, location,
        attribute(intType, builder.getI32IntegerAttr(number)));
  }
  static TypedAttr attribute(Type type, TypedAttr scalar) {
    if (auto vector = dyn_cast<VectorType>(type))
      return DenseElementsAttr::get(vector, Attribute(scalar));
    return scalar;
  }
  Value fma(Value a, Value b, Value c) {
    return math::FmaOp::create(builder, location, a, b, c);
  }
  /// coefficients[0] + x * (coefficients[1] + ...)
  Value polynomial(Value x, ArrayRef<double> coefficients) {
    Value result = constant(coefficients.back());
    for (double coefficient : llvm::reverse(coefficients.drop_back()))
      result = fma(result, x, constant(coefficient));
    return result;
  }
  Value asBits(Value value) {
    return arith::BitcastOp::create(builder, location, intType, value);
  }
  Value asFloat(Value value) {
    return arith::BitcastOp::create(builder, location, floatType, value);
  }
  Value toInt(Value value) {
    return arith::FPToSIOp::create(builder, location, intType, value);
  }
  Value toFloat(Value value) {
    return arith::SIToFPOp::create(builder, location, floatType, value);
  }
  Value shiftLeft(Value value, int amount) {
    return integer<arith::ShLIOp>(value, bits(amount));
  }
  Value shiftRight(Value value, int amount) {
    return integer<arith::ShRSIOp>(value, bits(amount));
  }
  /// NaN stays NaN: the comparison with it is false.
  Value atMost(Value value, double limit) {
    Value bound = constant(limit);
    return select(compare(Relation::Greater, value, bound), bound, value);
  }
  Value atLeast(Value value, double limit) {
    Value bound = constant(limit);
    return select(compare(Relation::Less, value, bound), bound, value);
  }
  /// 2^n for integers -126 <= n <= 127.
  Value powerOfTwo(Value n) {
    return asFloat(shiftLeft(integer<arith::AddIOp>(n, bits(127)), 23));
  }
  /// value * 2^n for whole numbers -252 <= n <= 254, with overflow to infinity
  /// and gradual underflow: in two steps, each of which is a normal number,
  /// where no instruction does it.
  Value scale(Value value, Value n) {
    if (scalesInOneStep)
      return emitScale(builder, location, value, n);
    Value whole = toInt(n), half = shiftRight(whole, 1);
    return mul(mul(value, powerOfTwo(half)),
               powerOfTwo(integer<arith::SubIOp>(whole, half)));
  }
  /// The same for -126 <= n <= 127.
  Value scaleModerately(Value value, Value n) {
    return scalesInOneStep ? emitScale(builder, location, value, n)
                           : mul(value, powerOfTwo(toInt(n)));
  }
};

/// e^r - 1 - r over r^2, for |r| <= ln2 / 2.
const double kExpCoefficients[] = {0x1.000000p-1, 0x1.55548ep-3, 0x1.55545cp-5,
                                   0x1.123c78p-7, 0x1.6db5bcp-10};
/// The same with the error relative to e^r - 1.
const double kExpm1Coefficients[] = {0x1.000000p-1,  0x1.555556p-3,
                                     0x1.5554acp-5,  0x1.11108ep-7,
                                     0x1.6d75dap-10, 0x1.a1a2e0p-13};
/// (log(1 + f) - f + f^2 / 2) / f^3, for sqrt(1/2) <= 1 + f <= sqrt(2).
const double kLogCoefficients[] = {
    0x1.55554ap-2, -0x1.000220p-2, 0x1.99a596p-3, -0x1.54788ap-3,
    0x1.226e48p-3, -0x1.0ce07ap-3, 0x1.07d0f4p-3, -0x1.41ee18p-4};
/// (tanh(x) / x - 1) / x^2 as a polynomial of x^2, for |x| <= 0.64.
const double kTanhCoefficients[] = {-0x1.55552cp-2, 0x1.11058ep-3,
                                    -0x1.b803f4p-5, 0x1.50a67ap-6,
                                    -0x1.6ef316p-8};
/// erf(x) / x - 1 as a polynomial of x^2, for |x| <= 0.92.
const double kErfCoefficients[] = {
    0x1.06eba8p-3, -0x1.812744p-2,  0x1.ce2e2ep-4, -0x1.b811a8p-6,
    0x1.54e54ep-8, -0x1.ab3f8cp-11, 0x1.601ac2p-14};
/// log(erfc(x)), for 0.92 <= x <= 4.
const double kLogErfcCoefficients[] = {
    0x1.715a70p-13, -0x1.21285ap+0, -0x1.444420p-1, -0x1.bb952cp-4,
    0x1.9bbc26p-6,  -0x1.11a194p-8, 0x1.c87f60p-12, -0x1.633a42p-16};

/// e^r * 2^n for |r| <= ln2 / 2.
Value expReduced(F32Builder &b, Value r, Value n) {
  Value tail = b.polynomial(r, kExpCoefficients);
  Value sum = b.add(b.fma(tail, b.mul(r, r), r), b.constant(1));
  return b.scale(sum, n);
}

/// r with x = n ln2 + r, |r| <= ln2 / 2.
Value reduceByLn2(F32Builder &b, Value x, Value n) {
  Value r = b.fma(n, b.constant(-kLn2High), x);
  return b.fma(n, b.constant(-kLn2Low), r);
}

/// compute(x), and 0 where x < `limit`: there nothing is computed that rounds
/// to 0, which takes an Intel CPU some hundred cycles for each vector. A
/// softmax gets minus infinity for all that is masked. NaN is computed.
Value zeroBelow(F32Builder &b, Value x, double limit,
                function_ref<Value(Value)> compute) {
  Value isZero = b.compare(Relation::Less, x, b.constant(limit));
  Value result = compute(b.select(isZero, b.constant(0), x));
  return b.select(isZero, b.constant(0), result);
}

/// e^x where it is not below the least number of f32.
Value expNotTiny(F32Builder &b, Value x) {
  x = b.atMost(x, 90); // the result is infinity
  Value n = b.unary<math::RoundEvenOp>(b.mul(x, b.constant(kLog2E)));
  return expReduced(b, reduceByLn2(b, x, n), n);
}

/// The natural logarithm of the least normal number of f32, 2^-126.
constexpr double kLeastExponent = -87.3365;

/// e^x for kLeastExponent <= x <= 88: no overflow and no denormals to care for.
Value expOfModerate(F32Builder &b, Value x) {
  Value n = b.unary<math::RoundEvenOp>(b.mul(x, b.constant(kLog2E)));
  Value r = reduceByLn2(b, x, n);
  Value tail = b.polynomial(r, kExpCoefficients);
  Value sum = b.add(b.fma(tail, b.mul(r, r), r), b.constant(1));
  return b.scaleModerately(sum, n);
}

Value roundToWhole(F32Builder &b, Value x) {
  return b.unary<math::RoundEvenOp>(x);
}

/// log(u) split: u = 2^exponent * (1 + fraction), 1 + fraction in
/// [sqrt(1/2), sqrt(2)). u positive, finite and normal.
struct Decomposed {
  Value fraction, exponent; // f32, i32
};
Decomposed decompose(F32Builder &b, Value u) {
  Value offset = b.bits(0x3f3504f3); // sqrt(1/2)
  Value shifted = b.integer<arith::SubIOp>(b.asBits(u), offset);
  Value mantissa = b.integer<arith::AddIOp>(
      b.integer<arith::AndIOp>(shifted, b.bits(0x7fffff)), offset);
  return {b.sub(b.asFloat(mantissa), b.constant(1)), b.shiftRight(shifted, 23)};
}

/// log(1 + f) - f
Value logTail(F32Builder &b, Value f) {
  Value square = b.mul(f, f);
  Value cubic = b.mul(b.polynomial(f, kLogCoefficients), b.mul(square, f));
  return b.fma(square, b.constant(-0.5), cubic);
}

/// The values of a logarithm where its series says nothing.
Value logSpecialCases(F32Builder &b, Value x, Value pole, Value regular) {
  Value result = b.select(b.compare(Relation::Equal, x, b.constant(kInfinity)),
                          x, regular);
  result = b.select(b.compare(Relation::Equal, x, pole), b.constant(-kInfinity),
                    result);
  // x < pole, and NaN.
  Value inDomain = b.compare(Relation::GreaterEqual, x, pole);
  return b.select(inDomain, result, b.constant(__builtin_nan("")));
}

/// log in base e^(1 / scale), where log(2) in that base is twoHigh + twoLow.
Value logInBase(F32Builder &b, Value x, double scale, double twoHigh,
                double twoLow) {
  Value tiny = b.compare(Relation::Less, x, b.constant(0x1p-126));
  Value normal = b.select(tiny, b.mul(x, b.constant(0x1p23)), x);
  auto [fraction, exponent] = decompose(b, normal);
  exponent =
      b.select(tiny, b.integer<arith::SubIOp>(exponent, b.bits(23)), exponent);
  Value e = b.toFloat(exponent);
  Value tail = logTail(b, fraction);
  Value result;
  if (scale == 1) {
    result = b.add(fraction, b.fma(e, b.constant(twoLow), tail));
    result = b.fma(e, b.constant(twoHigh), result);
  } else {
    // log(m) * scale with the scale in two parts, so that the product's error
    // does not add up with the series'.
    float high = static_cast<float>(scale);
    Value log = b.add(fraction, tail);
    Value lost = b.add(b.sub(fraction, log), tail);
    Value low =
        b.fma(log, b.constant(scale - high), b.mul(lost, b.constant(high)));
    low = b.fma(e, b.constant(twoLow), low);
    result = b.fma(e, b.constant(twoHigh), b.fma(log, b.constant(high), low));
  }
  return logSpecialCases(b, x, b.constant(0), result);
}

} // namespace

Value approximateExp(OpBuilder &builder, Location location, Value x,
                     bool hasScale) {
  F32Builder b(builder, location, x, hasScale);
  return zeroBelow(b, x, -104, [&](Value x) { return expNotTiny(b, x); });
}

Value approximateWeight(OpBuilder &builder, Location location, Value x,
                        bool hasScale) {
  F32Builder b(builder, location, x, hasScale);
  return zeroBelow(b, x, kLeastExponent,
                   [&](Value x) { return expOfModerate(b, x); });
}

Value approximateExp2(OpBuilder &builder, Location location, Value x,
                      bool hasScale) {
  F32Builder b(builder, location, x, hasScale);
  return zeroBelow(b, x, -150, [&](Value x) {
    x = b.atMost(x, 129); // the result is infinity
    Value n = roundToWhole(b, x);
    return expReduced(b, b.mul(b.sub(x, n), b.constant(kLn2)), n);
  });
}

Value approximateExpm1(OpBuilder &builder, Location location, Value x,
                       bool hasScale) {
  F32Builder b(builder, location, x, hasScale);
  Value bounded = b.atLeast(b.atMost(x, 88.8), -20);
  Value n = roundToWhole(b, b.mul(bounded, b.constant(kLog2E)));
  Value r = reduceByLn2(b, bounded, n);
  Value small = b.fma(b.polynomial(r, kExpm1Coefficients), b.mul(r, r), r);
  // 2^n small + (2^n - 1), halved so that 2^128 can be written.
  Value half = b.powerOfTwo(b.integer<arith::SubIOp>(b.toInt(n), b.bits(1)));
  Value result = b.fma(half, small, b.sub(half, b.constant(0.5)));
  result = b.add(result, result);
  // Keeps the sign of zero, and denormals.
  return b.select(b.compare(Relation::Less, b.absolute(x), b.constant(0x1p-25)),
                  x, result);
}

Value approximateLog(OpBuilder &builder, Location location, Value x,
                     bool hasScale) {
  F32Builder b(builder, location, x, hasScale);
  return logInBase(b, x, 1, kLn2High, kLn2Low);
}

Value approximateLog2(OpBuilder &builder, Location location, Value x,
                      bool hasScale) {
  F32Builder b(builder, location, x, hasScale);
  return logInBase(b, x, kLog2E, 1, 0);
}

Value approximateLog10(OpBuilder &builder, Location location, Value x,
                       bool hasScale) {
  F32Builder b(builder, location, x, hasScale);
  return logInBase(b, x, kLog10E, kLog10Of2High, kLog10Of2Low);
}

Value approximateLog1p(OpBuilder &builder, Location location, Value x,
                       bool hasScale) {
  F32Builder b(builder, location, x, hasScale);
  Value one = b.constant(1);
  Value u = b.add(x, one);
  // What the sum lost; either form is exact on its side of 1.
  Value lost = b.select(b.compare(Relation::GreaterEqual, x, one),
                        b.sub(one, b.sub(u, x)), b.sub(x, b.sub(u, one)));
  auto [fraction, exponent] = decompose(b, u);
  Value bounded = b.select(b.compare(Relation::Greater, exponent, b.bits(126)),
                           b.bits(126), exponent);
  Value inverse = b.powerOfTwo(b.integer<arith::SubIOp>(b.bits(0), bounded));
  fraction = b.fma(lost, inverse, fraction);
  Value e = b.toFloat(exponent);
  Value result =
      b.add(fraction, b.fma(e, b.constant(kLn2Low), logTail(b, fraction)));
  result = b.fma(e, b.constant(kLn2High), result);
  result = b.select(
      b.compare(Relation::Less, b.absolute(x), b.constant(0x1p-25)), x, result);
  return logSpecialCases(b, x, b.constant(-1), result);
}

Value approximateTanh(OpBuilder &builder, Location location, Value x,
                      bool hasScale) {
  F32Builder b(builder, location, x, hasScale);
  Value magnitude = b.absolute(x);
  Value square = b.mul(x, x);
  Value series = b.mul(b.polynomial(square, kTanhCoefficients), square);
  Value small = b.fma(series, x, x);
  Value exponential = expNotTiny(b, b.add(magnitude, magnitude));
  Value large = b.sub(b.constant(1),
                      b.div(b.constant(2), b.add(exponential, b.constant(1))));
  // Of -0 too, where the small form gives 0.
  return b.binary<math::CopySignOp>(
      b.select(b.compare(Relation::Less, magnitude, b.constant(0.625)), small,
               large),
      x);
}

Value approximateErf(OpBuilder &builder, Location location, Value x,
                     bool hasScale) {
  F32Builder b(builder, location, x, hasScale);
  Value magnitude = b.absolute(x);
  Value small = b.fma(b.polynomial(b.mul(x, x), kErfCoefficients), x, x);
  Value exponent = b.polynomial(b.atMost(magnitude, 4), kLogErfcCoefficients);
  Value large = b.sub(b.constant(1), expOfModerate(b, exponent));
  large = b.binary<math::CopySignOp>(large, x);
  return b.select(b.compare(Relation::Less, magnitude, b.constant(0.921875)),
                  small, large);
}

} // namespace aitune
