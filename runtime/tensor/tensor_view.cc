#include "runtime/tensor/tensor_view.h"

namespace aitune {

int64_t ElementCount(const std::vector<int64_t>& sizes) {
  int64_t count = 1;
  for (int64_t size : sizes) count *= size;
  return count;
}

bool Overlap(const TensorView& a, const TensorView& b) {
  const auto begin = [](const TensorView& view) {
    return reinterpret_cast<uintptr_t>(view.data);
  };
  const auto end = [&](const TensorView& view) {
    return begin(view) + static_cast<uintptr_t>(ElementCount(view.sizes) *
                                                SizeInBytes(view.dtype));
  };
  return begin(a) < end(b) && begin(b) < end(a);
}

}  // namespace aitune
