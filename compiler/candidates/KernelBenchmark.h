// A kernel's own benchmark: what --dump writes beside a kernel's object code,
// so that one kernel can be timed, profiled and disassembled alone.
#ifndef AITUNE_COMPILER_CANDIDATES_KERNELBENCHMARK_H
#define AITUNE_COMPILER_CANDIDATES_KERNELBENCHMARK_H

#include <string>

#include "compiler/plan/KernelImplementation.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace aitune {

/// A C++ program that runs `compiled`, the only step of the implementation of
/// `kernel`, on one thread, and prints the median time and the rate of the
/// kernel's operations. Dynamic axes have the measuredSizes of `symbols` (the
/// module's ait.symbols; may be null). The first line of the program says how
/// to build it; it needs only the kernel's object file.
std::string writeKernelBenchmark(mlir::func::FuncOp kernel,
                                 const ImplementationStep &compiled,
                                 mlir::ArrayAttr symbols);

} // namespace aitune

#endif // AITUNE_COMPILER_CANDIDATES_KERNELBENCHMARK_H
