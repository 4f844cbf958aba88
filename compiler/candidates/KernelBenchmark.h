// A kernel's own benchmark: what --dump writes beside a kernel's object code,
// so that one kernel can be timed, profiled and disassembled alone.
#ifndef AITUNE_COMPILER_CANDIDATES_KERNELBENCHMARK_H
#define AITUNE_COMPILER_CANDIDATES_KERNELBENCHMARK_H

#include <string>

#include "compiler/plan/KernelImplementation.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace aitune {

/// A C++ program that runs `compiled`, the launch that is the kernel, on one
/// thread, dynamic axes at the top of
/// their range in `symbols` (the module's ait.symbols; may be null), and prints
/// the median time and the rate of `kernel`'s operations. Its first line says
/// how to build it: it needs the kernel's object file and nothing else.
std::string writeKernelBenchmark(mlir::func::FuncOp kernel,
                                 const ImplementationStep &compiled,
                                 mlir::ArrayAttr symbols);

} // namespace aitune

#endif // AITUNE_COMPILER_CANDIDATES_KERNELBENCHMARK_H
