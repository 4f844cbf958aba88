#include "compiler/reference/NumberFormat.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "compiler/dialect/ElementTypes.h"
#include "runtime/tensor/data_type_facts.h"

using namespace mlir;

namespace aitune {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
/// The digits and the least positive normal number of f32, in which narrower
/// types compute.
constexpr int kFloatDigits = std::numeric_limits<float>::digits;
constexpr double kFloatNormal = std::numeric_limits<float>::min();

template <typename T> double load(const void *data, int64_t i) {
  return static_cast<double>(static_cast<const T *>(data)[i]);
}

template <typename T> int64_t loadInteger(const void *data, int64_t i) {
  return static_cast<int64_t>(static_cast<const T *>(data)[i]);
}

/// 4 bits of exponent with a bias of 7, 3 of mantissa; all ones is NaN.
double decodeFloat8(uint8_t code) {
  const int exponent = (code >> 3) & 15, mantissa = code & 7;
  if (exponent == 15 && mantissa == 7)
    return std::numeric_limits<double>::quiet_NaN();
  const double size = exponent == 0 ? std::ldexp(mantissa, -9)
                                    : std::ldexp(8 + mantissa, exponent - 10);
  return code & 128 ? -size : size;
}

double decodeBFloat16(uint16_t code) {
  const uint32_t bits = static_cast<uint32_t>(code) << 16;
  float number;
  std::memcpy(&number, &bits, sizeof number);
  return number;
}

} // namespace

std::optional<NumberFormat> NumberFormat::of(Type elementType) {
  const std::optional<DataType> dtype = ait::toDataType(elementType);
  if (!dtype)
    return std::nullopt;
  const DataTypeFacts &facts = *FindFacts(*dtype);
  NumberFormat format;
  format.dtype = *dtype;
  format.isFloat = facts.IsFloat();
  if (!format.isFloat) {
    format.bits = facts.bits;
    format.isUnsigned = facts.kind == DataTypeFacts::Kind::kUnsigned;
    return format;
  }
  format.digits = facts.digits;
  format.storeUnit = std::ldexp(1.0, -facts.digits);
  format.computeUnit = std::ldexp(1.0, -std::max(facts.digits, kFloatDigits));
  format.greatest = facts.greatest;
  format.normal = facts.normal;
  // In f32, the subnormal numbers of types of a smaller range are normal ones.
  format.tiny = facts.normal > kFloatNormal
                    ? std::ldexp(facts.normal, 1 - facts.digits)
                    : facts.normal;
  return format;
}

ReferenceElement NumberFormat::read(const void *data, DataType dtype,
                                    int64_t i) {
  switch (dtype) {
  case DataType::kFloat64:
    return {load<double>(data, i), 0, 0};
  case DataType::kFloat32:
    return {load<float>(data, i), 0, 0};
  case DataType::kFloat16:
    return {load<_Float16>(data, i), 0, 0};
  case DataType::kBFloat16:
    return {decodeBFloat16(static_cast<const uint16_t *>(data)[i]), 0, 0};
  case DataType::kFloat8E4M3Fn:
    return {decodeFloat8(static_cast<const uint8_t *>(data)[i]), 0, 0};
  case DataType::kInt64:
    return {0, loadInteger<int64_t>(data, i), 0};
  case DataType::kInt32:
    return {0, loadInteger<int32_t>(data, i), 0};
  case DataType::kInt16:
    return {0, loadInteger<int16_t>(data, i), 0};
  case DataType::kInt8:
    return {0, loadInteger<int8_t>(data, i), 0};
  case DataType::kUInt8:
    return {0, loadInteger<uint8_t>(data, i), 0};
  case DataType::kBool:
    return {0, loadInteger<uint8_t>(data, i), 0};
  }
  return {};
}

double NumberFormat::round(double number) const {
  if (number == 0 || !std::isfinite(number))
    return number;
  int exponent = 0;
  const double fraction = std::frexp(number, &exponent);
  return std::ldexp(std::nearbyint(std::ldexp(fraction, digits)),
                    exponent - digits);
}

bool NumberFormat::holds(double number) const {
  const double size = std::abs(number);
  return number == 0 || (round(number) == number && size <= greatest &&
                         (size >= normal || std::fmod(size, tiny) == 0));
}

int64_t NumberFormat::wrap(int64_t integer) const {
  if (bits >= 64)
    return integer;
  if (bits == 1)
    return integer & 1;
  const uint64_t mask = (uint64_t{1} << bits) - 1;
  const uint64_t low = static_cast<uint64_t>(integer) & mask;
  const bool isNegative = !isUnsigned && (low >> (bits - 1)) != 0;
  return static_cast<int64_t>(isNegative ? low | ~mask : low);
}

ReferenceElement NumberFormat::rounded(double number, double passedOn,
                                       double units, double scale) const {
  ReferenceElement element{number, 0, passedOn};
  if (std::isnan(passedOn))
    element.error = kInfinity;
  // What is infinite or not a number is so in any type.
  if (!std::isfinite(number))
    return element;
  const double size = std::abs(number);
  element.error += units * computeUnit * std::max(size, scale) + tiny;
  if (isNarrow())
    element.error += storeUnit * size;
  // In a wider type, or in another order, it may not overflow; and what is made
  // of several operations, such as cosh, may overflow before its result does.
  if ((isNarrow() ? size : 4 * size) + element.error > greatest)
    element.error = kInfinity;
  return element;
}

double NumberFormat::sumError(double count, double magnitude) const {
  if (!isFloat || !(magnitude > 0))
    return 0;
  if (!std::isfinite(magnitude) || magnitude > greatest)
    return std::isnan(magnitude) ? 0 : kInfinity;
  // Rounding errors are of either sign: with n terms they add up to less than
  // lambda * sqrt(n) units in all but 2 exp(-lambda^2 / 2) of the cases (Higham
  // and Mary, A New Approach to Probabilistic Rounding Error Analysis, theorem
  // 2.4), and never to more than n.
  constexpr double kLambda = 8;
  return (std::min(count, kLambda * std::sqrt(count)) + 2) * computeUnit *
         magnitude;
}

} // namespace aitune
