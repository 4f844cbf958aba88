#include "frontend/values/host_arguments.h"

namespace aitune::frontend {

std::optional<size_t> HostArgument(absl::string_view name) {
  for (const char* const one :
       {"aten::_pack_padded_sequence", "aten::_pad_packed_sequence",
        "aten::gru.data", "aten::lstm.data", "aten::rnn_relu.data",
        "aten::rnn_tanh.data", "aten::tensor_split.tensor_indices_or_sections"})
    if (name == one) return 1;
  return std::nullopt;
}

}  // namespace aitune::frontend
