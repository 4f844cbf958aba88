// The CPU as a target: LLVM code and oneDNN.
#ifndef AITUNE_COMPILER_CANDIDATES_CPUTARGET_H
#define AITUNE_COMPILER_CANDIDATES_CPUTARGET_H

#include <memory>

#include "compiler/candidates/CompilationTarget.h"
#include "runtime/executable/executable.h"

namespace aitune {

/// `options` must live as long; `constantBytes` is the size of the model's
/// weights.
std::unique_ptr<CompilationTarget>
createCpuTarget(const CompileOptions &options, int64_t constantBytes);

/// `plan` with its kernels, the `objects` of a candidate or a model, ready to
/// run. `constants` is the pool.
absl::StatusOr<std::unique_ptr<Executable>>
loadOnCpu(const ExecutablePlan &plan, absl::Span<const KernelObject> objects,
          absl::Span<const ConstantTensor> constants);

} // namespace aitune

#endif // AITUNE_COMPILER_CANDIDATES_CPUTARGET_H
