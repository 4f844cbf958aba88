// Compiles CUDA text to machine code with NVIDIA's run-time compiler, NVRTC.
// The library is loaded at first use, so that a machine without it can do
// everything else.
#ifndef AITUNE_COMPILER_CODEGEN_GPU_TARGET_NVRTC_H
#define AITUNE_COMPILER_CODEGEN_GPU_TARGET_NVRTC_H

#include <string>

#include "absl/status/statusor.h"
#include "compiler/codegen/gpu/target/GpuTarget.h"

namespace aitune {

/// The cubin of `text` for `target`. Needs no GPU. Thread-safe: compilations
/// run in parallel.
///
/// kFailedPrecondition when libnvrtc.so.13 cannot be loaded (the message says
/// what to install) or does not support the architecture; kInternal for text
/// that does not compile: the message has the compiler's first error, the line
/// of the text where it is, and the file in the temporary folder to which the
/// text was written.
absl::StatusOr<std::string> compileToCubin(const std::string &text,
                                           const GpuTarget &target);

/// The major and minor version of NVRTC, such as "13.0", for cache keys. Errors
/// as compileToCubin. Thread-safe.
absl::StatusOr<std::string> nvrtcVersion();

} // namespace aitune

#endif // AITUNE_COMPILER_CODEGEN_GPU_TARGET_NVRTC_H
