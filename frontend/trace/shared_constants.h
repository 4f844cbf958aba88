// Copies of a trace's constants on a GPU. The versions of a model have the same
// constants, its weights: they share one copy of each.
// Internal: includes LibTorch.
#ifndef AITUNE_FRONTEND_TRACE_SHARED_CONSTANTS_H_
#define AITUNE_FRONTEND_TRACE_SHARED_CONSTANTS_H_

#include <ATen/core/TensorBody.h>
#include <c10/core/Device.h>

#include <cstdint>
#include <memory>

#include "runtime/tensor/tensor_view.h"

namespace aitune::frontend {

struct SharedConstant {
  at::Tensor tensor;  // to be read only
  // Keeps the memory that was copied, so that no other has its address.
  std::shared_ptr<const void> owner;
};

// A copy of `constant` on `device`: the one that somebody still keeps, or a new
// one. Of a constant without an owner always a new one. May throw LibTorch's
// exceptions. Thread-safe.
std::shared_ptr<const SharedConstant> CopyOfConstant(
    const ConstantTensor& constant, const c10::Device& device);

// The bytes of `copy` over the number of those who keep it, so that all of them
// together count it once.
int64_t PartOf(const std::shared_ptr<const SharedConstant>& copy);

}  // namespace aitune::frontend

#endif  // AITUNE_FRONTEND_TRACE_SHARED_CONSTANTS_H_
