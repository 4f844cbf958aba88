// CUDA text to machine code by NVIDIA's run-time compiler, found when first
// used: a machine without it runs everything else.
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
/// what to install) or does not know the architecture; kInternal for text that
/// does not compile: the message has the compiler's first error, the line of
/// the text that it is at and the file in the temporary folder where the text
/// was kept.
absl::StatusOr<std::string> compileToCubin(const std::string &text,
                                           const GpuTarget &target);

/// Major and minor version of the NVRTC that compileToCubin uses, for cache
/// keys: "13.0". Errors as above.
absl::StatusOr<std::string> nvrtcVersion();

} // namespace aitune

#endif // AITUNE_COMPILER_CODEGEN_GPU_TARGET_NVRTC_H
