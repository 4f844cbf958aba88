// float8_e4m3fn with one float32 scale a row or a tensor: torchao 0.18's
// Float8Tensor, for the weights of fp8wo and fp8dq and the activations of
// fp8dq.
//
// For the greatest magnitude of what shares a scale,
//   scale = max(magnitude / 448, 2^-126)
//   code  = float8_e4m3fn(clamp(value / scale, -448, 448))
// where the scale is computed in the tensor's dtype (Arithmetic::kEager) or in
// float32 (kFused), and the rest always in float32.
//
// Bits are torchao's wherever its scale is at least 2^-126, the smallest normal
// float32. torchao has no such floor: zeros have the scale 0 and NaN codes
// there, and here the codes of zero.
//
// Functions are thread-safe: a large weight may be quantised by rows on several
// threads, each with a FloatMatrix of its own rows (kPerRow only). They expect
// the default rounding mode and subnormals that are not flushed.
#ifndef AITUNE_QUANT_SCHEMES_FLOAT8_H_
#define AITUNE_QUANT_SCHEMES_FLOAT8_H_

#include <cstdint>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "quant/schemes/scheme.h"

namespace aitune::quant {

// The float8_e4m3fn nearest to `value`, ties to the even code. There is no
// infinity: beyond 464, half a unit above the greatest number 448, and for NaN
// it is NaN (0x7f, with the sign of `value`), as with PyTorch's conversion.
uint8_t EncodeFloat8E4M3Fn(float value);

// The number that a code stands for: at most 448, at least 2^-9 unless 0. The
// codes 0x7f and 0xff are NaN.
float DecodeFloat8E4M3Fn(uint8_t code);

// `codes` gets rows * columns codes, rows contiguous; `scales` one scale a row
// (kPerRow) or one (kPerTensor). No rows give no codes; one scale is then
// 2^-126. A NaN or an infinity gives a scale that is NaN or infinite.
// kInvalidArgument: room for another number of codes or scales, a dtype that is
// not float32, bfloat16 or float16, negative sizes, no data.
absl::Status QuantizeFloat8(const FloatMatrix& input, Granularity granularity,
                            Arithmetic arithmetic, absl::Span<uint8_t> codes,
                            absl::Span<float> scales);

// code * scale in float32, rounded to `dtype` (float32, bfloat16 or float16).
// `codes` has rows of `columns` codes, `scales` one scale or one a row;
// `output` has room for codes.size() elements and gets them in the same order.
// kInvalidArgument when these contradict each other.
absl::Status DequantizeFloat8(absl::Span<const uint8_t> codes,
                              absl::Span<const float> scales, int64_t columns,
                              DataType dtype, void* output);

}  // namespace aitune::quant

#endif  // AITUNE_QUANT_SCHEMES_FLOAT8_H_
