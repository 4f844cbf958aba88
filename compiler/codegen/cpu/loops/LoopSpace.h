// The parameters of a loop kernel that are worth searching: how wide its
// vectors are, how much work a unit has, whether threads share the units.
// LoopSchedule.h decides everything else (which axes are loops, along which
// axis the lanes lie).
#ifndef AITUNE_COMPILER_CODEGEN_CPU_LOOPS_LOOPSPACE_H
#define AITUNE_COMPILER_CODEGEN_CPU_LOOPS_LOOPSPACE_H

#include <limits>
#include <string>
#include <vector>

#include "compiler/codegen/cpu/target/Target.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace aitune {

struct LoopKernelSchedule {
  /// The number of elements that one operation of the kernel's loops covers, a
  /// power of two. Twice or four times the elements of a register use two or
  /// four registers, whose independent operations hide latencies. Half of them
  /// leave fewer lanes masked in short rows.
  int64_t lanes = 16;
  /// The number of simple operations that a unit should have, if its size can
  /// be chosen: large units have little overhead, small ones stay in the L1
  /// cache and can be distributed evenly.
  int64_t unitWork = 16384;
  /// The fewest units that a thread gets; 0: estimated from their work.
  int64_t grain = 0;
  /// Results of at least so many bytes are written past the caches, where their
  /// vectors are aligned. Not searched for, as the time of a kernel alone does
  /// not show what the next one finds in the caches.
  int64_t streamedBytes = std::numeric_limits<int64_t>::max();

  mlir::DictionaryAttr toConfig(mlir::MLIRContext *context) const;
  std::string toString() const;
};

/// The schedule that is used without measuring: lanes fill a register with
/// elements of the widest type that the kernel computes with. Here and below,
/// `kernel` is a function of kind loop in the form that ait-lower-to-linalg
/// leaves.
LoopKernelSchedule chooseLoopSchedule(mlir::func::FuncOp kernel,
                                      const Target &target);

/// Why the schedule cannot be generated; empty if it can.
std::string rejectLoopSchedule(const LoopKernelSchedule &schedule,
                               mlir::func::FuncOp kernel, const Target &target);

/// Legal schedules worth measuring, the default choice first. Never empty.
std::vector<LoopKernelSchedule> listLoopSchedules(mlir::func::FuncOp kernel,
                                                  const Target &target);

/// The schedule in the kernel's ait.config. Parameters that it does not name
/// are those of chooseLoopSchedule.
LoopKernelSchedule readLoopSchedule(mlir::func::FuncOp kernel,
                                    const Target &target);

/// The size of a kernel for a cost model.
struct LoopKernelShape {
  double resultElements = 1;  ///< elements of the largest result
  double operandElements = 1; ///< elements of the largest operand
  double bytes = 0;           ///< bytes of all operands and results
  double operations = 0;      ///< operations in the bodies of its loops
  bool hasReductions = false;
};
/// The shape of `kernel`, with sizes that depend on symbols as `typicalSize`.
LoopKernelShape describeLoopKernel(mlir::func::FuncOp kernel,
                                   int64_t typicalSize);

/// Schedule::features of `schedule`.
std::vector<double> getFeatures(const LoopKernelSchedule &schedule,
                                const LoopKernelShape &shape);

} // namespace aitune

#endif // AITUNE_COMPILER_CODEGEN_CPU_LOOPS_LOOPSPACE_H
