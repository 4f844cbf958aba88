// Conversions between float32 and the smaller floating-point formats. They
// round to the nearest, ties to the even code. They have no branches, so that a
// loop over them becomes vector code. They need the default rounding mode, and
// subnormals must neither be flushed nor read as zero. Thread-safe.
#ifndef AITUNE_QUANT_SCHEMES_SMALL_FLOAT_H_
#define AITUNE_QUANT_SCHEMES_SMALL_FLOAT_H_

#include <cstdint>

#include "absl/base/casts.h"

namespace aitune::quant {

inline uint32_t BitsOf(float value) { return absl::bit_cast<uint32_t>(value); }
inline float FloatOf(uint32_t bits) { return absl::bit_cast<float>(bits); }

// The format of float32 (IEEE 754 binary32): the bits of the mantissa, the
// exponent field of 2^0, the bit of the sign, and the bits of infinity.
inline constexpr int kFloatMantissaBits = 23;
inline constexpr uint32_t kFloatBias = 127;
inline constexpr uint32_t kFloatSign = 0x80000000u;
inline constexpr uint32_t kFloatInfinity = 0x7f800000u;

// The code, without its sign, of `magnitude` in a format of `kMantissaBits`
// whose smallest normal number is 2^kMinExponent. A magnitude beyond the
// greatest finite one gets the code that comes after that one's, and so on; it
// must not be negative, NaN, or 2^(127 - kFloatMantissaBits) or more.
//
// Adding the power of two whose unit in the last place is the format's unit
// for `magnitude` rounds as the format does, and leaves the number of units in
// the sum's last bits. That number runs from 0 for subnormals and from
// 2^kMantissaBits for all others, so one addition makes the code of both.
template <int kMantissaBits, int kMinExponent>
inline uint32_t EncodeMagnitude(float magnitude) {
  constexpr uint32_t kSmallest = (kFloatBias + kMinExponent)
                                 << kFloatMantissaBits;
  uint32_t power = BitsOf(magnitude) & kFloatInfinity;
  power = power > kSmallest ? power : kSmallest;
  const uint32_t shifter = power + (uint32_t{kFloatMantissaBits - kMantissaBits}
                                    << kFloatMantissaBits);
  const uint32_t units = BitsOf(magnitude + FloatOf(shifter)) - shifter;
  return ((power - kSmallest) >> (kFloatMantissaBits - kMantissaBits)) + units;
}

// float8_e4m3fn: 3 bits of mantissa, 2^-6 the smallest normal number, 448 the
// greatest, code 0x7f NaN, no infinity.
inline constexpr float kFloat8Max = 448.0f;

// More than 464, and NaN, give NaN of the same sign: nothing saturates.
inline uint8_t ToFloat8Bits(float value) {
  // 480 would be the number after 448, were its code not NaN's.
  constexpr float kAfterMax = 480.0f;
  const float magnitude = FloatOf(BitsOf(value) & ~kFloatSign);
  const uint32_t code =
      EncodeMagnitude<3, -6>(magnitude < kAfterMax ? magnitude : kAfterMax);
  return static_cast<uint8_t>(code | (BitsOf(value) & kFloatSign) >> 24);
}

inline uint16_t ToFloat16Bits(float value) {
  constexpr float kAfterMax = 65536.0f;  // the number after 65504
  constexpr uint32_t kNan = 0x7e00;
  const float magnitude = FloatOf(BitsOf(value) & ~kFloatSign);
  uint32_t code =
      EncodeMagnitude<10, -14>(magnitude < kAfterMax ? magnitude : kAfterMax);
  code = magnitude == magnitude ? code : kNan;
  return static_cast<uint16_t>(code | (BitsOf(value) & kFloatSign) >> 16);
}

inline uint16_t ToBFloat16Bits(float value) {
  constexpr uint32_t kNan = 0x7fc0;
  const uint32_t bits = BitsOf(value);
  const uint32_t rounded = (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
  return static_cast<uint16_t>(value == value ? rounded : kNan);
}

inline float FromBFloat16Bits(uint16_t bits) {
  return FloatOf(uint32_t{bits} << 16);
}

inline float FromFloat16Bits(uint16_t bits) {
  constexpr int kShift = kFloatMantissaBits - 10;
  constexpr uint32_t kSmallest = (kFloatBias - 14) << kFloatMantissaBits;
  const uint32_t magnitude = uint32_t{bits & 0x7fffu};
  const uint32_t normal =
      (magnitude << kShift) + ((kFloatBias - 15) << kFloatMantissaBits);
  // 2^-14 * (1 + mantissa / 2^10) less 2^-14: exact.
  const uint32_t subnormal =
      BitsOf(FloatOf(kSmallest | magnitude << kShift) - FloatOf(kSmallest));
  uint32_t result = magnitude < 0x0400 ? subnormal : normal;
  result = magnitude < 0x7c00 ? result : (result | kFloatInfinity);
  return FloatOf(result | (uint32_t{bits} & 0x8000) << 16);
}

}  // namespace aitune::quant

#endif  // AITUNE_QUANT_SCHEMES_SMALL_FLOAT_H_
