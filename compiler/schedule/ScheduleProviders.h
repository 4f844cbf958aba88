// Lets plug-ins (compiler/plugin/Plugin.h) add schedules to the space of a
// kernel.
//
// Only a plug-in's function should register; registering is not thread-safe
// while something is compiled.
#ifndef AITUNE_COMPILER_SCHEDULE_SCHEDULEPROVIDERS_H
#define AITUNE_COMPILER_SCHEDULE_SCHEDULEPROVIDERS_H

#include <functional>
#include <string>
#include <vector>

#include "compiler/schedule/Schedule.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace aitune {

/// Returns further schedules for `kernel`, whose space so far is `space`. The
/// form of the space names the template, and its schedules show how the
/// template writes its parameters. The new schedules must have as many features
/// as these, in the same order. A schedule that is none (below) is left out,
/// with a warning that names the plug-in.
using ScheduleProvider = std::function<std::vector<Schedule>(
    mlir::func::FuncOp kernel, const KernelSpace &space)>;

/// Makes the search ask `provider` for schedules of every kernel. Schedules
/// that the template cannot generate are recorded as failed and skipped.
void registerSchedules(ScheduleProvider provider);

/// For the tuner: inserts the schedules of all registered providers after the
/// default one. Leaves out, and says so in space.refused, a schedule whose text
/// is no dictionary attribute, that has another number of features than the
/// template's own, or a feature or number of operations that is not finite.
void addRegisteredSchedules(mlir::func::FuncOp kernel, KernelSpace &space);

} // namespace aitune

#endif // AITUNE_COMPILER_SCHEDULE_SCHEDULEPROVIDERS_H
