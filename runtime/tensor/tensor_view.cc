#include "runtime/tensor/tensor_view.h"

namespace aitune {

int64_t ElementCount(const std::vector<int64_t>& sizes) {
  int64_t count = 1;
  for (int64_t size : sizes) count *= size;
  return count;
}

int64_t BytesOf(const TensorView& view) {
  return ElementCount(view.sizes) * SizeInBytes(view.dtype);
}

}  // namespace aitune
