// How long each step of a compiled model takes, with what the step is: for the
// command `inspect` and for programs. Internal: includes LibTorch.
#ifndef AITUNE_FRONTEND_COMPILED_MODEL_TIME_STEPS_H_
#define AITUNE_FRONTEND_COMPILED_MODEL_TIME_STEPS_H_

#include <functional>
#include <vector>

#include "absl/status/statusor.h"
#include "frontend/compiled_model/compiled_model.h"
#include "frontend/values/value_list.h"
#include "runtime/backend/step_time.h"

namespace aitune::frontend {

// The steps of this version in the plan's order, each with its median time over
// `repeats` (at least 1) runs of `arguments`, which the version must cover.
// `before_run`, which may be null, is called before each and not timed, for
// example to put back the model's state. Errors as CompiledModel::Profile, and
// its own.
absl::StatusOr<std::vector<StepTime>> TimeSteps(
    const CompiledModel& version, const ValueList& arguments, int repeats,
    const std::function<absl::Status()>& before_run = nullptr);

}  // namespace aitune::frontend

#endif  // AITUNE_FRONTEND_COMPILED_MODEL_TIME_STEPS_H_
