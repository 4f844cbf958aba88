#include "compiler/schedule/Schedule.h"

#include "compiler/codegen/cpu/contraction/Templates.h"
#include "compiler/codegen/cpu/loops/LoopSpace.h"
#include "compiler/codegen/cpu/target/ScheduleConfig.h"
#include "compiler/dialect/KernelAttributes.h"

using namespace mlir;

namespace aitune {

FailureOr<KernelSpace> listSchedules(func::FuncOp kernel, const Target &target,
                                     std::string &reason) {
  const std::optional<ait::KernelKind> kind = ait::getKernelKind(kernel);
  if (!kind) {
    reason = "the function is no kernel: it lacks ait.kind";
    return failure();
  }
  if (std::optional<ContractionTemplate> contraction =
          getContractionTemplate(*kind))
    return contraction->listSchedules(kernel, target, reason);
  const LoopKernelShape shape = describeLoopKernel(kernel, kFeatureSize);
  KernelSpace space;
  space.form = shape.hasReductions ? "loop with reductions" : "loop";
  for (const LoopKernelSchedule &schedule : listLoopSchedules(kernel, target))
    space.schedules.push_back(
        {ait::printScheduleConfig(schedule.toConfig(kernel.getContext())),
         schedule.toString(), getFeatures(schedule, shape)});
  return space;
}

} // namespace aitune
