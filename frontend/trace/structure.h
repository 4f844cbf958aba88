// Nested inputs and outputs as flat lists of tensors, and back.
#ifndef AITUNE_FRONTEND_TRACE_STRUCTURE_H_
#define AITUNE_FRONTEND_TRACE_STRUCTURE_H_

#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "frontend/trace/trace.h"
#include "frontend/values/value_list.h"
#include "runtime/executable/fallback_region.h"
#include "runtime/tensor/tensor_view.h"

namespace aitune::frontend {

// Flattened tensors and what keeps their memory alive.
struct FlatTensors {
  std::vector<TensorView> views;
  std::shared_ptr<const void> owner;
};

// The tensors among `inputs` in the structure's order. Tensors that are not
// dense row-major are copied, others are referred to. kInvalidArgument when
// the nesting differs or (but with kTakeConstants) a constant leaf has another
// value than the trace was made for; the text names the place. Tensors must be
// on the CPU or, with `gpu` >= 0, on that GPU. Thread-safe.
enum class ConstantCheck { kCheck, kTakeConstants };
absl::StatusOr<FlatTensors> FlattenInputs(
    const Structure& structure, const ValueList& inputs, int gpu = -1,
    ConstantCheck check = ConstantCheck::kCheck);

// Uninitialised memory for outputs: one TensorView for each type (a null type
// gives an empty OpaqueValue).
struct OutputBuffers {
  std::vector<RegionValue> values;
  std::shared_ptr<const void> owner;
  int gpu = -1;  // whose memory it is
};
OutputBuffers AllocateOutputs(absl::Span<const DataType> dtypes,
                              absl::Span<const std::vector<int64_t>> sizes,
                              const std::vector<bool>& is_opaque, int gpu = -1);

// The result of the model: `outputs` (one for each flattened output of the
// trace, constants included) put back into their nesting. Tensors of
// `buffers.owner` keep it alive. kInternal when the counts differ.
absl::StatusOr<c10::IValue> UnflattenOutputs(const Structure& structure,
                                             const OutputBuffers& outputs);

}  // namespace aitune::frontend

#endif  // AITUNE_FRONTEND_TRACE_STRUCTURE_H_
