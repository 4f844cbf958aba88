// The constants of a model that is compiled: those that it came with, and those
// that passes compute from them.
//
// Passes see both as one pool in which a constant never changes its number.
// What they add is part of the compiler's result; the model's own stay the
// caller's.
#ifndef AITUNE_COMPILER_DRIVER_MODELCONSTANTS_H
#define AITUNE_COMPILER_DRIVER_MODELCONSTANTS_H

#include <vector>

#include "absl/types/span.h"
#include "compiler/support/ConstantPool.h"
#include "runtime/tensor/tensor_view.h"

namespace aitune {

/// Not thread-safe.
class ModelConstants {
public:
  /// For a model that came with the constants `given`. Passes add to `added`,
  /// which is empty. Both must live as long.
  ModelConstants(absl::Span<const ConstantTensor> given,
                 std::vector<ConstantTensor> &added)
      : given(given), added(added), constants(given) {}
  ModelConstants(const ModelConstants &) = delete;
  ModelConstants &operator=(const ModelConstants &) = delete;

  /// Those that the model came with.
  absl::Span<const ConstantTensor> ofModel() const { return given; }
  /// Those of the model, then what was added before the last takeNew. Until the
  /// next one.
  absl::Span<const ConstantTensor> all() const { return constants; }
  /// For passes that run before the next takeNew; refers to this.
  ConstantPool pool();
  /// Puts what passes have added behind the model's constants.
  void takeNew();

private:
  const absl::Span<const ConstantTensor> given;
  std::vector<ConstantTensor> &added;
  absl::Span<const ConstantTensor> constants;
  /// What `constants` refers to once takeNew was called.
  std::vector<ConstantTensor> together;
};

} // namespace aitune

#endif // AITUNE_COMPILER_DRIVER_MODELCONSTANTS_H
