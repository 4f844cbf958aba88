// The search space of a kernel: the schedules that its template can generate.
//
// A template declares its parameters, says which values are legal and lists
// those worth trying (MatmulSchedule.h, Convolution.h, Attention.h); this is
// the one form in which search, cost model and database see all of them.
#ifndef AITUNE_COMPILER_SCHEDULE_SCHEDULE_H
#define AITUNE_COMPILER_SCHEDULE_SCHEDULE_H

#include <string>
#include <vector>

#include "compiler/codegen/cpu/target/Target.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace aitune {

/// One legal choice of a template's parameters.
struct Schedule {
  /// The text of the kernel's ait.config: what the generator reads.
  std::string config;
  /// For people, such as "8x48 kc0 mc128 panels1 panels-outer".
  std::string description;
  /// What a cost model sees of it, in one order for all schedules of a form.
  std::vector<double> features;
  /// Operations done for each of the kernel's: less than one for an algorithm
  /// that needs fewer. What a roofline sees of a schedule.
  double operations = 1;
};

struct KernelSpace {
  /// The template: "matmul", "convolution taps", "attention", ... Features of
  /// different forms are not comparable.
  std::string form;
  /// The choice made without measuring is first. Never empty.
  std::vector<Schedule> schedules;
};

/// The space of `kernel`, a function as compileKernel's first pipeline leaves
/// it. Fails with `reason` for kernels without parameters. Not thread-safe for
/// one MLIRContext.
mlir::FailureOr<KernelSpace> listSchedules(mlir::func::FuncOp kernel,
                                           const Target &target,
                                           std::string &reason);

} // namespace aitune

#endif // AITUNE_COMPILER_SCHEDULE_SCHEDULE_H
