// The search space of a kernel: the schedules that its template can generate.
//
// A template declares its parameters, says which values are legal, lists those
// worth trying and describes them for a cost model (contraction/Templates.h and
// loops/LoopSpace.h in compiler/codegen/cpu, Generate.h in
// compiler/codegen/gpu). Search, cost model and database see the schedules of
// all templates in one form, KernelSpace.
#ifndef AITUNE_COMPILER_SCHEDULE_SCHEDULE_H
#define AITUNE_COMPILER_SCHEDULE_SCHEDULE_H

#include <string>

#include "compiler/codegen/cpu/target/Target.h"
#include "compiler/support/Schedule.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace aitune {

/// The space of `kernel` on the CPU, a function in the form that
/// buildKernelToLinalgPipeline leaves. Fails and sets `reason` for kernels
/// without parameters. Not thread-safe for one MLIRContext.
mlir::FailureOr<KernelSpace> listSchedules(mlir::func::FuncOp kernel,
                                           const Target &target,
                                           std::string &reason);

} // namespace aitune

#endif // AITUNE_COMPILER_SCHEDULE_SCHEDULE_H
