// How compiling backends compile a model. A command line or a program says it
// once, and it holds for every version of the model, also for those that are
// compiled after a checkpoint was loaded. A backend's configuration adds to it.
#ifndef AITUNE_FRONTEND_BACKENDS_COMPILE_SETTINGS_H_
#define AITUNE_FRONTEND_BACKENDS_COMPILE_SETTINGS_H_

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "compiler/Compiler.h"
#include "frontend/torchscript/model_inputs.h"

namespace aitune::frontend {

class CompiledModel;

struct CompileSettings {
  // Options of the compiler. `device` is ignored: the backend sets it.
  // `compileTo` must have its default.
  CompileOptions options;
  // The inputs to trace for. Calls that they describe get the versions that
  // CompiledModel::Build makes for these inputs, which are also those of the
  // command line. Not set: versions are made for the inputs of each call.
  std::optional<ModelInputs> inputs;
  uint64_t seed = 0;  // of the input elements that tracing makes up
  // The cache folder of all backends. Empty: each backend uses its own folder
  // (BuildRequest::cache_dir).
  std::filesystem::path cache_folder;
  // Called with each version after it was built or loaded from the cache, and
  // with the key of its backend, on the thread that built it. If `repaired`, it
  // is one of before that was wrong and was built again. May be null.
  std::function<void(const std::string& key,
                     const std::shared_ptr<const CompiledModel>& version,
                     bool repaired)>
      built;
};

}  // namespace aitune::frontend

#endif  // AITUNE_FRONTEND_BACKENDS_COMPILE_SETTINGS_H_
