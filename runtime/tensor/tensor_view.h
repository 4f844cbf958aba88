// A tensor by reference: what crosses the boundary between a caller, a plan's
// steps and a fallback region, with no LibTorch type in sight.
#ifndef AITUNE_RUNTIME_TENSOR_TENSOR_VIEW_H_
#define AITUNE_RUNTIME_TENSOR_TENSOR_VIEW_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "runtime/tensor/data_type.h"

namespace aitune {

// Dense, row-major ("contiguous") data that someone else owns. Sizes are in
// elements. `data` may be null for a tensor with no elements. A view that is
// only a shape, such as one of ViewOf (plan.h) or a constant whose content is
// not at hand, has null data as well: who reads elements and may get one, asks
// for null first.
struct TensorView {
  void* data = nullptr;
  DataType dtype = DataType::kFloat32;
  std::vector<int64_t> sizes;  // elements of each axis, the outermost first
};

// A weight or a folded constant. Immutable after import; shared by copies.
struct ConstantTensor {
  TensorView view;
  std::shared_ptr<const void> owner;  // keeps view.data alive
  std::string name;  // the model's name for it, such as "layer1.0.conv1.weight"
};

// The number of elements: the product of the sizes, 1 for rank 0.
int64_t ElementCount(const std::vector<int64_t>& sizes);

// The bytes that the elements of `view` take, whether or not it has data.
int64_t BytesOf(const TensorView& view);

}  // namespace aitune

#endif  // AITUNE_RUNTIME_TENSOR_TENSOR_VIEW_H_
