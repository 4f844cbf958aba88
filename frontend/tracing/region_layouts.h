// How tensors that a region is given (region_runner.h) lie in memory.
//
// Compiled code and regions give tensors whose rows lie one behind the other,
// and eager's may be views: transposed, or with gaps. Where a region may show
// the difference, it gets the memory of such a tensor and makes the same views
// of it. Internal: includes LibTorch.
#ifndef AITUNE_FRONTEND_TRACING_REGION_LAYOUTS_H_
#define AITUNE_FRONTEND_TRACING_REGION_LAYOUTS_H_

#include <ATen/core/TensorBody.h>
#include <torch/csrc/jit/ir/alias_analysis.h>
#include <torch/csrc/jit/ir/ir.h>

#include <cstddef>
#include <cstdint>
#include <vector>

#include "frontend/trace/recorded_op.h"
#include "frontend/tracing/recorded_views.h"

namespace aitune::frontend {

struct TensorLayout {
  size_t place = 0;  // among the program's arguments
  // The place of each axis of the memory's tensor among the axes of what comes
  // in, whose rows lie one behind the other.
  std::vector<int64_t> axes;
  RecordedViews views;  // from that tensor to the argument
};

// `program`, which takes `count` arguments: those of `layouts` come as the
// memory that they are views of, and the arguments of these views behind all
// others. The program throws LibTorch's exceptions.
RecordedProgram WithLayouts(RecordedProgram program,
                            std::vector<TensorLayout> layouts, size_t count);

// Whether two tensors of the same sizes have their elements in the same places
// of memory. Thread-safe.
bool HaveOneLayout(const at::Tensor& a, const at::Tensor& b);

// Whether the blocks of `node` write what an operator gives that is a view or a
// copy, by the strides of its tensor. Not thread-safe: it changes `aliases`.
bool WritesPossibleViews(torch::jit::Node* node, torch::jit::AliasDb& aliases);

// An operator that copies a tensor with all of its memory, so that the copy
// lies there as the tensor does. Thread-safe.
c10::Symbol CloneOfMemoryKind();

}  // namespace aitune::frontend

#endif  // AITUNE_FRONTEND_TRACING_REGION_LAYOUTS_H_
