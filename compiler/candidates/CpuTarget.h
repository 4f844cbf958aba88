// The CPU as a target: code that LLVM generates, and oneDNN.
#ifndef AITUNE_COMPILER_CANDIDATES_CPUTARGET_H
#define AITUNE_COMPILER_CANDIDATES_CPUTARGET_H

#include <memory>

#include "compiler/candidates/CompilationTarget.h"
#include "runtime/executable/cpu_executable.h"

namespace aitune {

/// The CPU as a target. `options` must outlive it; `constantBytes` is the
/// number of bytes of the model's weights.
std::unique_ptr<CompilationTarget>
createCpuTarget(const CompileOptions &options, int64_t constantBytes);

/// Whether weights with this number of bytes are too many for the CPU's caches,
/// so that each call of the model reads them from memory.
bool exceedsCaches(int64_t constantBytes);

/// Loads `plan`, that of a candidate or of a model. `objects` is the code of
/// its kernels, `constants` the pool, `regions` are the parts that LibTorch
/// runs. Errors as LoadKernels and CpuExecutable::Load.
absl::StatusOr<std::unique_ptr<CpuExecutable>>
loadOnCpu(const ExecutablePlan &plan, absl::Span<const KernelObject> objects,
          absl::Span<const ConstantTensor> constants,
          std::vector<std::unique_ptr<FallbackRegion>> regions = {});

} // namespace aitune

#endif // AITUNE_COMPILER_CANDIDATES_CPUTARGET_H
