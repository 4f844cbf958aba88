// The arguments that LibTorch's operators take on the CPU alone, wherever their
// other tensors are.
#ifndef AITUNE_FRONTEND_VALUES_HOST_ARGUMENTS_H_
#define AITUNE_FRONTEND_VALUES_HOST_ARGUMENTS_H_

#include <cstddef>
#include <optional>

#include "absl/strings/string_view.h"

namespace aitune::frontend {

// The position of such an argument of an operator, named with its overload, as
// "aten::lstm.data" is: the lengths of sequences that are packed and the sizes
// of their batches, the indices at which a tensor is split.
std::optional<size_t> HostArgument(absl::string_view name);

}  // namespace aitune::frontend

#endif  // AITUNE_FRONTEND_VALUES_HOST_ARGUMENTS_H_
