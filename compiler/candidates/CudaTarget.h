// An NVIDIA GPU as a target: CUDA text compiled by NVRTC, cuBLASLt and cuDNN.
#ifndef AITUNE_COMPILER_CANDIDATES_CUDATARGET_H
#define AITUNE_COMPILER_CANDIDATES_CUDATARGET_H

#include <memory>

#include "compiler/candidates/CompilationTarget.h"

namespace aitune {

/// The GPU number `ordinal`, which open() opens. `options` must outlive the
/// target.
std::unique_ptr<CompilationTarget>
createCudaTarget(const CompileOptions &options, int ordinal);

} // namespace aitune

#endif // AITUNE_COMPILER_CANDIDATES_CUDATARGET_H
