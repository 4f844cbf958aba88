// The time that each step of a module takes, in C.
#include <memory>
#include <utility>
#include <vector>

#include "frontend/api/c_handles.h"
#include "runtime/backend/step_time.h"
#include "runtime/status/status_macros.h"

static_assert(AIT_STEP_KERNEL == static_cast<int>(aitune::StepRunner::kKernel));
static_assert(AIT_STEP_LIBRARY ==
              static_cast<int>(aitune::StepRunner::kLibrary));
static_assert(AIT_STEP_LIBTORCH ==
              static_cast<int>(aitune::StepRunner::kLibTorch));

struct ait_profile {
  std::vector<aitune::StepTime> steps;
};

ait_error* ait_module_profile(const ait_module* module,
                              const ait_tensor* inputs, size_t count,
                              int repeats, ait_profile** profile) {
  return ait::Guarded([&]() -> absl::Status {
    AITUNE_RETURN_IF_ERROR(ait::Need(module, "module"));
    AITUNE_RETURN_IF_ERROR(ait::Need(profile, "profile"));
    AITUNE_ASSIGN_OR_RETURN(auto arguments,
                            ait::ArgumentsOf(*module, inputs, count));
    auto made = std::make_unique<ait_profile>();
    const auto run =
        [&](const aitune::frontend::ValueList& given) -> absl::Status {
      AITUNE_ASSIGN_OR_RETURN(made->steps,
                              module->module->Profile(given, repeats));
      return absl::OkStatus();
    };
    AITUNE_RETURN_IF_ERROR(ait::OnBorrowed(std::move(arguments), run));
    *profile = made.release();
    return absl::OkStatus();
  });
}

size_t ait_profile_steps(const ait_profile* profile) {
  return profile == nullptr ? 0 : profile->steps.size();
}

ait_error* ait_profile_step(const ait_profile* profile, size_t index,
                            ait_step* step) {
  return ait::Guarded([&]() -> absl::Status {
    AITUNE_RETURN_IF_ERROR(ait::Need(profile, "profile"));
    AITUNE_RETURN_IF_ERROR(ait::Need(step, "step"));
    AITUNE_RETURN_IF_ERROR(ait::CheckStruct(*step, "step"));
    if (index >= profile->steps.size())
      return absl::OutOfRangeError(absl::StrCat("there is no step ", index,
                                                " in a profile of ",
                                                profile->steps.size()));
    const aitune::StepTime& from = profile->steps[index];
    step->name = from.name.c_str();
    step->kind = static_cast<int32_t>(from.runner);
    step->microseconds = from.microseconds;
    step->implementation = from.implementation.c_str();
    step->location = from.location.c_str();
    return absl::OkStatus();
  });
}

void ait_profile_free(ait_profile* profile) { delete profile; }
