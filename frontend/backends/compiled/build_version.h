// One version of a model: what the guards ask for, made by the compiler.
#ifndef AITUNE_FRONTEND_BACKENDS_COMPILED_BUILD_VERSION_H_
#define AITUNE_FRONTEND_BACKENDS_COMPILED_BUILD_VERSION_H_

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "frontend/backends/compile_settings.h"
#include "frontend/backends/compiled/torch_inductor_config.h"
#include "frontend/backends/torch_backend_state.pb.h"
#include "frontend/compiled_model/compiled_model.h"
#include "runtime/guards/input_description.h"

namespace aitune::frontend {

// What a backend compiles by: `settings`, and what its configuration asks for
// beside them. On `gpu`; -1: the CPU.
CompileOptions OptionsOfVersion(const CompileSettings& settings,
                                const InductorOptions& configured, int gpu);

// A call that there is no version for.
struct VersionRequest {
  const Model& model;
  std::string name;  // for texts
  // What the command line asked to trace for (CompileSettings::inputs); null:
  // nothing, or not for this version.
  const ModelInputs* asked = nullptr;
  // Whether the model has no version yet.
  bool is_first = true;
  // What a version for the call shall hold, and the call, on the CPU.
  absl::Span<const InputDescription> wanted;
  const ValueList& arguments;
};

// A version that is right for the call. Where `asked` describes it that is the
// one that CompiledModel::Build makes of `asked`, or, if its sizes are not
// held by that, the one for its sizes; else one for `wanted`, with fewer
// dynamic axes where the model takes no more. `build` is without anchor.
// Errors: those of CompiledModel::Build.
absl::StatusOr<std::unique_ptr<CompiledModel>> BuildVersion(
    const VersionRequest& request, const BuildOptions& build);

// Options as a checkpoint keeps them, for versions that are compiled later:
// without the tuning database and what else is of this process or machine.
CompileOptionsProto ToProto(const CompileOptions& options);
CompileOptions FromProto(const CompileOptionsProto& proto);

}  // namespace aitune::frontend

#endif  // AITUNE_FRONTEND_BACKENDS_COMPILED_BUILD_VERSION_H_
