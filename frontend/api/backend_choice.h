// A backend's kind and configuration, as a user writes them and as reports
// print them: "TorchInductorBackend(mode=max-autotune, fullgraph=True)".
#ifndef AITUNE_FRONTEND_API_BACKEND_CHOICE_H_
#define AITUNE_FRONTEND_API_BACKEND_CHOICE_H_

#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "runtime/backend/config_value.h"

namespace ait {

// A kind of backend by name, and its configuration.
using BackendChoice = std::pair<std::string, aitune::ConfigDict>;

// The choice that `text` makes, as the command line's --backend does. Values
// are None, true or false (True or False), integers, numbers, dtypes (float16,
// bfloat16), lists ("['a', 'b']"), dicts ("{'a': 1}") or else strings, with
// quotes or without; a name with a dot, as in "options.max_autotune=true", is a
// key of a dict, and "PerRow(dim=-1)" is a dict whose "type" is the class.
// CreateBackend checks whether the kind, the names and the values exist.
// kInvalidArgument says where the text has another form. Thread-safe.
absl::StatusOr<BackendChoice> ParseBackendChoice(const std::string& text);

}  // namespace ait

#endif  // AITUNE_FRONTEND_API_BACKEND_CHOICE_H_
