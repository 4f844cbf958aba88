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

/// Sets `candidates` of each of `kernels`, functions of `module`, the most
/// promising first, and `parts` for each of its `cuts`. Appends rejected
/// candidates, with the reason, to result.rejections, and kernels without any
/// candidate to result.failures. A schedule that the generator does not accept
/// any more is replaced by the default one. Returns the number of functions for
/// which code was generated.
size_t generateCandidates(llvm::MutableArrayRef<Kernel> kernels,
                          mlir::ModuleOp module, CompilationTarget &target,
                          CompileResult &result);

/// For tests of what finds wrong kernels: called with the kernels once they
/// have all their candidates, which it may spoil. Nothing else sets it; not
/// thread-safe.
extern std::function<void(llvm::MutableArrayRef<Kernel>, mlir::ModuleOp)>
    spoilCandidatesForTesting;

} // namespace aitune

#endif // AITUNE_COMPILER_CANDIDATES_GENERATECANDIDATES_H
