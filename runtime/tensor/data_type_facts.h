// What is known of each element type, in a row each.
#ifndef AITUNE_RUNTIME_TENSOR_DATA_TYPE_FACTS_H_
#define AITUNE_RUNTIME_TENSOR_DATA_TYPE_FACTS_H_

#include <cstdint>
#include <iterator>
#include <limits>
#include <string_view>

#include "runtime/tensor/data_type.h"

namespace aitune {

struct DataTypeFacts {
  enum class Kind {
    kFloat,      // a dtype that models compute in
    kFloatCode,  // a float that holds the codes of quantised tensors
    kSigned,     // an integer
    kUnsigned,   // an integer or a bool
  };

  DataType dtype;
  std::string_view name;  // what PyTorch prints without "torch."
  int bytes;              // the bytes of an element
  int bits;               // the bits of its value: one of a bool
  Kind kind;
  // The bits of the significand with the hidden one, the greatest finite number
  // and the least positive normal one, of both kinds of floats.
  int digits = 0;
  double greatest = 0, normal = 0;

  // Whether its numbers are floats, be they codes or not.
  constexpr bool IsFloat() const {
    return kind == Kind::kFloat || kind == Kind::kFloatCode;
  }
};

// Of dtype i in row i - 1.
inline constexpr DataTypeFacts kDataTypes[] = {
    {DataType::kFloat32, "float32", 4, 32, DataTypeFacts::Kind::kFloat, 24,
     std::numeric_limits<float>::max(), 0x1p-126},
    {DataType::kFloat64, "float64", 8, 64, DataTypeFacts::Kind::kFloat, 53,
     std::numeric_limits<double>::max(), 0x1p-1022},
    {DataType::kFloat16, "float16", 2, 16, DataTypeFacts::Kind::kFloat, 11,
     65504, 0x1p-14},
    {DataType::kBFloat16, "bfloat16", 2, 16, DataTypeFacts::Kind::kFloat, 8,
     0x1.fep127, 0x1p-126},
    {DataType::kInt64, "int64", 8, 64, DataTypeFacts::Kind::kSigned},
    {DataType::kInt32, "int32", 4, 32, DataTypeFacts::Kind::kSigned},
    {DataType::kInt16, "int16", 2, 16, DataTypeFacts::Kind::kSigned},
    {DataType::kInt8, "int8", 1, 8, DataTypeFacts::Kind::kSigned},
    {DataType::kUInt8, "uint8", 1, 8, DataTypeFacts::Kind::kUnsigned},
    {DataType::kBool, "bool", 1, 1, DataTypeFacts::Kind::kUnsigned},
    {DataType::kFloat8E4M3Fn, "float8_e4m3fn", 1, 8,
     DataTypeFacts::Kind::kFloatCode, 4, 448, 0x1p-6},
};

// Null for a number that is no DataType's.
constexpr const DataTypeFacts* FindFacts(DataType dtype) {
  const int64_t row = static_cast<int64_t>(dtype) - 1;
  return row >= 0 && row < static_cast<int64_t>(std::size(kDataTypes))
             ? &kDataTypes[row]
             : nullptr;
}

}  // namespace aitune

#endif  // AITUNE_RUNTIME_TENSOR_DATA_TYPE_FACTS_H_
