// The key under which a build is stored in the on-disk cache: a hash of
// everything that its result depends on.
#ifndef AITUNE_FRONTEND_COMPILED_MODEL_CACHE_KEY_H_
#define AITUNE_FRONTEND_COMPILED_MODEL_CACHE_KEY_H_

#include <string>
#include <string_view>

#include "compiler/Compiler.h"
#include "frontend/torchscript/model_inputs.h"
#include "frontend/tracing/build_trace.h"
#include "runtime/cache/cache_key.h"

namespace aitune::frontend {

// The key of a build of the model with the hash `model_sha256` for `inputs`. Of
// the inputs, the key depends on kinds, sizes, ranges and constant values, but
// not on the elements of sample tensors, on which a trace does not depend; only
// where layers are quantised, which are chosen by their error on the samples.
// `gpu` is cuda::DescribeGpu of the GPU that is compiled for; empty for the
// CPU.
CacheKey KeyOfBuild(std::string_view model_sha256, const ModelInputs& inputs,
                    const CompileOptions& compile, const TraceOptions& trace,
                    std::string_view gpu = {});

// Identifies this build of the library: a hash of the program or shared library
// that this code is in (of the linker's build id, or of all bytes if it has
// none), and of the names, sizes and modification times of the compiler's and
// LibTorch's libraries in the process. Computed once. Thread-safe.
const std::string& BuildId();

}  // namespace aitune::frontend

#endif  // AITUNE_FRONTEND_COMPILED_MODEL_CACHE_KEY_H_
