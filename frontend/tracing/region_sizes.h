// What a region of control flow does to the sizes of its results, as its
// program shows. Internal: includes LibTorch.
#ifndef AITUNE_FRONTEND_TRACING_REGION_SIZES_H_
#define AITUNE_FRONTEND_TRACING_REGION_SIZES_H_

#include <torch/csrc/jit/ir/ir.h>

#include <set>

namespace aitune::frontend {

// Whether the sizes of values in the block of a region may depend on data in
// another way than by the region's own branches: by a mask that picks elements,
// by lengths that are read from tensors, or by control flow in the block.
bool MayPickSizes(torch::jit::Block* block);

// Whether a value of this type, or a part of it, is of one of `kinds`, or of
// any type.
bool MayHold(const c10::Type& type, const std::set<c10::TypeKind>& kinds);

}  // namespace aitune::frontend

#endif  // AITUNE_FRONTEND_TRACING_REGION_SIZES_H_
