// TorchAOBackend: the model compiled with quantised layers.
#include <memory>
#include <utility>

#include "frontend/backends/compiled/compiled_backend.h"
#include "frontend/backends/torchao/torchao_config.h"
#include "runtime/backend/registry.h"
#include "runtime/status/status_macros.h"

namespace aitune::frontend {
namespace {

constexpr char kName[] = "TorchAOBackend";

absl::StatusOr<std::unique_ptr<Backend>> Create(const ConfigDict& dict) {
  TorchAOBackendConfig config;
  if (dict.empty()) {
    config.quantization = TorchAOBackendConfig::kDefaultQuantization;
  } else {
    AITUNE_ASSIGN_OR_RETURN(config, TorchAOBackendConfig::FromDict(dict));
  }
  AITUNE_ASSIGN_OR_RETURN(const quant::QuantizationOptions quantization,
                          config.Options());
  // As the original compiles what it quantised.
  InductorOptions options;
  options.max_autotune = true;
  options.quantization = quant::ToString(quantization);
  options.accuracy_bound = quantization.bound;
  BackendTraits traits;
  traits.name = kName;
  traits.devices = {"cpu", "cuda"};
  traits.is_jit = true;
  auto implementation = MakeCompiledBackend(
      kName, config.Key(), TorchInductorBackendConfig(), std::move(options));
  return Backend::Create(
      std::move(traits),
      std::make_unique<TorchAOBackendConfig>(std::move(config)),
      std::move(implementation));
}

[[maybe_unused]] const absl::Status registered = RegisterBackend(
    kName, {"Quantises linear layers to 8 bits and compiles the model.", Create,
            CheckCompilesFor});

}  // namespace
}  // namespace aitune::frontend
