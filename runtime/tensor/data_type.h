// The element types that models use, under one name for the frontend, the
// compiler and the runtime, so that none of them needs LibTorch's or MLIR's
// headers to speak of a dtype.
#ifndef AITUNE_RUNTIME_TENSOR_DATA_TYPE_H_
#define AITUNE_RUNTIME_TENSOR_DATA_TYPE_H_

#include <cstdint>
#include <optional>
#include <string_view>

namespace aitune {

// Values are stored in plans on disk: append, never renumber.
enum class DataType : int32_t {
  kFloat32 = 1,
  kFloat64 = 2,
  kFloat16 = 3,
  kBFloat16 = 4,
  kInt64 = 5,
  kInt32 = 6,
  kInt16 = 7,
  kInt8 = 8,
  kUInt8 = 9,
  kBool = 10,          // one byte an element, 0 or 1, as LibTorch stores it
  kFloat8E4M3Fn = 11,  // 4 bits of exponent, 3 of mantissa, NaN, no infinity
};

// Whether a stored number is one of DataType's.
bool IsDataType(int64_t number);

// Bytes of one element.
int64_t SizeInBytes(DataType dtype);

// The name PyTorch prints without "torch.", for example "float32".
std::string_view Name(DataType dtype);

// The inverse of Name; also accepts "float", "double", "half", "long", "int".
// Nothing for another name.
std::optional<DataType> ParseDataType(std::string_view name);

// float32, float64, float16 and bfloat16: the dtypes that models compute in.
// float8_e4m3fn is not among them: it holds the codes of quantised tensors.
bool IsFloatingPoint(DataType dtype);

// float16 and bfloat16, whose arithmetic is float32's.
bool IsHalf(DataType dtype);

}  // namespace aitune

#endif  // AITUNE_RUNTIME_TENSOR_DATA_TYPE_H_
