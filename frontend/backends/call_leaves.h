// The leaves of a call, beside those that a nesting has, and what guards and
// devices are told of them.
//
// Backends see a call as a flat list of leaves (torchscript_source.h).
// Arguments that no nesting takes apart, as LibTorch is to have them as they
// are, are one opaque leaf. All functions are thread-safe.
#ifndef AITUNE_FRONTEND_BACKENDS_CALL_LEAVES_H_
#define AITUNE_FRONTEND_BACKENDS_CALL_LEAVES_H_

#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "frontend/trace/trace.h"
#include "frontend/values/value_list.h"
#include "runtime/backend/source_model.h"
#include "runtime/device/device.h"
#include "runtime/guards/input_description.h"

namespace aitune::frontend {

// The one leaf that holds all arguments, as TorchScriptSource::FlattenCall
// gives it for those that Flatten refuses.
Sample WholeCall(const ValueList& arguments);
// Whether `inputs` are the one leaf of FlattenCall that holds all arguments.
bool IsWholeCall(absl::Span<const RegionValue> inputs);
// Whether `leaf` is such a leaf.
bool HoldsArguments(const c10::IValue& leaf);

// The GPU of the first of `inputs` that is on one; the CPU if none is.
Device DeviceOf(absl::Span<const RegionValue> inputs);

// The inputs of a call in the form that guards compare; they refer to `inputs`.
// kInvalidArgument for leaves that no guard can compare.
absl::StatusOr<std::vector<CallInput>> CallInputsOf(
    absl::Span<const RegionValue> inputs);

}  // namespace aitune::frontend

#endif  // AITUNE_FRONTEND_BACKENDS_CALL_LEAVES_H_
