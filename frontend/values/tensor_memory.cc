#include "frontend/values/tensor_memory.h"

#include <ATen/Functions.h>
#include <ATen/core/Tensor.h>

#include <algorithm>

namespace aitune::frontend {
namespace {

bool IsQuantizedByChannel(const at::Tensor& tensor) {
  return tensor.is_quantized() &&
         (tensor.qscheme() == at::kPerChannelAffine ||
          tensor.qscheme() == at::kPerChannelAffineFloatQParams);
}

// Whether all of its memory is that of one storage.
bool IsOnePart(const at::Tensor& tensor) {
  return tensor.defined() && tensor.layout() == at::kStrided &&
         tensor.has_storage() && !tensor.is_nested() && !tensor.is_quantized();
}

}  // namespace

std::vector<at::Tensor> DenseParts(const at::Tensor& tensor) {
  if (!tensor.defined()) return {};
  switch (tensor.layout()) {
    case at::kSparse:
      return {tensor._indices(), tensor._values()};
    case at::kSparseCsr:
    case at::kSparseBsr:
      return {tensor.crow_indices(), tensor.col_indices(), tensor.values()};
    case at::kSparseCsc:
    case at::kSparseBsc:
      return {tensor.ccol_indices(), tensor.row_indices(), tensor.values()};
    default:
      break;
  }
  if (!tensor.has_storage()) return {};
  if (tensor.is_nested())
    return {tensor, tensor._nested_tensor_size(),
            tensor._nested_tensor_strides(),
            tensor._nested_tensor_storage_offsets()};
  if (IsQuantizedByChannel(tensor))
    return {tensor, tensor.q_per_channel_scales(),
            tensor.q_per_channel_zero_points()};
  return {tensor};
}

bool ShareMemory(const at::Tensor& a, const at::Tensor& b) {
  // Asked for each result of each call: without a list of parts.
  if (IsOnePart(a) && IsOnePart(b)) return a.storage().is_alias_of(b.storage());
  const std::vector<at::Tensor> of_a = DenseParts(a), of_b = DenseParts(b);
  return std::any_of(of_a.begin(), of_a.end(), [&](const at::Tensor& one) {
    return std::any_of(of_b.begin(), of_b.end(), [&](const at::Tensor& other) {
      return one.storage().is_alias_of(other.storage());
    });
  });
}

at::Tensor CopyOf(const at::Tensor& tensor) {
  if (tensor.is_nested())
    return at::_nested_view_from_buffer(
        tensor.values().clone(), tensor._nested_tensor_size().clone(),
        tensor._nested_tensor_strides().clone(),
        tensor._nested_tensor_storage_offsets().clone());
  if (IsQuantizedByChannel(tensor))
    return at::_make_per_channel_quantized_tensor(
        tensor.int_repr(), tensor.q_per_channel_scales().clone(),
        tensor.q_per_channel_zero_points().clone(),
        tensor.q_per_channel_axis());
  return tensor.clone();
}

}  // namespace aitune::frontend
