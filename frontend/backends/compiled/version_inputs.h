// Between what guards say of a call's inputs and what the compiler is asked
// for.
#ifndef AITUNE_FRONTEND_BACKENDS_COMPILED_VERSION_INPUTS_H_
#define AITUNE_FRONTEND_BACKENDS_COMPILED_VERSION_INPUTS_H_

#include <functional>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "frontend/backends/torch_backend_state.pb.h"
#include "frontend/compiled_model/model_inputs.h"
#include "runtime/guards/input_description.h"
#include "runtime/plan/plan.pb.h"
#include "runtime/tensor/size_constraint.h"

namespace aitune::frontend {

// What to build for calls that fit `wanted`, of which `arguments` are one. A
// dynamic axis without an end gets one: `reach` times the size in this call,
// rounded up to a power of two; reach 1 is exactly the size in this call, as
// the largest. Where the arguments can't be described (dicts), or `wanted` has
// no dynamic axis, exactly their sizes.
ModelInputs InputsToBuild(absl::Span<const InputDescription> wanted,
                          const ValueList& arguments, int reach);

// What a version may be called with: `wanted`, with the axes of tensors as
// `plan` has them.
std::vector<InputDescription> InputsOfVersion(
    std::vector<InputDescription> wanted, const ExecutablePlan& plan);

// The conditions of `plan` on the symbols of InputsOfVersion.
std::vector<SizeConstraint> ConstraintsOfVersion(const ExecutablePlan& plan);

// Calls `visit` with each dynamic axis of `inputs` and its size in a call with
// `arguments`, of which `inputs` are the leaves.
void ForEachDynamicAxis(
    std::vector<InputDescription>& inputs, const ValueList& arguments,
    const std::function<void(AxisRange& range, int64_t size)>& visit);

// Stored forms. FromProto: kInvalidArgument for kinds, dtypes and layouts that
// there are not.
InputDescriptionProto ToProto(const InputDescription& input);
absl::StatusOr<InputDescription> FromProto(const InputDescriptionProto& proto);

}  // namespace aitune::frontend

#endif  // AITUNE_FRONTEND_BACKENDS_COMPILED_VERSION_INPUTS_H_
