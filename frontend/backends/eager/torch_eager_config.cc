#include "frontend/backends/eager/torch_eager_config.h"

#include "frontend/backends/autocast_dtype.h"
#include "runtime/backend/config_reader.h"
#include "runtime/status/status_macros.h"

namespace aitune::frontend {

ConfigDict TorchEagerBackendConfig::ToDict() const {
  return {{"autocast_enabled", autocast_enabled},
          {"autocast_dtype", autocast_dtype.has_value()
                                 ? ConfigValue(*autocast_dtype)
                                 : ConfigValue()}};
}

ConfigDict TorchEagerBackendConfig::DefaultDict() const {
  return TorchEagerBackendConfig().ToDict();
}

absl::Status TorchEagerBackendConfig::Validate() const {
  return ValidateAutocastDtype(autocast_dtype);
}

absl::StatusOr<TorchEagerBackendConfig> TorchEagerBackendConfig::FromDict(
    const ConfigDict& dict) {
  TorchEagerBackendConfig config;
  ConfigReader reader("TorchEagerBackendConfig", dict);
  reader.Read("autocast_enabled", &config.autocast_enabled);
  reader.Read("autocast_dtype", &config.autocast_dtype);
  AITUNE_RETURN_IF_ERROR(reader.Finish());
  AITUNE_RETURN_IF_ERROR(config.Validate());
  return config;
}

}  // namespace aitune::frontend
