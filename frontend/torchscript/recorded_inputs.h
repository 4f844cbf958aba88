// The inputs that a model was traced with. Internal.
#ifndef AITUNE_FRONTEND_TORCHSCRIPT_RECORDED_INPUTS_H_
#define AITUNE_FRONTEND_TORCHSCRIPT_RECORDED_INPUTS_H_

#include <optional>
#include <string>
#include <vector>

#include "frontend/torchscript/input_spec.h"

namespace aitune::frontend {

// The specifications of the inputs that forward was traced with, as the file
// `path` records them. Not set when it records none, or inputs that no
// specification can describe.
std::optional<std::vector<InputSpec>> ReadRecordedInputs(
    const std::string& path);

}  // namespace aitune::frontend

#endif  // AITUNE_FRONTEND_TORCHSCRIPT_RECORDED_INPUTS_H_
