#include "quant/schemes/float_matrix.h"

#include <string>

#include "absl/strings/str_cat.h"

namespace aitune::quant {

bool IsQuantizable(DataType dtype) {
  return dtype == DataType::kFloat32 || dtype == DataType::kBFloat16 ||
         dtype == DataType::kFloat16;
}

absl::Status CheckMatrix(const FloatMatrix& matrix) {
  const std::string_view name = Name(matrix.dtype);
  if (!IsQuantizable(matrix.dtype))
    return absl::InvalidArgumentError(
        absl::StrCat("a tensor of ", std::string(name),
                     " can't be quantised: give float32, bfloat16 or float16"));
  int64_t elements = 0;
  if (matrix.rows < 0 || matrix.columns < 0 ||
      __builtin_mul_overflow(matrix.rows, matrix.columns, &elements))
    return absl::InvalidArgumentError(
        absl::StrCat("a tensor of [", matrix.rows, ", ", matrix.columns,
                     "] can't be quantised: give sizes that there can be"));
  if (elements > 0 && matrix.data == nullptr)
    return absl::InvalidArgumentError(
        absl::StrCat("a tensor of [", matrix.rows, ", ", matrix.columns,
                     "] was given without its data"));
  return absl::OkStatus();
}

}  // namespace aitune::quant
