// The part of ValidatePlan (plan.h) that looks at steps. Internal to this
// folder.
#ifndef AITUNE_RUNTIME_PLAN_STEP_VALIDATION_H_
#define AITUNE_RUNTIME_PLAN_STEP_VALIDATION_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "runtime/plan/plan.h"

namespace aitune {

// kInvalidArgument with the text of `parts`.
template <typename... Parts>
absl::Status PlanError(const Parts&... parts) {
  return absl::InvalidArgumentError(absl::StrCat("plan: ", parts...));
}

// An error of a part of the plan that `where` names.
inline absl::Status InPlan(const std::string& where,
                           const absl::Status& status) {
  return status.ok() ? status : PlanError(where, ": ", status.message());
}

// What steps refer to.
struct ValidValues {
  // The type of each value; none: opaque.
  std::vector<std::optional<PlanTensorType>> types;
  // The value that each one is an alias of, in the end; itself for others.
  std::vector<int32_t> roots;
  // Whether an alias is a part of its root's memory.
  std::vector<bool> is_part;
};

// Whether a value is, or is an alias of, a packed constant.
bool IsPacked(const ExecutablePlan& plan, const ValidValues& values,
              int32_t value);

// Whether a value exists before all steps, or a step has written it. `written`
// is by root.
bool IsReady(const ExecutablePlan& plan, const ValidValues& values,
             const std::vector<bool>& written, int32_t value);

// Checks the initialization and the steps of a plan whose values are valid.
// Returns, by root, whether a step writes the value.
absl::StatusOr<std::vector<bool>> ValidateSteps(const ExecutablePlan& plan,
                                                const ValidValues& values);

}  // namespace aitune

#endif  // AITUNE_RUNTIME_PLAN_STEP_VALIDATION_H_
