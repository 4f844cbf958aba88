// Large results are written past the caches, which keep their memory for what
// is read again.
#ifndef AITUNE_COMPILER_CODEGEN_CPU_LOOPS_STREAMEDSTORES_H
#define AITUNE_COMPILER_CODEGEN_CPU_LOOPS_STREAMEDSTORES_H

#include "compiler/codegen/cpu/loops/LoopSchedule.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Builders.h"

namespace aitune {

/// The numbers (KernelOutput::number) of the results of `nest` that its loops
/// may write past the caches: those of at least `leastBytes` whose lines are
/// written whole, one after the other. In ascending order.
llvm::SmallVector<unsigned> findStreamedOutputs(const LoopNest &nest,
                                                const CpuSchedule &schedule,
                                                int64_t leastBytes);

/// Lets `loop`, whose stores to the memory at `pointers` may be nontemporal,
/// run where that memory is aligned for them, and a copy that writes as usual
/// elsewhere: a caller's memory need not be aligned. Changes nothing if no
/// store is. Leaves the builder where it is.
void guardStreamedStores(mlir::OpBuilder &builder, mlir::scf::ForOp loop,
                         llvm::ArrayRef<mlir::Value> pointers);

} // namespace aitune

#endif // AITUNE_COMPILER_CODEGEN_CPU_LOOPS_STREAMEDSTORES_H
