// What the schedules of all kinds of kernels have in common: how their numbers
// stand in ait.config, and how a list of them grows.
#ifndef AITUNE_COMPILER_CODEGEN_CPU_TARGET_SCHEDULECONFIG_H
#define AITUNE_COMPILER_CODEGEN_CPU_TARGET_SCHEDULECONFIG_H

#include <string>
#include <utility>
#include <vector>

#include "mlir/IR/Builders.h"
#include "llvm/ADT/STLExtras.h"

namespace aitune {

/// Adds the numbers by name, as i64.
void writeNumbers(mlir::Builder &builder,
                  llvm::ArrayRef<std::pair<llvm::StringRef, int64_t>> numbers,
                  mlir::NamedAttrList &config);

/// Sets the numbers that `config` has; the others, and all if it is null, stay
/// as they are.
void readNumbers(mlir::DictionaryAttr config,
                 llvm::ArrayRef<std::pair<llvm::StringRef, int64_t *>> numbers);

/// " one thread", " grain8", or nothing for a grain of 0, which leaves it to
/// the generator.
std::string describeGrain(int64_t grain);

/// Appends the schedule unless it is there already or `reject` says why it
/// cannot be generated.
template <typename ScheduleT>
void addIfNew(std::vector<ScheduleT> &schedules, const ScheduleT &schedule,
              llvm::function_ref<std::string(const ScheduleT &)> reject) {
  bool known = llvm::any_of(schedules, [&](const ScheduleT &other) {
    return other.toString() == schedule.toString();
  });
  if (!known && reject(schedule).empty())
    schedules.push_back(schedule);
}

} // namespace aitune

#endif // AITUNE_COMPILER_CODEGEN_CPU_TARGET_SCHEDULECONFIG_H
