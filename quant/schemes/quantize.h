// The parts of quantisation that both formats share: which elements have a
// common scale, how the scale is computed from their greatest magnitude, and
// the checks of arguments.
//
// A Format has
//   Code                 the type of a code, one byte
//   kName                the name of the format in error texts
//   kDivisor             the number by which the greatest magnitude is divided
//   kSmallestScale       the least scale
//   Encode(values, count, scale, codes)   writes `count` codes
//   Decode(code)         the float32 that a code stands for, with the scale 1
#ifndef AITUNE_QUANT_SCHEMES_QUANTIZE_H_
#define AITUNE_QUANT_SCHEMES_QUANTIZE_H_

#include <algorithm>
#include <cstdint>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "quant/schemes/rows.h"
#include "quant/schemes/scheme.h"

namespace aitune::quant {

template <typename Format>
float ScaleOf(float greatest, DataType dtype, Arithmetic arithmetic) {
  float scale = greatest / Format::kDivisor;
  if (arithmetic == Arithmetic::kEager) scale = RoundTo(dtype, scale);
  return scale < Format::kSmallestScale ? Format::kSmallestScale : scale;
}

// kInvalidArgument unless `codes` is rows * columns and `scales` is 1
// (`one_scale`) or the number of rows.
inline absl::Status CheckSizes(const char* format, int64_t rows,
                               int64_t columns, int64_t codes, int64_t scales,
                               bool one_scale) {
  const int64_t expected_scales = one_scale ? 1 : rows;
  if (codes == rows * columns && scales == expected_scales)
    return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("a tensor of [", rows, ", ", columns, "] has ",
                   rows * columns, " ", format, " codes and ", expected_scales,
                   " scales, but there is room for ", codes, " and ", scales));
}

template <typename Format>
absl::Status QuantizeAs(const FloatMatrix& input, Granularity granularity,
                        Arithmetic arithmetic,
                        absl::Span<typename Format::Code> codes,
                        absl::Span<float> scales) {
  const bool per_tensor = granularity == Granularity::kPerTensor;
  absl::Status status = CheckMatrix(input);
  if (status.ok())
    status = CheckSizes(Format::kName, input.rows, input.columns,
                        static_cast<int64_t>(codes.size()),
                        static_cast<int64_t>(scales.size()), per_tensor);
  if (!status.ok()) return status;
  RowReader reader(input);
  if (per_tensor) {
    float greatest[2] = {};  // the rows before, this row
    for (int64_t row = 0; row < input.rows; ++row) {
      greatest[1] = GreatestMagnitude(reader.Row(row), input.columns);
      greatest[0] = GreatestMagnitude(greatest, 2);
    }
    scales[0] = ScaleOf<Format>(greatest[0], input.dtype, arithmetic);
  }
  for (int64_t row = 0; row < input.rows; ++row) {
    const float* values = reader.Row(row);
    if (!per_tensor)
      scales[row] = ScaleOf<Format>(GreatestMagnitude(values, input.columns),
                                    input.dtype, arithmetic);
    Format::Encode(values, input.columns, scales[per_tensor ? 0 : row],
                   codes.data() + row * input.columns);
  }
  return absl::OkStatus();
}

template <typename Format>
absl::Status DequantizeAs(absl::Span<const typename Format::Code> codes,
                          absl::Span<const float> scales, int64_t columns,
                          DataType dtype, void* output) {
  if (!IsQuantizable(dtype) || (output == nullptr && !codes.empty()) ||
      columns < 0 || (columns == 0 && !codes.empty()))
    return absl::InvalidArgumentError(absl::StrCat(
        "codes can't be dequantised: give columns (here ", columns,
        "), an output, and its dtype as float32, bfloat16 or float16"));
  const int64_t rows = columns == 0
                           ? static_cast<int64_t>(scales.size())
                           : static_cast<int64_t>(codes.size()) / columns;
  const bool one_scale = scales.size() == 1;
  const absl::Status status = CheckSizes(
      Format::kName, rows, columns, static_cast<int64_t>(codes.size()),
      static_cast<int64_t>(scales.size()), one_scale);
  if (!status.ok()) return status;
  constexpr int64_t kBlock =
      512;  // elements; their floats stay in the L1 cache
  float values[kBlock];
  for (int64_t row = 0; row < rows; ++row) {
    const float scale = scales[one_scale ? 0 : row];
    for (int64_t column = 0; column < columns; column += kBlock) {
      const int64_t first = row * columns + column;
      const int64_t count = std::min(kBlock, columns - column);
      for (int64_t i = 0; i < count; ++i)
        values[i] = Format::Decode(codes[first + i]) * scale;
      StoreAs(dtype, values, count, output, first);
    }
  }
  return absl::OkStatus();
}

}  // namespace aitune::quant

#endif  // AITUNE_QUANT_SCHEMES_QUANTIZE_H_
