#include "runtime/tensor/data_type.h"

#include <utility>

namespace aitune {

int64_t SizeInBytes(DataType dtype) {
  switch (dtype) {
    case DataType::kFloat64:
    case DataType::kInt64:
      return 8;
    case DataType::kFloat32:
    case DataType::kInt32:
      return 4;
    case DataType::kFloat16:
    case DataType::kBFloat16:
    case DataType::kInt16:
      return 2;
    case DataType::kInt8:
    case DataType::kUInt8:
    case DataType::kBool:
    case DataType::kFloat8E4M3Fn:
      return 1;
  }
  return 0;
}

bool IsDataType(int64_t number) {
  return number >= static_cast<int64_t>(DataType::kFloat32) &&
         number <= static_cast<int64_t>(DataType::kFloat8E4M3Fn);
}

std::string_view Name(DataType dtype) {
  switch (dtype) {
    case DataType::kFloat32:
      return "float32";
    case DataType::kFloat64:
      return "float64";
    case DataType::kFloat16:
      return "float16";
    case DataType::kBFloat16:
      return "bfloat16";
    case DataType::kInt64:
      return "int64";
    case DataType::kInt32:
      return "int32";
    case DataType::kInt16:
      return "int16";
    case DataType::kInt8:
      return "int8";
    case DataType::kUInt8:
      return "uint8";
    case DataType::kBool:
      return "bool";
    case DataType::kFloat8E4M3Fn:
      return "float8_e4m3fn";
  }
  return "unknown";
}

std::optional<DataType> ParseDataType(std::string_view name) {
  static constexpr std::pair<std::string_view, DataType> kNames[] = {
      {"float32", DataType::kFloat32},
      {"float", DataType::kFloat32},
      {"float64", DataType::kFloat64},
      {"double", DataType::kFloat64},
      {"float16", DataType::kFloat16},
      {"half", DataType::kFloat16},
      {"bfloat16", DataType::kBFloat16},
      {"int64", DataType::kInt64},
      {"long", DataType::kInt64},
      {"int32", DataType::kInt32},
      {"int", DataType::kInt32},
      {"int16", DataType::kInt16},
      {"int8", DataType::kInt8},
      {"uint8", DataType::kUInt8},
      {"bool", DataType::kBool},
      {"float8_e4m3fn", DataType::kFloat8E4M3Fn},
  };
  for (const auto& [candidate, dtype] : kNames) {
    if (candidate == name) return dtype;
  }
  return std::nullopt;
}

bool IsFloatingPoint(DataType dtype) {
  return dtype == DataType::kFloat32 || dtype == DataType::kFloat64 ||
         dtype == DataType::kFloat16 || dtype == DataType::kBFloat16;
}

}  // namespace aitune
