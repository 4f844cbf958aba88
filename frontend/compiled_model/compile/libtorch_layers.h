// The linear layers of a model that can't be quantised, as LibTorch runs them.
#ifndef AITUNE_FRONTEND_COMPILED_MODEL_COMPILE_LIBTORCH_LAYERS_H_
#define AITUNE_FRONTEND_COMPILED_MODEL_COMPILE_LIBTORCH_LAYERS_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "compiler/Compiler.h"
#include "frontend/trace/trace.h"

namespace aitune::frontend {

// The uses of linear layers with constant weights in the operators of `trace`
// that LibTorch runs: `fallbacks` has why, by their positions. Each is left
// alone, with that reason. One layer has one entry for a reason, whatever the
// number of its uses. `scheme` is what was asked for. `weights`, if it is not
// null, gets the numbers of their weights' constants, each with a reason.
// Thread-safe.
std::vector<QuantizedLayer> LayersOfLibTorch(
    const Trace& trace, const std::map<int, std::string>& fallbacks,
    const std::string& scheme,
    std::map<int64_t, std::string>* weights = nullptr);

}  // namespace aitune::frontend

#endif  // AITUNE_FRONTEND_COMPILED_MODEL_COMPILE_LIBTORCH_LAYERS_H_
