#include "compiler/schedule/ScheduleProviders.h"

#include <utility>

#include "mlir/AsmParser/AsmParser.h"

using namespace mlir;

namespace aitune {
namespace {

std::vector<ScheduleProvider> &registered() {
  static auto *const all = new std::vector<ScheduleProvider>();
  return *all;
}

} // namespace

void registerSchedules(ScheduleProvider provider) {
  registered().push_back(std::move(provider));
}

LogicalResult addRegisteredSchedules(func::FuncOp kernel, KernelSpace &space,
                                     std::string &reason) {
  const size_t features = space.schedules.front().features.size();
  std::vector<Schedule> added;
  for (const ScheduleProvider &provider : registered()) {
    for (Schedule &schedule : provider(kernel, space)) {
      if (!parseAttribute(schedule.config, kernel.getContext())) {
        reason = "a plug-in's schedule is no attribute: " + schedule.config;
        return failure();
      }
      if (schedule.features.size() != features) {
        reason = "a plug-in's schedule has " +
                 std::to_string(schedule.features.size()) +
                 " features, those of " + space.form + " have " +
                 std::to_string(features);
        return failure();
      }
      added.push_back(std::move(schedule));
    }
  }
  // After the default and before the template's other schedules: a cost model
  // without records keeps the order, and added schedules should be measured.
  space.schedules.insert(space.schedules.begin() + 1, added.begin(),
                         added.end());
  return success();
}

} // namespace aitune
