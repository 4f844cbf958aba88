// Generates every way to run each kernel: code with its schedule, library calls
// with code for the operations that the library does not support, and the
// kernel cut in two.
#ifndef AITUNE_COMPILER_CANDIDATES_GENERATECANDIDATES_H
#define AITUNE_COMPILER_CANDIDATES_GENERATECANDIDATES_H

#include <functional>

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

/// For tests that wrong kernels are found: may change the text (moduleText)
/// that the code of a whole kernel is generated from, and, at the end of
/// generateCandidates, the candidates of its kernels. Null unless a test sets
/// them. Not thread-safe.
extern std::function<void(std::string &)> spoilTextForTesting;
extern std::function<void(llvm::MutableArrayRef<Kernel>, mlir::ModuleOp)>
    spoilCandidatesForTesting;

} // namespace aitune

#endif // AITUNE_COMPILER_CANDIDATES_GENERATECANDIDATES_H
