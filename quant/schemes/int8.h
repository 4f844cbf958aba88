// int8 with one float32 scale a row or a tensor: torchao 0.18's Int8Tensor, bit
// for bit, for the weights of int8wo and int8dq and the activations of int8dq.
//
// For the greatest magnitude of what shares a scale,
//   scale = max(magnitude / 127.5, 2^-23)
//   code  = clamp(round_half_to_even(value * (1 / scale)), -128, 127)
// where the scale is computed in the tensor's dtype (Arithmetic::kEager; 16-bit
// tensors then have scales of 16 bits, widened) or in float32 (kFused), and the
// rest always in float32. So -magnitude has the code -128 and +magnitude 127.
// Zeros get the codes 0 and the scale 2^-23. A NaN or an infinity gives a scale
// that is NaN or infinite, so that nothing which uses it is finite.
//
// Functions are thread-safe: a large weight may be quantised by rows on several
// threads, each with a FloatMatrix of its own rows (kPerRow only). They expect
// the default rounding mode and subnormals that are not flushed.
#ifndef AITUNE_QUANT_SCHEMES_INT8_H_
#define AITUNE_QUANT_SCHEMES_INT8_H_

#include <cstdint>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "quant/schemes/scheme.h"

namespace aitune::quant {

// `codes` gets rows * columns codes, rows contiguous; `scales` one scale a row
// (kPerRow) or one (kPerTensor). No rows give no codes; one scale is then
// 2^-23. kInvalidArgument: room for another number of codes or scales, a
// dtype that is not float32, bfloat16 or float16, negative sizes, no data.
absl::Status QuantizeInt8(const FloatMatrix& input, Granularity granularity,
                          Arithmetic arithmetic, absl::Span<int8_t> codes,
                          absl::Span<float> scales);

// code * scale in float32, rounded to `dtype` (float32, bfloat16 or float16).
// `codes` has rows of `columns` codes, `scales` one scale or one a row;
// `output` has room for codes.size() elements and gets them in the same order.
// kInvalidArgument when these contradict each other.
absl::Status DequantizeInt8(absl::Span<const int8_t> codes,
                            absl::Span<const float> scales, int64_t columns,
                            DataType dtype, void* output);

}  // namespace aitune::quant

#endif  // AITUNE_QUANT_SCHEMES_INT8_H_
