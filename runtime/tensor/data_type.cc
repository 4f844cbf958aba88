#include "runtime/tensor/data_type.h"

#include <utility>

#include "runtime/tensor/data_type_facts.h"

namespace aitune {
namespace {

constexpr bool RowsAreInOrder() {
  int64_t number = 1;
  for (const DataTypeFacts& facts : kDataTypes) {
    if (static_cast<int64_t>(facts.dtype) != number++) return false;
  }
  return true;
}
static_assert(RowsAreInOrder());

}  // namespace

int64_t SizeInBytes(DataType dtype) {
  const DataTypeFacts* facts = FindFacts(dtype);
  return facts == nullptr ? 0 : facts->bytes;
}

bool IsDataType(int64_t number) {
  return number >= 1 && number <= static_cast<int64_t>(std::size(kDataTypes));
}

std::string_view Name(DataType dtype) {
  const DataTypeFacts* facts = FindFacts(dtype);
  return facts == nullptr ? "unknown" : facts->name;
}

std::optional<DataType> ParseDataType(std::string_view name) {
  static constexpr std::pair<std::string_view, DataType> kAliases[] = {
      {"float", DataType::kFloat32}, {"double", DataType::kFloat64},
      {"half", DataType::kFloat16},  {"long", DataType::kInt64},
      {"int", DataType::kInt32},
  };
  for (const DataTypeFacts& facts : kDataTypes) {
    if (facts.name == name) return facts.dtype;
  }
  for (const auto& [alias, dtype] : kAliases) {
    if (alias == name) return dtype;
  }
  return std::nullopt;
}

bool IsFloatingPoint(DataType dtype) {
  const DataTypeFacts* facts = FindFacts(dtype);
  return facts != nullptr && facts->kind == DataTypeFacts::Kind::kFloat;
}

bool IsHalf(DataType dtype) {
  return dtype == DataType::kFloat16 || dtype == DataType::kBFloat16;
}

}  // namespace aitune
