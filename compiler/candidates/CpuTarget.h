// The CPU as a target: LLVM code and oneDNN.
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

/// Whether a model's weights of this size come from memory at each call: they
/// do not stay in a CPU's last cache.
bool exceedsCaches(int64_t constantBytes);

/// Loads `plan`, of a candidate or a model, with the code of its kernels,
/// `objects`, and what LibTorch runs of it, `regions`. `constants` is the pool.
/// Errors as CpuExecutable::Load.
absl::StatusOr<std::unique_ptr<CpuExecutable>>
loadOnCpu(const ExecutablePlan &plan, absl::Span<const KernelObject> objects,
          absl::Span<const ConstantTensor> constants,
          std::vector<std::unique_ptr<FallbackRegion>> regions = {});

} // namespace aitune

#endif // AITUNE_COMPILER_CANDIDATES_CPUTARGET_H
