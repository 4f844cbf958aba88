// Every way there is to run each kernel: its code with the schedules that it
// has, libraries with what they leave as code, the kernel cut in two.
#ifndef AITUNE_COMPILER_CANDIDATES_GENERATECANDIDATES_H
#define AITUNE_COMPILER_CANDIDATES_GENERATECANDIDATES_H

#include "compiler/Compiler.h"
#include "compiler/candidates/CompilationTarget.h"
#include "compiler/candidates/Kernel.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/ArrayRef.h"

namespace aitune {

/// Fills in `candidates` of each of `kernels`, functions of `module`, best
/// guess first, with the `parts` that its `cuts` make. What was refused is in
/// result.rejections, with the reason; a kernel that nothing can run is in
/// result.failures. A schedule that the generator no longer takes is replaced
/// by the default one. Returns the number of functions that code was generated
/// for.
size_t generateCandidates(llvm::MutableArrayRef<Kernel> kernels,
                          mlir::ModuleOp module, CompilationTarget &target,
                          CompileResult &result);

} // namespace aitune

#endif // AITUNE_COMPILER_CANDIDATES_GENERATECANDIDATES_H
