#include "frontend/tracing/convolution_sizes.h"

#include <ATen/core/Tensor.h>

#include "absl/strings/match.h"
#include "frontend/tracing/operator_traits.h"

namespace aitune::frontend {

bool IsConvolution(const std::string& name) {
  return name == "aten::conv1d" || name == "aten::conv2d" ||
         name == "aten::conv3d" || name == "aten::convolution" ||
         name == "aten::_convolution" ||
         absl::StartsWith(name, "aten::conv_transpose");
}

std::optional<std::vector<std::vector<int64_t>>> ConvolutionSizes(
    const c10::FunctionSchema& schema, const std::vector<c10::IValue>& stack) {
  const auto find = [&](const char* name) -> const c10::IValue* {
    const std::optional<size_t> position = FindArgument(schema, name);
    return position && *position < stack.size() ? &stack[*position] : nullptr;
  };
  const at::Tensor& input = stack[0].toTensor();
  const at::Tensor& weight = stack[1].toTensor();
  const int64_t spatial = weight.dim() - 2;
  const bool batched = input.dim() == weight.dim();
  const auto number = [&](const char* name, int64_t axis, int64_t otherwise) {
    const c10::IValue* value = find(name);
    if (value == nullptr || !value->isIntList()) return otherwise;
    const std::vector<int64_t> list = value->toIntVector();
    if (list.empty()) return otherwise;
    return list[list.size() == 1 ? 0 : static_cast<size_t>(axis)];
  };
  const c10::IValue* padding_mode = find("padding");
  const bool same = padding_mode != nullptr && padding_mode->isString() &&
                    padding_mode->toStringRef() == "same";
  const c10::IValue* flag = find("transposed");
  const bool transposed = absl::StrContains(schema.name(), "transpose") ||
                          (flag != nullptr && flag->isBool() && flag->toBool());
  const c10::IValue* groups_value = find("groups");
  const int64_t groups = groups_value != nullptr && groups_value->isInt()
                             ? groups_value->toInt()
                             : 1;
  const int64_t channel_axis = batched ? 1 : 0;
  const int64_t channels = input.size(channel_axis);
  if (channels != (transposed ? weight.size(0) : weight.size(1) * groups))
    return std::nullopt;
  // LibTorch takes no images without pixels, unless there are no images.
  const bool has_images = channels > 0 && (!batched || input.size(0) > 0);
  if (has_images && input.numel() == 0) return std::nullopt;
  std::vector<int64_t> result = input.sizes().vec();
  result[static_cast<size_t>(channel_axis)] =
      transposed ? weight.size(1) * groups : weight.size(0);
  for (int64_t axis = 0; axis < spatial; ++axis) {
    int64_t& size = result[static_cast<size_t>(channel_axis + 1 + axis)];
    const int64_t dilation = number("dilation", axis, 1);
    const int64_t reach = dilation * (weight.size(axis + 2) - 1) + 1;
    const int64_t stride = number("stride", axis, 1);
    const int64_t padding = number("padding", axis, 0);
    if (transposed) {
      size = (size - 1) * stride - 2 * padding + reach +
             number("output_padding", axis, 0);
    } else if (!same) {
      if (size + 2 * padding < reach) return std::nullopt;
      size = (size + 2 * padding - reach) / stride + 1;
    }
    if (size < (transposed ? 1 : 0)) return std::nullopt;
  }
  return std::vector<std::vector<int64_t>>{result};
}

}  // namespace aitune::frontend
