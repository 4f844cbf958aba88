// The parameters of a loop kernel that are worth searching: how wide its
// vectors are, how much a work unit does, whether threads share the units. All
// else (which axes are loops, where the lanes lie) LoopSchedule.h decides.
#ifndef AITUNE_COMPILER_CODEGEN_CPU_LOOPS_LOOPSPACE_H
#define AITUNE_COMPILER_CODEGEN_CPU_LOOPS_LOOPSPACE_H

#include <string>
#include <vector>

#include "compiler/codegen/cpu/target/Target.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace aitune {

struct LoopKernelSchedule {
  /// Elements that one operation of the kernel's loops covers. Twice or four
  /// times a register's are as many registers: independent work that hides
  /// latencies, and an unrolled loop. Half a register's leaves less masked in
  /// short rows. A power of two.
  int64_t lanes = 16;
  /// Simple operations that a unit should have where its size is free: large
  /// units cost little to find, small ones stay in the first cache and share
  /// out evenly.
  int64_t unitWork = 16384;
  /// Units that a thread takes at least; 0: judged from their work.
  int64_t grain = 0;

  mlir::DictionaryAttr toConfig(mlir::MLIRContext *context) const;
  std::string toString() const;
};

/// The choice made without measuring: registers of the widest type computed
/// with. `kernel` is a function of kind loop in the form that
/// ait-lower-to-linalg leaves, here and below.
LoopKernelSchedule chooseLoopSchedule(mlir::func::FuncOp kernel,
                                      const Target &target);

/// Why the schedule cannot be generated; empty if it can.
std::string rejectLoopSchedule(const LoopKernelSchedule &schedule,
                               mlir::func::FuncOp kernel, const Target &target);

/// Legal schedules worth measuring, the default choice first. Never empty.
std::vector<LoopKernelSchedule> listLoopSchedules(mlir::func::FuncOp kernel,
                                                  const Target &target);

/// The schedule that the kernel's ait.config sets: what it does not name comes
/// from the choice without measuring.
LoopKernelSchedule readLoopSchedule(mlir::func::FuncOp kernel,
                                    const Target &target);

/// What a kernel does, as far as a cost model needs to know: elements of its
/// largest result and operand, bytes of all, operations in its loops' bodies;
/// sizes that depend on symbols count as `typicalSize`.
struct LoopKernelShape {
  double resultElements = 1, operandElements = 1, bytes = 0, operations = 0;
  bool hasReductions = false;
};
LoopKernelShape describeLoopKernel(mlir::func::FuncOp kernel,
                                   int64_t typicalSize);

} // namespace aitune

#endif // AITUNE_COMPILER_CODEGEN_CPU_LOOPS_LOOPSPACE_H
