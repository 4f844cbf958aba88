// Reads and writes the rows of matrices of any floating-point dtype as float32,
// so that a scheme's arithmetic is written only once, for contiguous float32.
#ifndef AITUNE_QUANT_SCHEMES_ROWS_H_
#define AITUNE_QUANT_SCHEMES_ROWS_H_

#include <cstdint>
#include <vector>

#include "quant/schemes/float_matrix.h"

namespace aitune::quant {

// Reads rows of one matrix, which must pass CheckMatrix; its data must outlive
// the reader. Not thread-safe: each thread needs its own.
class RowReader {
 public:
  explicit RowReader(const FloatMatrix& matrix) : matrix_(matrix) {}

  // The elements of a row, contiguous and exact; valid until the next call.
  // Rows are read fastest in ascending order.
  const float* Row(int64_t row);

 private:
  void Fill(int64_t first_row, int64_t count);

  const FloatMatrix matrix_;
  std::vector<float> panel_;  // rows of the matrix, one after another
  int64_t first_row_ = 0;     // the first row in the panel
  int64_t row_count_ = 0;     // number of rows in the panel
};

// The greatest magnitude of `count` numbers; 0 if count is 0, NaN if one of
// them is NaN.
float GreatestMagnitude(const float* values, int64_t count);

// Whether `value` is neither infinite nor NaN.
bool IsFinite(float value);

// `value` rounded to `dtype` (IsQuantizable), to the nearest, ties to even.
float RoundTo(DataType dtype, float value);

// Writes `count` numbers, each RoundTo(dtype), as elements [first, first +
// count) of the array `output`.
void StoreAs(DataType dtype, const float* values, int64_t count, void* output,
             int64_t first);

}  // namespace aitune::quant

#endif  // AITUNE_QUANT_SCHEMES_ROWS_H_
