#include "frontend/backends/compiled/torch_inductor_config.h"

#include "runtime/backend/config_reader.h"
#include "runtime/status/status_macros.h"

namespace aitune::frontend {
namespace {

template <typename T>
ConfigValue OrNone(const std::optional<T>& value) {
  return value.has_value() ? ConfigValue(*value) : ConfigValue();
}

}  // namespace

ConfigDict TorchInductorBackendConfig::ToDict() const {
  return {{"fullgraph", fullgraph},
          {"dynamic", OrNone(dynamic)},
          {"mode", OrNone(mode)},
          {"options", OrNone(options)},
          {"autocast_enabled", autocast_enabled},
          {"autocast_dtype", OrNone(autocast_dtype)}};
}

ConfigDict TorchInductorBackendConfig::DefaultDict() const {
  return TorchInductorBackendConfig().ToDict();
}

absl::Status TorchInductorBackendConfig::Validate() const {
  return ResolveOptions(*this).status();
}

absl::StatusOr<TorchInductorBackendConfig> TorchInductorBackendConfig::FromDict(
    const ConfigDict& dict) {
  TorchInductorBackendConfig config;
  ConfigReader reader("TorchInductorBackendConfig", dict);
  reader.Read("fullgraph", &config.fullgraph);
  reader.Read("dynamic", &config.dynamic);
  reader.Read("mode", &config.mode);
  reader.Read("options", &config.options);
  reader.Read("autocast_enabled", &config.autocast_enabled);
  reader.Read("autocast_dtype", &config.autocast_dtype);
  AITUNE_RETURN_IF_ERROR(reader.Finish());
  AITUNE_RETURN_IF_ERROR(config.Validate());
  return config;
}

}  // namespace aitune::frontend
