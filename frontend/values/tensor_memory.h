// The memory of tensors that are made of others: a sparse tensor keeps the
// indices and values that it was made of, and so has their memory though no
// schema says so. Internal: includes LibTorch.
#ifndef AITUNE_FRONTEND_VALUES_TENSOR_MEMORY_H_
#define AITUNE_FRONTEND_VALUES_TENSOR_MEMORY_H_

#include <ATen/core/TensorBody.h>

#include <vector>

namespace aitune::frontend {

// The dense tensors whose memory `tensor` is in: itself, or the parts that a
// sparse, nested or quantised tensor keeps. Empty if it is undefined or has
// memory that no other tensor can have. Thread-safe; may throw c10::Error.
std::vector<at::Tensor> DenseParts(const at::Tensor& tensor);

// Whether a write to one could change the other. Thread-safe; may throw.
bool ShareMemory(const at::Tensor& a, const at::Tensor& b);

// The same value in memory of its own, that of its parts too: Tensor::clone
// leaves some of them. Precondition: defined. Thread-safe; may throw.
at::Tensor CopyOf(const at::Tensor& tensor);

}  // namespace aitune::frontend

#endif  // AITUNE_FRONTEND_VALUES_TENSOR_MEMORY_H_
