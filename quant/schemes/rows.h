// Reads and writes the rows of matrices of any floating dtype as float32, so
// that what a scheme computes is written once, over contiguous float32.
#ifndef AITUNE_QUANT_SCHEMES_ROWS_H_
#define AITUNE_QUANT_SCHEMES_ROWS_H_

#include <cstdint>
#include <vector>

#include "quant/schemes/float_matrix.h"

namespace aitune::quant {

// Reads rows of one matrix that passes CheckMatrix; its data must live as long.
// Not thread-safe: each thread has its own.
class RowReader {
 public:
  explicit RowReader(const FloatMatrix& matrix) : matrix_(matrix) {}

  // The elements of a row, contiguous and exact, until the next call. Rows are
  // read fastest in ascending order.
  const float* Row(int64_t row);

 private:
  void Fill(int64_t first_row, int64_t count);

  const FloatMatrix matrix_;
  std::vector<float> panel_;  // rows of the matrix, one after another
  int64_t first_row_ = 0;     // of those in the panel
  int64_t row_count_ = 0;     // in the panel
};

// The greatest magnitude of `count` numbers, 0 of none. NaN when one of them
// is NaN.
float GreatestMagnitude(const float* values, int64_t count);

// Neither infinite nor NaN.
bool IsFinite(float value);

// `value` rounded to `dtype` (IsQuantizable), to the nearest, ties to even.
float RoundTo(DataType dtype, float value);

// Writes `count` numbers, each RoundTo(dtype), as elements [first, first +
// count) of the array `output`.
void StoreAs(DataType dtype, const float* values, int64_t count, void* output,
             int64_t first);

}  // namespace aitune::quant

#endif  // AITUNE_QUANT_SCHEMES_ROWS_H_
