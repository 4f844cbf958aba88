#include "quant/schemes/float8.h"

#include "quant/schemes/quantize.h"
#include "quant/schemes/small_float.h"

namespace aitune::quant {
namespace {

struct Float8Format {
  using Code = uint8_t;
  static constexpr char kName[] = "float8_e4m3fn";
  static constexpr float kDivisor = kFloat8Max;
  static constexpr float kSmallestScale = 0x1p-126f;  // float32's least normal

  static void Encode(const float* values, int64_t count, float scale,
                     uint8_t* codes) {
    for (int64_t i = 0; i < count; ++i) {
      float value = values[i] / scale;
      // In this order NaN is kept.
      value = value > kFloat8Max ? kFloat8Max : value;
      value = value < -kFloat8Max ? -kFloat8Max : value;
      codes[i] = ToFloat8Bits(value);
    }
  }

  static float Decode(uint8_t code) { return DecodeFloat8E4M3Fn(code); }
};

}  // namespace

uint8_t EncodeFloat8E4M3Fn(float value) { return ToFloat8Bits(value); }

float DecodeFloat8E4M3Fn(uint8_t code) {
  constexpr int kShift = kFloatMantissaBits - 3;
  constexpr uint32_t kSmallest = (kFloatBias - 6) << kFloatMantissaBits;
  constexpr uint32_t kNan = 0x7fc00000;
  const uint32_t magnitude = code & 0x7fu;
  const uint32_t normal =
      (magnitude << kShift) + ((kFloatBias - 7) << kFloatMantissaBits);
  // 2^-6 * (1 + mantissa / 2^3) less 2^-6: exact.
  const uint32_t subnormal =
      BitsOf(FloatOf(kSmallest | magnitude << kShift) - FloatOf(kSmallest));
  uint32_t result = magnitude < 0x08 ? subnormal : normal;
  result = magnitude < 0x7f ? result : kNan;
  return FloatOf(result | (code & 0x80u) << 24);
}

absl::Status QuantizeFloat8(const FloatMatrix& input, Granularity granularity,
                            Arithmetic arithmetic, absl::Span<uint8_t> codes,
                            absl::Span<float> scales) {
  return QuantizeAs<Float8Format>(input, granularity, arithmetic, codes,
                                  scales);
}

absl::Status DequantizeFloat8(absl::Span<const uint8_t> codes,
                              absl::Span<const float> scales, int64_t columns,
                              DataType dtype, void* output) {
  return DequantizeAs<Float8Format>(codes, scales, columns, dtype, output);
}

}  // namespace aitune::quant
