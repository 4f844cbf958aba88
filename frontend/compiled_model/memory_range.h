// The memory that a dense tensor takes, to tell whether tensors share some.
#ifndef AITUNE_FRONTEND_COMPILED_MODEL_MEMORY_RANGE_H_
#define AITUNE_FRONTEND_COMPILED_MODEL_MEMORY_RANGE_H_

#include "runtime/tensor/tensor_view.h"

namespace aitune::frontend {

// The bytes from `begin` to before `end`; none where both are equal.
struct MemoryRange {
  const char *begin, *end;

  static MemoryRange Of(const TensorView& view) {
    const auto* begin = static_cast<const char*>(view.data);
    return {begin, begin + ElementCount(view.sizes) * SizeInBytes(view.dtype)};
  }
};

}  // namespace aitune::frontend

#endif  // AITUNE_FRONTEND_COMPILED_MODEL_MEMORY_RANGE_H_
