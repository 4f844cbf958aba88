// The pool of a model's constants, as passes see it. The IR refers to constants
// by number (ait.constant), so that weights of gigabytes stay out of it; a pass
// that computes with their content is given this.
#ifndef AITUNE_COMPILER_SUPPORT_CONSTANTPOOL_H
#define AITUNE_COMPILER_SUPPORT_CONSTANTPOOL_H

#include <cstdint>
#include <functional>

#include "runtime/tensor/tensor_view.h"

namespace aitune {

/// Both functions are called on the thread that runs the pass, and may be null
/// where there is no pool.
struct ConstantPool {
  /// Returns the constant with this number, contiguous and on the host; null if
  /// there is none. It stays until the next `add`.
  std::function<const ConstantTensor *(int64_t number)> find;
  /// Adds a constant, which owns its data, and returns its number.
  std::function<int64_t(ConstantTensor constant)> add;
};

} // namespace aitune

#endif // AITUNE_COMPILER_SUPPORT_CONSTANTPOOL_H
