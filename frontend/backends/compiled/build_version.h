// Builds one version of a model, for the inputs that a dispatch table asks for.
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
#include "runtime/device/device.h"
#include "runtime/guards/input_description.h"

namespace aitune::frontend {

// The compiler's options for a backend: those of `settings` and of the
// backend's configuration, for `device`.
CompileOptions OptionsOfVersion(const CompileSettings& settings,
                                const InductorOptions& configured,
                                const Device& device);

// A call that no version fits.
struct VersionRequest {
  const Model& model;
  std::string name;  // the model's name in messages
  // The inputs to trace for (CompileSettings::inputs); null if there are none,
  // or not for this version.
  const ModelInputs* asked = nullptr;
  // Whether the model has no version yet.
  bool is_first = true;
  // The inputs that the new version should cover.
  absl::Span<const InputDescription> wanted;
  const ValueList& arguments;  // those of the call, on the CPU
};

// Builds a version that is right for the call. If `asked` describes the call,
// this is the version that CompiledModel::Build makes for `asked` or, if that
// does not cover the call's sizes, the one with these sizes as anchor.
// Otherwise it is a version for `wanted`, with fewer dynamic axes if the model
// does not work with all of them. `build` must have no anchor. Errors: those of
// CompiledModel::Build.
absl::StatusOr<std::unique_ptr<CompiledModel>> BuildVersion(
    const VersionRequest& request, const BuildOptions& build);

// Options as a checkpoint stores them, for versions that are compiled later:
// without the tuning database and other options that belong to this process or
// machine.
CompileOptionsProto ToProto(const CompileOptions& options);
CompileOptions FromProto(const CompileOptionsProto& proto);

}  // namespace aitune::frontend

#endif  // AITUNE_FRONTEND_BACKENDS_COMPILED_BUILD_VERSION_H_
