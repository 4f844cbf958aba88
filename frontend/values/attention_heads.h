// Attention that LibTorch does not survive.
#ifndef AITUNE_FRONTEND_VALUES_ATTENTION_HEADS_H_
#define AITUNE_FRONTEND_VALUES_ATTENTION_HEADS_H_

#include <ATen/core/Tensor.h>

namespace aitune::frontend {

// Whether `operand`, a query or key [batch, heads, length, depth] of
// aten::scaled_dot_product_attention, has no heads: where neither has, the
// kernel for CPUs, which is for floating-point numbers, divides by their number
// and ends the process (PyTorch 2.11).
inline bool HasNoHeads(const at::Tensor& operand) {
  return operand.dim() == 4 && operand.size(1) == 0 &&
         operand.is_floating_point();
}

}  // namespace aitune::frontend

#endif  // AITUNE_FRONTEND_VALUES_ATTENTION_HEADS_H_
