// The inputs that a model was traced with. Internal.
#ifndef AITUNE_FRONTEND_TORCHSCRIPT_RECORDED_INPUTS_H_
#define AITUNE_FRONTEND_TORCHSCRIPT_RECORDED_INPUTS_H_

#include <optional>
#include <string>
#include <vector>

#include "frontend/torchscript/input_spec.h"

namespace aitune::frontend {

// What the archive says that forward was traced with; nothing when it does not
// say or says it in a form that no specification has.
std::optional<std::vector<InputSpec>> ReadRecordedInputs(
    const std::string& path);

}  // namespace aitune::frontend

#endif  // AITUNE_FRONTEND_TORCHSCRIPT_RECORDED_INPUTS_H_
