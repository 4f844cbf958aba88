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
/// as these, in the same order.
using ScheduleProvider = std::function<std::vector<Schedule>(
    mlir::func::FuncOp kernel, const KernelSpace &space)>;

/// Makes the search ask `provider` for schedules of every kernel. Schedules
/// that the template cannot generate are recorded as failed and skipped.
void registerSchedules(ScheduleProvider provider);

/// For the tuner: inserts the schedules of all registered providers after the
/// default one. Fails and sets `reason` for a schedule whose text is not an
/// MLIR attribute, or that has another number of features than the template's
/// own.
mlir::LogicalResult addRegisteredSchedules(mlir::func::FuncOp kernel,
                                           KernelSpace &space,
                                           std::string &reason);

} // namespace aitune

#endif // AITUNE_COMPILER_SCHEDULE_SCHEDULEPROVIDERS_H
