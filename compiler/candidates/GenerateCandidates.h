// Generates every way to run each kernel: code with its schedule, library calls
// with code for the operations that the library does not support, and the
// kernel cut in two.
#ifndef AITUNE_COMPILER_CANDIDATES_GENERATECANDIDATES_H
#define AITUNE_COMPILER_CANDIDATES_GENERATECANDIDATES_H

#include "compiler/Compiler.h"
#include "compiler/candidates/CompilationTarget.h"
#include "compiler/candidates/Kernel.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/ArrayRef.h"

namespace aitune {

/// Sets, for each of `kernels` (functions of `module`), `candidates`, the most
/// promising first, and `parts` with an entry for each of `cuts`. Appends
/// rejected candidates, with the reason, to result.rejections, and kernels
/// without any candidate to result.failures. A schedule in ait.config that the
/// generator no longer accepts is replaced by the default one. Returns the
/// number of functions for which code was generated. Not thread-safe.
size_t generateCandidates(llvm::MutableArrayRef<Kernel> kernels,
                          mlir::ModuleOp module, CompilationTarget &target,
                          CompileResult &result);

} // namespace aitune

#endif // AITUNE_COMPILER_CANDIDATES_GENERATECANDIDATES_H
