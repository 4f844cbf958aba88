// The code of a model's kernels as text, for those who look at a phase after
// fusion.
//
// It is printed for the CPU, whatever the target: nothing is measured there,
// and a machine without a GPU can print it.
#ifndef AITUNE_COMPILER_DRIVER_PRINTKERNELS_H
#define AITUNE_COMPILER_DRIVER_PRINTKERNELS_H

#include "compiler/Compiler.h"
#include "compiler/candidates/Kernel.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "llvm/ADT/ArrayRef.h"

namespace aitune {

/// Appends the text of each kernel after the phase options.compileTo to
/// result.ir, in their order, and a kernel without code to result.failures.
/// `symbols` is the module's ait.symbols (may be null). Not thread-safe: it
/// prints on options.threads threads.
void printKernels(llvm::MutableArrayRef<Kernel> kernels,
                  mlir::ArrayAttr symbols, const CompileOptions &options,
                  CompileResult &result);

} // namespace aitune

#endif // AITUNE_COMPILER_DRIVER_PRINTKERNELS_H
