// TorchInductorBackend: the model compiled by this library, a version for each
// kind of inputs.
#include <memory>
#include <utility>

#include "frontend/backends/compiled/compiled_backend.h"
#include "frontend/backends/compiled/torch_inductor_config.h"
#include "runtime/backend/registry.h"
#include "runtime/status/status_macros.h"

namespace aitune::frontend {
namespace {

constexpr char kName[] = "TorchInductorBackend";

absl::StatusOr<std::unique_ptr<Backend>> Create(const ConfigDict& dict) {
  AITUNE_ASSIGN_OR_RETURN(TorchInductorBackendConfig config,
                          TorchInductorBackendConfig::FromDict(dict));
  AITUNE_ASSIGN_OR_RETURN(InductorOptions options, ResolveOptions(config));
  BackendTraits traits;
  traits.name = kName;
  traits.devices = {"cpu", "cuda"};
  traits.is_jit = true;
  auto implementation =
      MakeCompiledBackend(kName, config.Key(), config, std::move(options));
  return Backend::Create(
      std::move(traits),
      std::make_unique<TorchInductorBackendConfig>(std::move(config)),
      std::move(implementation));
}

[[maybe_unused]] const absl::Status registered = RegisterBackend(
    kName, {"Compiles the model for this machine, a version for each kind of "
            "inputs.",
            Create, CheckCompilesFor});

}  // namespace
}  // namespace aitune::frontend
