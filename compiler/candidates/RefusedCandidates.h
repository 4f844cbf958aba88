// Which candidates a library refuses on this machine.
//
// What a library has code for depends on the processor and on the library's
// version, so that no table of ours says it: the library is asked, by loading
// one launch of the kernel. Only the front of the list is asked; this is for
// builds that take the first candidate without a measurement, too.
#ifndef AITUNE_COMPILER_CANDIDATES_REFUSEDCANDIDATES_H
#define AITUNE_COMPILER_CANDIDATES_REFUSEDCANDIDATES_H

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "compiler/candidates/CompilationTarget.h"
#include "compiler/candidates/Kernel.h"
#include "mlir/IR/BuiltinOps.h"

namespace aitune {

/// Removes library candidates from the front of the list for which the library
/// has no code on this machine; generated candidates stay. Returns the reason
/// for the last one that was removed; OK if none was. `kernel` is launched in
/// `module`, whose pool is `constants`. Not thread-safe: plans are built from
/// MLIR.
absl::Status dropRefused(Kernel &kernel, mlir::ModuleOp module,
                         const CompilationTarget &target,
                         absl::Span<const ConstantTensor> constants);

} // namespace aitune

#endif // AITUNE_COMPILER_CANDIDATES_REFUSEDCANDIDATES_H
