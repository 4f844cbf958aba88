#include "compiler/driver/Constants.h"

#include <algorithm>

namespace aitune {

int64_t bytesOf(absl::Span<const ConstantTensor> constants) {
  int64_t bytes = 0;
  for (const ConstantTensor &constant : constants)
    bytes += BytesOf(constant.view);
  return bytes;
}

std::optional<std::pair<int64_t, int64_t>>
rangeOf(absl::Span<const ConstantTensor> constants, int64_t constant) {
  if (constant < 0 || constant >= static_cast<int64_t>(constants.size()))
    return std::nullopt;
  const TensorView &view = constants[constant].view;
  const int64_t count = ElementCount(view.sizes);
  if (count == 0 || view.data == nullptr)
    return std::nullopt;
  auto find = [&](const auto *data) {
    const auto [least, greatest] = std::minmax_element(data, data + count);
    return std::pair<int64_t, int64_t>(*least, *greatest);
  };
  switch (view.dtype) {
  case DataType::kInt64:
    return find(static_cast<const int64_t *>(view.data));
  case DataType::kInt32:
    return find(static_cast<const int32_t *>(view.data));
  case DataType::kInt16:
    return find(static_cast<const int16_t *>(view.data));
  case DataType::kInt8:
    return find(static_cast<const int8_t *>(view.data));
  case DataType::kUInt8:
    return find(static_cast<const uint8_t *>(view.data));
  default:
    return std::nullopt;
  }
}

} // namespace aitune
