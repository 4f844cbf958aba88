// How tests plant wrong kernels, to see that they are found.
#ifndef AITUNE_COMPILER_CANDIDATES_SPOILFORTESTING_H
#define AITUNE_COMPILER_CANDIDATES_SPOILFORTESTING_H

#include <functional>
#include <string>

#include "compiler/candidates/Kernel.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/ArrayRef.h"

namespace aitune {

/// generateCandidates calls these, unless they are null: the first may change
/// the text (moduleText) that the code of a whole kernel is generated from, the
/// second, at its end, the candidates of its kernels. Null unless a test sets
/// them. Not thread-safe.
extern std::function<void(std::string &)> spoilTextForTesting;
extern std::function<void(llvm::MutableArrayRef<Kernel>, mlir::ModuleOp)>
    spoilCandidatesForTesting;

} // namespace aitune

#endif // AITUNE_COMPILER_CANDIDATES_SPOILFORTESTING_H
