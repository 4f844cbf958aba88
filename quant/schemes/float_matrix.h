// The form in which tensors are given to the schemes.
#ifndef AITUNE_QUANT_SCHEMES_FLOAT_MATRIX_H_
#define AITUNE_QUANT_SCHEMES_FLOAT_MATRIX_H_

#include <cstdint>

#include "absl/status/status.h"
#include "runtime/tensor/data_type.h"

namespace aitune::quant {

// A floating tensor as a matrix, by reference: any leading axes are its rows,
// the axis that is summed over (K) its columns.
struct FloatMatrix {
  const void* data = nullptr;  // element [0, 0]; null only without elements
  DataType dtype = DataType::kFloat32;  // kFloat32, kBFloat16 or kFloat16
  int64_t rows = 0;
  int64_t columns = 0;
  int64_t row_stride = 0;     // elements from [i, j] to [i + 1, j]
  int64_t column_stride = 1;  // elements from [i, j] to [i, j + 1]
};

// Whether `dtype` is float32, bfloat16 or float16.
bool IsQuantizable(DataType dtype);

// kInvalidArgument for a matrix of another dtype, with a negative size, with
// more elements than int64 counts, or without data for its elements.
absl::Status CheckMatrix(const FloatMatrix& matrix);

}  // namespace aitune::quant

#endif  // AITUNE_QUANT_SCHEMES_FLOAT_MATRIX_H_
