#include "quant/schemes/int8.h"

#include "quant/schemes/quantize.h"
#include "quant/schemes/small_float.h"

namespace aitune::quant {
namespace {

struct Int8Format {
  using Code = int8_t;
  static constexpr char kName[] = "int8";
  static constexpr float kDivisor = 127.5f;
  static constexpr float kSmallestScale = 0x1p-23f;  // float32's epsilon

  static void Encode(const float* values, int64_t count, float scale,
                     int8_t* codes) {
    // At 1.5 * 2^23 the unit in the last place is 1: the addition rounds, and
    // leaves the integer in the last bits.
    constexpr float kRounder = 0x1.8p23f;
    const float reciprocal = 1.0f / scale;
    for (int64_t i = 0; i < count; ++i) {
      float value = values[i] * reciprocal;
      value = value == value ? value : 0.0f;
      value = value > -128.0f ? value : -128.0f;
      value = value < 127.0f ? value : 127.0f;
      codes[i] = static_cast<int8_t>(BitsOf(value + kRounder) & 0xff);
    }
  }

  static float Decode(int8_t code) { return code; }
};

}  // namespace

absl::Status QuantizeInt8(const FloatMatrix& input, Granularity granularity,
                          Arithmetic arithmetic, absl::Span<int8_t> codes,
                          absl::Span<float> scales) {
  return QuantizeAs<Int8Format>(input, granularity, arithmetic, codes, scales);
}

absl::Status DequantizeInt8(absl::Span<const int8_t> codes,
                            absl::Span<const float> scales, int64_t columns,
                            DataType dtype, void* output) {
  return DequantizeAs<Int8Format>(codes, scales, columns, dtype, output);
}

}  // namespace aitune::quant
