#include "compiler/plugin/Plugin.h"

#include "mlir/AsmParser/AsmParser.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

using namespace mlir;

namespace aitune {
namespace {

struct Registered {
  std::vector<std::pair<PassPoint, PassFactory>> passes;
  std::vector<ScheduleProvider> schedules;
};

Registered &registered() {
  static auto *const all = new Registered();
  return *all;
}

} // namespace

void registerPass(PassPoint point, PassFactory factory) {
  registered().passes.emplace_back(point, std::move(factory));
}

void addRegisteredPasses(PassPoint point, OpPassManager &passManager) {
  for (const auto &[where, factory] : registered().passes) {
    if (where != point)
      continue;
    std::unique_ptr<Pass> pass = factory();
    if (pass->getOpName() == func::FuncOp::getOperationName())
      passManager.nest<func::FuncOp>().addPass(std::move(pass));
    else
      passManager.addPass(std::move(pass));
  }
}

void registerSchedules(ScheduleProvider provider) {
  registered().schedules.push_back(std::move(provider));
}

LogicalResult addRegisteredSchedules(func::FuncOp kernel, KernelSpace &space,
                                     std::string &reason) {
  const size_t features = space.schedules.front().features.size();
  std::vector<Schedule> added;
  for (const ScheduleProvider &provider : registered().schedules) {
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
  // Behind the default, before the template's own: a model that knows nothing
  // yet keeps the order, and who adds a schedule wants to see it measured.
  space.schedules.insert(space.schedules.begin() + 1, added.begin(),
                         added.end());
  return success();
}

} // namespace aitune
