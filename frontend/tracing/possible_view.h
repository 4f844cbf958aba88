// The result of an operator that gives a view where the memory of its tensor
// allows it, and a copy elsewhere. Internal: includes LibTorch.
#ifndef AITUNE_FRONTEND_TRACING_POSSIBLE_VIEW_H_
#define AITUNE_FRONTEND_TRACING_POSSIBLE_VIEW_H_

#include <ATen/core/TensorBody.h>
#include <c10/core/MemoryFormat.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/types/span.h"
#include "frontend/trace/trace.h"
#include "frontend/tracing/probed_value.h"

namespace aitune::frontend {

// Whether the step takes more of the trace's values than what it views.
bool ReadsOtherValues(const ViewStep& step);

// The axes of the memory's tensor from the outermost on; not set if it is not
// dense in all probes, in one order.
std::optional<std::vector<int64_t>> AxisOrder(const TracedStorage& storage);

struct PossibleView {
  std::weak_ptr<TracedStorage> source, result;
  TensorType base_type;  // of the source
  // AxisOrder of the source.
  std::optional<std::vector<int64_t>> axis_order;
  std::vector<ViewStep> path;  // from the base to the operator's tensor
  TensorType type;             // of the result
  // Of aten::contiguous; not set for the operators that reshape.
  std::optional<at::MemoryFormat> memory_format;
  bool shared = false;       // the result is a view in the probes
  std::vector<int> symbols;  // of the sizes that this depends on
  std::string what;          // a sentence for the user, with the place

  // The operator's tensor at these sizes, on the meta device.
  at::Tensor SelfAt(absl::Span<const int64_t> point) const;
  // Whether the result is a view at these sizes.
  bool SharesAt(absl::Span<const int64_t> point) const;
};

}  // namespace aitune::frontend

#endif  // AITUNE_FRONTEND_TRACING_POSSIBLE_VIEW_H_
