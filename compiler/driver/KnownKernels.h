// Kernels that an earlier compilation of nearly the same model has chosen an
// implementation of, so that they are neither generated nor measured again.
#ifndef AITUNE_COMPILER_DRIVER_KNOWNKERNELS_H
#define AITUNE_COMPILER_DRIVER_KNOWNKERNELS_H

#include <string>
#include <vector>

#include "compiler/candidates/CandidateChoice.h"
#include "compiler/candidates/Kernel.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/StringMap.h"

namespace aitune {

/// Not thread-safe.
class KnownKernels {
public:
  KnownKernels() = default;
  /// Those of `kernels`, functions of `module`, that `chosen` has.
  KnownKernels(mlir::ModuleOp module, llvm::ArrayRef<Kernel> kernels,
               const ChosenKernels &chosen);

  /// Moves the kernels that are known from `kernels`, functions of `module`, to
  /// the result. They get the names that their code has, and others get new
  /// names where theirs are taken. Adds how they run to `chosen`.
  std::vector<Kernel> take(mlir::ModuleOp module, std::vector<Kernel> &kernels,
                           ChosenKernels &chosen) const;

private:
  struct Entry {
    std::string name;
    KernelImplementation implementation;
  };
  /// What is known of each kernel, by its digest.
  llvm::StringMap<Entry> entries;
};

} // namespace aitune

#endif // AITUNE_COMPILER_DRIVER_KNOWNKERNELS_H
