// Memory of the host for one tensor, with guards on both sides that show what
// was written beside it.
#ifndef AITUNE_COMPILER_MEASURE_HOSTTENSOR_H
#define AITUNE_COMPILER_MEASURE_HOSTTENSOR_H

#include <cstdint>

#include "runtime/cpu/aligned_buffer.h"
#include "runtime/tensor/tensor_view.h"

namespace aitune {

/// Aligned and on huge pages as the memory of a plan is, so that candidates are
/// as fast as there. Movable: the tensor keeps its place. Not thread-safe.
class HostTensor {
public:
  /// The content of the guards.
  static constexpr char kGuard = '\xa5';

  /// Uninitialised memory for a tensor of the type and the sizes of `shape`,
  /// whose data is not read, with at least `guardBytes` before and behind it.
  explicit HostTensor(TensorView shape, int64_t guardBytes = 64);

  /// The tensor; valid as long as this lives. Its data is not null, even
  /// without elements.
  const TensorView &view() const { return tensor; }
  /// The bytes of the tensor, without its guards.
  int64_t bytes() const { return BytesOf(tensor); }
  /// Sets all bytes of the tensor.
  void fill(char byte);
  /// Reads as many bytes as the tensor has.
  void copyFrom(const void *data);
  /// Whether the guards are as they were.
  bool isIntact() const;
  /// Makes them so, after something has written to them.
  void restoreGuards();

private:
  TensorView tensor;
  AlignedBuffer memory;
};

} // namespace aitune

#endif // AITUNE_COMPILER_MEASURE_HOSTTENSOR_H
