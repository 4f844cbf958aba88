// A step of a plan as a plan of its own, which runs it on memory that nothing
// else uses.
#ifndef AITUNE_COMPILER_DRIVER_STEPPLAN_H
#define AITUNE_COMPILER_DRIVER_STEPPLAN_H

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "runtime/plan/plan.pb.h"

namespace aitune {

/// The value whose memory `value` is: itself, or what it is an alias of.
int32_t rootOf(const ExecutablePlan &plan, int32_t value);

struct StepPlan {
  /// Its inputs: those of the whole plan, from which it reads the symbols, then
  /// `inputs`. Its outputs: `outputs`. What the step needs of the plan's
  /// initialization is in it.
  ExecutablePlan plan;
  /// Values of the whole plan, none of them an alias.
  std::vector<int32_t> inputs, outputs;
};

/// The plan of step `step` of `plan` alone. If it is a fallback region, that is
/// the new plan's region 0. kUnimplemented for a step that reads or writes a
/// value that only LibTorch knows.
absl::StatusOr<StepPlan> isolateStep(const ExecutablePlan &plan, int step);

} // namespace aitune

#endif // AITUNE_COMPILER_DRIVER_STEPPLAN_H
