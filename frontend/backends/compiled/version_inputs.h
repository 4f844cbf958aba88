// Converts between the descriptions of inputs that guards compare and the
// inputs and plans of the compiler.
#ifndef AITUNE_FRONTEND_BACKENDS_COMPILED_VERSION_INPUTS_H_
#define AITUNE_FRONTEND_BACKENDS_COMPILED_VERSION_INPUTS_H_

#include <functional>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "frontend/backends/torch_backend_state.pb.h"
#include "frontend/torchscript/model_inputs.h"
#include "runtime/guards/input_description.h"
#include "runtime/plan/plan.pb.h"
#include "runtime/tensor/size_constraint.h"

namespace aitune::frontend {

// The inputs to build a version for that fits calls of `wanted`; `arguments`
// are those of one such call. A dynamic axis without an upper bound gets one:
// `reach` times the size in this call, rounded up to a power of two; with reach
// 1, exactly the size in this call. If the arguments can't be described as
// specs (dicts), or `wanted` has no dynamic axis, the version is for exactly
// their sizes.
ModelInputs InputsToBuild(absl::Span<const InputDescription> wanted,
                          const ValueList& arguments, int reach);

// The inputs that a version with this plan accepts: `wanted`, with the axes of
// tensors as in `plan`.
std::vector<InputDescription> InputsOfVersion(
    std::vector<InputDescription> wanted, const ExecutablePlan& plan);

// The conditions of `plan` on the symbols of InputsOfVersion.
std::vector<SizeConstraint> ConstraintsOfVersion(const ExecutablePlan& plan);

// Calls `visit` with each dynamic axis of `inputs` and its size in a call with
// `arguments`, of which `inputs` are the leaves.
void ForEachDynamicAxis(
    std::vector<InputDescription>& inputs, const ValueList& arguments,
    const std::function<void(AxisRange& range, int64_t size)>& visit);

// Leaves that `inputs` describe, on the CPU: each dynamic axis has the middle
// of its range, floating-point elements are between 0 and 1, others are 0.
ValueList InputsOf(absl::Span<const InputDescription> inputs);

// The stored form of an input, and the input that `proto` stores:
// kInvalidArgument for unknown kinds, dtypes and layouts.
InputDescriptionProto ToProto(const InputDescription& input);
absl::StatusOr<InputDescription> FromProto(const InputDescriptionProto& proto);

}  // namespace aitune::frontend

#endif  // AITUNE_FRONTEND_BACKENDS_COMPILED_VERSION_INPUTS_H_
