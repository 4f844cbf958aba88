// The GPU that a model is compiled for, before a target opens it.
#ifndef AITUNE_COMPILER_CANDIDATES_FINDGPU_H
#define AITUNE_COMPILER_CANDIDATES_FINDGPU_H

#include <optional>

#include "absl/status/statusor.h"
#include "compiler/Compiler.h"
#include "compiler/codegen/gpu/target/GpuTarget.h"
#include "runtime/cuda/device.h"

namespace aitune {

/// What code generation must know of a GPU.
GpuTarget toGpuTarget(const cuda::Device &gpu);

/// The GPU that options.device names, as cuda::Device::Open finds it; nothing
/// for a CPU. Where it is missing and only IR is asked for (compileTo), which
/// needs none, a typical one.
absl::StatusOr<std::optional<GpuTarget>> findGpu(const CompileOptions &options);

} // namespace aitune

#endif // AITUNE_COMPILER_CANDIDATES_FINDGPU_H
