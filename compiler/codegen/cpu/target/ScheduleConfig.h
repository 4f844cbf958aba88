// Helpers for the schedules of all kinds of kernels: they write their numbers
// to ait.config and read them, make lists of schedules, and describe schedules
// for a cost model.
#ifndef AITUNE_COMPILER_CODEGEN_CPU_TARGET_SCHEDULECONFIG_H
#define AITUNE_COMPILER_CODEGEN_CPU_TARGET_SCHEDULECONFIG_H

#include <string>
#include <utility>
#include <vector>

#include "mlir/IR/Builders.h"
#include "llvm/ADT/STLExtras.h"

namespace aitune {

/// Adds each number to `config` as an i64 attribute of its name.
void writeNumbers(mlir::Builder &builder,
                  llvm::ArrayRef<std::pair<llvm::StringRef, int64_t>> numbers,
                  mlir::NamedAttrList &config);

/// Sets each number of which `config` has an attribute; the others stay as they
/// are. `config` may be null.
void readNumbers(mlir::DictionaryAttr config,
                 llvm::ArrayRef<std::pair<llvm::StringRef, int64_t *>> numbers);

/// A text for the description of a schedule: " one thread", " grain8"; empty
/// for a grain of 0, which the generator chooses.
std::string describeGrain(int64_t grain);

/// The size that features assume where it is only known at run time.
constexpr int64_t kFeatureSize = 128;
/// `size`, or kFeatureSize where it is negative, which is not known.
inline int64_t knownSize(int64_t size) {
  return size < 0 ? kFeatureSize : size;
}
/// The logarithm of `value`, at least 1, as a feature.
double log2Of(int64_t value);
/// Rows or columns computed for each one wanted of `size`, in tiles of `tile`.
double paddingOf(int64_t size, int64_t tile);

/// Appends `schedule` unless it is in the list already or cannot be generated;
/// `reject` returns the reason why it cannot, or an empty text.
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
