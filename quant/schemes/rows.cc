#include "quant/schemes/rows.h"

#include <algorithm>
#include <cstring>

#include "quant/schemes/small_float.h"

namespace aitune::quant {
namespace {

// Rows that are read together when a row is not contiguous: their elements
// then lie side by side where the columns are, 32 or 64 bytes of a cache line.
constexpr int64_t kPanelRows = 16;

// Columns that are gathered on the stack, element by element down each column,
// before their rows are written: rows that are a power of two apart would throw
// each other out of the cache.
constexpr int64_t kBlockColumns = 32;

float Widen(float value) { return value; }

struct BFloat16 {
  uint16_t bits;
};
float Widen(BFloat16 value) { return FromBFloat16Bits(value.bits); }

struct Float16 {
  uint16_t bits;
};
float Widen(Float16 value) { return FromFloat16Bits(value.bits); }

template <typename Element>
void WidenAll(const Element* elements, int64_t count, float* widened) {
  for (int64_t i = 0; i < count; ++i) widened[i] = Widen(elements[i]);
}

template <typename Element>
void FillPanel(const FloatMatrix& matrix, int64_t first_row, int64_t row_count,
               float* panel) {
  const Element* data =
      static_cast<const Element*>(matrix.data) + first_row * matrix.row_stride;
  if (matrix.column_stride == 1) {
    for (int64_t row = 0; row < row_count; ++row)
      WidenAll(data + row * matrix.row_stride, matrix.columns,
               panel + row * matrix.columns);
    return;
  }
  Element block[kBlockColumns][kPanelRows], line[kBlockColumns];
  for (int64_t first = 0; first < matrix.columns; first += kBlockColumns) {
    const int64_t count = std::min(kBlockColumns, matrix.columns - first);
    for (int64_t i = 0; i < count; ++i) {
      const Element* elements = data + (first + i) * matrix.column_stride;
      for (int64_t row = 0; row < row_count; ++row)
        block[i][row] = elements[row * matrix.row_stride];
    }
    for (int64_t row = 0; row < row_count; ++row) {
      for (int64_t i = 0; i < count; ++i) line[i] = block[i][row];
      WidenAll(line, count, panel + row * matrix.columns + first);
    }
  }
}

}  // namespace

const float* RowReader::Row(int64_t row) {
  if (matrix_.dtype == DataType::kFloat32 && matrix_.column_stride == 1)
    return static_cast<const float*>(matrix_.data) + row * matrix_.row_stride;
  if (row < first_row_ || row >= first_row_ + row_count_) {
    const int64_t count = matrix_.column_stride == 1 ? 1 : kPanelRows;
    Fill(row, std::min(count, matrix_.rows - row));
  }
  return panel_.data() + (row - first_row_) * matrix_.columns;
}

void RowReader::Fill(int64_t first_row, int64_t count) {
  panel_.resize(std::max<size_t>(panel_.size(), count * matrix_.columns));
  first_row_ = first_row;
  row_count_ = count;
  switch (matrix_.dtype) {
    case DataType::kBFloat16:
      return FillPanel<BFloat16>(matrix_, first_row, count, panel_.data());
    case DataType::kFloat16:
      return FillPanel<Float16>(matrix_, first_row, count, panel_.data());
    default:
      return FillPanel<float>(matrix_, first_row, count, panel_.data());
  }
}

float GreatestMagnitude(const float* values, int64_t count) {
  // As integers, magnitudes are in the order of the numbers, then infinity,
  // then NaN. Signed, as that is what vectors compare.
  int32_t greatest = 0;
  for (int64_t i = 0; i < count; ++i) {
    const int32_t magnitude =
        static_cast<int32_t>(BitsOf(values[i]) & ~kFloatSign);
    greatest = greatest > magnitude ? greatest : magnitude;
  }
  return FloatOf(static_cast<uint32_t>(greatest));
}

bool IsFinite(float value) {
  return (BitsOf(value) & kFloatInfinity) != kFloatInfinity;
}

float RoundTo(DataType dtype, float value) {
  switch (dtype) {
    case DataType::kBFloat16:
      return FromBFloat16Bits(ToBFloat16Bits(value));
    case DataType::kFloat16:
      return FromFloat16Bits(ToFloat16Bits(value));
    default:
      return value;
  }
}

void StoreAs(DataType dtype, const float* values, int64_t count, void* output,
             int64_t first) {
  if (dtype == DataType::kFloat32) {
    std::memcpy(static_cast<float*>(output) + first, values,
                count * sizeof(float));
    return;
  }
  uint16_t* elements = static_cast<uint16_t*>(output) + first;
  if (dtype == DataType::kBFloat16) {
    for (int64_t i = 0; i < count; ++i) elements[i] = ToBFloat16Bits(values[i]);
  } else {
    for (int64_t i = 0; i < count; ++i) elements[i] = ToFloat16Bits(values[i]);
  }
}

}  // namespace aitune::quant
