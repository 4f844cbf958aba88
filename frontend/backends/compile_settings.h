// How backends that compile are to compile a model: what a command line or a
// program says once, and what holds for every version that is made of it, also
// after a checkpoint of it was loaded. A backend's configuration adds to it.
#ifndef AITUNE_FRONTEND_BACKENDS_COMPILE_SETTINGS_H_
#define AITUNE_FRONTEND_BACKENDS_COMPILE_SETTINGS_H_

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>

#include "compiler/Compiler.h"
#include "frontend/compiled_model/model_inputs.h"

namespace aitune::frontend {

class CompiledModel;

struct CompileSettings {
  // All but `device`, which is the backend's, and `compileTo`.
  CompileOptions options;
  // What is traced for: calls that these inputs describe get the versions that
  // CompiledModel::Build makes of them, which are the same that the command
  // line makes. Nothing: the inputs are those of each call.
  std::optional<ModelInputs> inputs;
  uint64_t seed = 0;  // of the values that tracing makes up
  // Where versions are looked up and kept, of all backends alike; empty: in
  // each backend's own folder.
  std::filesystem::path cache_folder;
  // Called with each version after it was built or taken from the cache, and
  // the key of its backend, by the thread that did; may be null.
  std::function<void(const std::string& key, const CompiledModel& version)>
      built;
};

}  // namespace aitune::frontend

#endif  // AITUNE_FRONTEND_BACKENDS_COMPILE_SETTINGS_H_
