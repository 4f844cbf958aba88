// Nested inputs and outputs as flat lists of leaves, and back.
//
// A leaf is any value that is not a tuple, list or dict; leaf_value.h says what
// is made of it. Leaves are numbered in the order of a depth-first walk. What a
// call's inputs and outputs are beside their nesting is in input_nesting.h and
// output_buffers.h.
#ifndef AITUNE_FRONTEND_TRACE_STRUCTURE_H_
#define AITUNE_FRONTEND_TRACE_STRUCTURE_H_

#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "frontend/trace/trace.h"
#include "frontend/values/value_list.h"
#include "runtime/backend/source_model.h"

namespace aitune::frontend {

// The nesting of `values` as a tuple with one child for each of them. All
// leaves of the result are of kind kTensor, whatever they are in `values`.
Structure NestingOf(const std::vector<c10::IValue>& values);

// Whether both have the same containers with the same numbers of leaves, and
// their lists and dicts the same types of elements.
bool SameNesting(const Structure& a, const Structure& b);

// kInvalidArgument when a dict of `values`, which have the nesting `structure`,
// has its keys in another order. Thread-safe.
absl::Status CheckKeyOrder(const Structure& structure,
                           const std::vector<c10::IValue>& values);

// The leaves of `values`, of which each is a child of the tuple `structure`.
// Only containers are compared, not the kinds of leaves. kInvalidArgument when
// containers differ; the text names the place. kInternal with LibTorch's text
// when it can't copy a tensor. Thread-safe.
absl::StatusOr<std::vector<OwnedValue>> FlattenLeaves(
    const Structure& structure, const std::vector<c10::IValue>& values);

// The inverse: `leaves` in the nesting of `structure`. kInvalidArgument for
// another number of leaves. Thread-safe.
absl::StatusOr<c10::IValue> UnflattenLeaves(const Structure& structure,
                                            std::vector<c10::IValue> leaves);

}  // namespace aitune::frontend

#endif  // AITUNE_FRONTEND_TRACE_STRUCTURE_H_
