#include "frontend/values/recurrent_sizes.h"

#include <ATen/core/Tensor.h>

#include <string>
#include <utility>

namespace aitune::frontend {
namespace {

// The gates of a cell; 0: the operator is no recurrent layer.
int64_t GatesOf(const std::string& name) {
  if (name == "aten::lstm") return 4;
  if (name == "aten::gru") return 3;
  return name == "aten::rnn_tanh" || name == "aten::rnn_relu" ? 1 : 0;
}

bool HasSizes(const at::Tensor& tensor, at::IntArrayRef sizes) {
  return tensor.defined() && tensor.sizes() == sizes;
}

}  // namespace

bool IsRecurrent(const c10::FunctionSchema& schema) {
  return GatesOf(schema.name()) > 0 && schema.overload_name() == "input";
}

std::optional<std::vector<std::vector<int64_t>>> RecurrentSizes(
    const c10::FunctionSchema& schema, const std::vector<c10::IValue>& stack) {
  const int64_t gates = GatesOf(schema.name());
  const bool has_cell = gates == 4;
  if (stack.size() < 9 || !stack[0].isTensor() || !stack[2].isTensorList() ||
      (has_cell ? !stack[1].isTensorList() : !stack[1].isTensor()))
    return std::nullopt;
  const at::Tensor& input = stack[0].toTensor();
  const std::vector<at::Tensor> states =
      has_cell ? stack[1].toTensorVector()
               : std::vector<at::Tensor>{stack[1].toTensor()};
  const std::vector<at::Tensor> weights = stack[2].toTensorVector();
  const bool has_biases = stack[3].toBool(), batch_first = stack[8].toBool();
  const int64_t layers = stack[4].toInt(),
                directions = stack[7].toBool() ? 2 : 1;
  if (input.dim() != 3 || states.size() != (has_cell ? 2 : 1) || layers < 1)
    return std::nullopt;
  const int64_t steps = input.size(batch_first ? 1 : 0),
                batch = input.size(batch_first ? 0 : 1),
                cells = layers * directions, least = has_biases ? 4 : 2;
  const auto count = static_cast<int64_t>(weights.size());
  const bool projects = has_cell && count == cells * (least + 1);
  const int64_t each = least + (projects ? 1 : 0);
  if (steps < 1 || count != cells * each || !weights[0].defined() ||
      weights[0].dim() != 2 || weights[0].size(0) % gates != 0)
    return std::nullopt;
  const int64_t hidden = weights[0].size(0) / gates;
  const at::Tensor& last = weights[static_cast<size_t>(each - 1)];
  if (projects && (!last.defined() || last.dim() != 2)) return std::nullopt;
  const int64_t given = projects ? last.size(0) : hidden;
  if (!HasSizes(states[0], {cells, batch, given}) ||
      (has_cell && !HasSizes(states[1], {cells, batch, hidden})))
    return std::nullopt;
  for (int64_t cell = 0; cell < cells; ++cell) {
    const at::Tensor* const own = weights.data() + cell * each;
    const int64_t width =
        cell < directions ? input.size(2) : directions * given;
    if (!HasSizes(own[0], {gates * hidden, width}) ||
        !HasSizes(own[1], {gates * hidden, given}) ||
        (has_biases && (!HasSizes(own[2], {gates * hidden}) ||
                        !HasSizes(own[3], {gates * hidden}))) ||
        (projects && !HasSizes(own[least], {given, hidden})))
      return std::nullopt;
  }
  std::vector<std::vector<int64_t>> sizes = {{steps, batch, directions * given},
                                             states[0].sizes().vec()};
  if (batch_first) std::swap(sizes[0][0], sizes[0][1]);
  if (has_cell) sizes.push_back(states[1].sizes().vec());
  return sizes;
}

}  // namespace aitune::frontend
