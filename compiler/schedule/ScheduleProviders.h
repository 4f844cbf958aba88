// Schedules from outside: candidates that a plug-in (compiler/plugin/Plugin.h)
// adds to the space of a kernel.
//
// Registering is for a plug-in's function; it is not thread-safe beside a
// compilation.
#ifndef AITUNE_COMPILER_SCHEDULE_SCHEDULEPROVIDERS_H
#define AITUNE_COMPILER_SCHEDULE_SCHEDULEPROVIDERS_H

#include <functional>
#include <string>
#include <vector>

#include "compiler/schedule/Schedule.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace aitune {

/// More schedules for `kernel`, whose space so far is `space`: its form names
/// the template, its schedules show how that writes its parameters. Features
/// must be as many as theirs, in the same order.
using ScheduleProvider = std::function<std::vector<Schedule>(
    mlir::func::FuncOp kernel, const KernelSpace &space)>;

/// Adds to the search space of every kernel. Schedules that the template
/// cannot generate are recorded as failed and skipped by the search.
void registerSchedules(ScheduleProvider provider);

/// For the tuner: inserts what the registered providers give behind the
/// default. Fails with `reason` for a schedule whose text is no attribute, or
/// with another number of features than the template's own.
mlir::LogicalResult addRegisteredSchedules(mlir::func::FuncOp kernel,
                                           KernelSpace &space,
                                           std::string &reason);

} // namespace aitune

#endif // AITUNE_COMPILER_SCHEDULE_SCHEDULEPROVIDERS_H
