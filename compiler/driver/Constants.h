// What the compiler asks of a model's constants.
#ifndef AITUNE_COMPILER_DRIVER_CONSTANTS_H
#define AITUNE_COMPILER_DRIVER_CONSTANTS_H

#include <cstdint>
#include <optional>
#include <utility>

#include "absl/types/span.h"
#include "runtime/tensor/tensor_view.h"

namespace aitune {

/// The bytes of all constants together.
int64_t bytesOf(absl::Span<const ConstantTensor> constants);

/// The least and greatest element of an integer constant of the pool; not set
/// for other types, without elements and for a number that is none.
std::optional<std::pair<int64_t, int64_t>>
rangeOf(absl::Span<const ConstantTensor> constants, int64_t constant);

} // namespace aitune

#endif // AITUNE_COMPILER_DRIVER_CONSTANTS_H
