// The outputs of a call: the memory that they are computed into, and the
// model's result that is made of them.
//
// An executable writes its outputs to memory that its caller gives, so that a
// caller decides where results lie. Constants of the result are no outputs: the
// trace's structure has them.
#ifndef AITUNE_FRONTEND_TRACE_OUTPUT_BUFFERS_H_
#define AITUNE_FRONTEND_TRACE_OUTPUT_BUFFERS_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "frontend/trace/trace.h"
#include "frontend/values/value_list.h"
#include "runtime/backend/source_model.h"
#include "runtime/device/device.h"
#include "runtime/executable/fallback_region.h"
#include "runtime/tensor/data_type.h"

namespace aitune::frontend {

// Memory for the outputs of a call, as Executable::Run takes it.
struct OutputBuffers {
  std::vector<RegionValue> values;  // one for each output
  // By output: what keeps its memory alive.
  std::vector<std::shared_ptr<const void>> owners;
  Device device;  // the device of the memory
};

// Uninitialised memory of `device` for output i of dtypes[i] and sizes[i]; an
// empty OpaqueValue where is_opaque[i]. It is `memory`[i], large enough, where
// that is given and not null, otherwise LibTorch's.
OutputBuffers AllocateOutputs(
    absl::Span<const DataType> dtypes,
    absl::Span<const std::vector<int64_t>> sizes,
    const std::vector<bool>& is_opaque, const Device& device = Device(),
    absl::Span<const std::shared_ptr<char>> memory = {});

// The leaves of a result of this structure: `outputs`, which has one value for
// each flattened output of the trace, and the constants between them. A tensor
// in the memory of `outputs` keeps its owner alive. kInternal when the numbers
// of outputs differ.
absl::StatusOr<std::vector<OwnedValue>> OutputLeaves(
    const Structure& structure, const OutputBuffers& outputs);

// The result as one IValue: the leaves of OutputLeaves in their nesting. Errors
// as OutputLeaves.
absl::StatusOr<c10::IValue> UnflattenOutputs(const Structure& structure,
                                             const OutputBuffers& outputs);

}  // namespace aitune::frontend

#endif  // AITUNE_FRONTEND_TRACE_OUTPUT_BUFFERS_H_
