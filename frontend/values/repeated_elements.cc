#include "frontend/values/repeated_elements.h"

#include <ATen/Functions.h>

#include <algorithm>

namespace aitune::frontend {

at::Tensor RepeatedElements(at::IntArrayRef sizes,
                            const std::function<at::Tensor(int64_t)>& make) {
  const int64_t count = c10::multiply_integers(sizes);
  const at::Tensor distinct = make(std::min(count, kDistinctElements));
  if (distinct.numel() == count) return distinct.view(sizes);
  at::Tensor tensor = at::empty(sizes, distinct.options());
  const at::Tensor elements = tensor.view({-1});
  for (int64_t first = 0; first < count; first += kDistinctElements) {
    const int64_t length = std::min(kDistinctElements, count - first);
    elements.narrow(0, first, length).copy_(distinct.narrow(0, 0, length));
  }
  return tensor;
}

}  // namespace aitune::frontend
