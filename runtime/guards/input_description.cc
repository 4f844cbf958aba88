#include "runtime/guards/input_description.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace aitune {
namespace {

// Whether the axes, from the outermost to the innermost in memory, are packed.
bool IsPacked(absl::Span<const int64_t> sizes,
              absl::Span<const int64_t> strides, absl::Span<const int> order) {
  int64_t expected = 1;
  for (size_t i = order.size(); i-- > 0;) {
    const int axis = order[i];
    if (sizes[axis] == 1) continue;
    if (strides[axis] != expected) return false;
    expected *= sizes[axis];
  }
  return true;
}

std::string ConstantText(InputKind kind, int64_t integer, double number,
                         std::string_view text) {
  switch (kind) {
    case InputKind::kInt:
      return absl::StrCat(integer);
    case InputKind::kFloat:
      return absl::StrCat(number);
    case InputKind::kBool:
      return integer != 0 ? "True" : "False";
    case InputKind::kString:
      return absl::StrCat("'", std::string(text), "'");
    case InputKind::kNone:
    case InputKind::kTensor:
      break;
  }
  return "None";
}

std::string AxisText(const AxisRange& axis) {
  if (!axis.dynamic()) return absl::StrCat(axis.min);
  return absl::StrCat(
      axis.min, "..",
      axis.max == AxisRange::kUnbounded ? "" : absl::StrCat(axis.max));
}

}  // namespace

std::string_view Name(MemoryLayout layout) {
  switch (layout) {
    case MemoryLayout::kContiguous:
      return "contiguous";
    case MemoryLayout::kChannelsLast:
      return "channels_last";
    case MemoryLayout::kStrided:
      break;
  }
  return "strided";
}

MemoryLayout LayoutOf(absl::Span<const int64_t> sizes,
                      absl::Span<const int64_t> strides) {
  if (sizes.size() != strides.size()) return MemoryLayout::kStrided;
  int64_t expected = 1;
  bool contiguous = true;
  for (size_t axis = sizes.size(); axis-- > 0;) {
    if (sizes[axis] == 0) return MemoryLayout::kContiguous;  // no elements
    if (sizes[axis] == 1) continue;
    contiguous = contiguous && strides[axis] == expected;
    expected *= sizes[axis];
  }
  if (contiguous) return MemoryLayout::kContiguous;
  static constexpr int kNhwc[] = {0, 2, 3, 1};
  if (sizes.size() == 4 && IsPacked(sizes, strides, kNhwc))
    return MemoryLayout::kChannelsLast;
  return MemoryLayout::kStrided;
}

CallInput CallInput::Tensor(const TensorView& view) {
  CallInput input;
  input.dtype = view.dtype;
  input.sizes = view.sizes;
  return input;
}

CallInput CallInput::Int(int64_t value) {
  CallInput input;
  input.kind = InputKind::kInt;
  input.integer = value;
  return input;
}

CallInput CallInput::Float(double value) {
  CallInput input;
  input.kind = InputKind::kFloat;
  input.number = value;
  return input;
}

CallInput CallInput::Bool(bool value) {
  CallInput input;
  input.kind = InputKind::kBool;
  input.integer = value ? 1 : 0;
  return input;
}

CallInput CallInput::String(std::string_view value) {
  CallInput input;
  input.kind = InputKind::kString;
  input.text = value;
  return input;
}

CallInput CallInput::None() {
  CallInput input;
  input.kind = InputKind::kNone;
  return input;
}

std::string ToString(const CallInput& input) {
  if (input.kind != InputKind::kTensor)
    return ConstantText(input.kind, input.integer, input.number, input.text);
  return absl::StrCat(std::string(Name(input.dtype)), "[",
                      absl::StrJoin(input.sizes, ", "), "]");
}

InputDescription InputDescription::Of(const CallInput& input) {
  InputDescription description;
  description.kind = input.kind;
  description.dtype = input.dtype;
  description.layout = input.layout;
  description.device = std::string(input.device);
  for (int64_t size : input.sizes) description.axes.push_back({size, size});
  description.integer = input.integer;
  description.number = input.number;
  description.text = std::string(input.text);
  return description;
}

std::string ToString(const InputDescription& description) {
  if (description.kind != InputKind::kTensor)
    return ConstantText(description.kind, description.integer,
                        description.number, description.text);
  return absl::StrCat(
      std::string(Name(description.dtype)), "[",
      absl::StrJoin(description.axes, ", ",
                    [](std::string* out, const AxisRange& axis) {
                      absl::StrAppend(out, AxisText(axis));
                    }),
      "]");
}

}  // namespace aitune
