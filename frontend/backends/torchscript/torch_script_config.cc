#include "frontend/backends/torchscript/torch_script_config.h"

#include "frontend/backends/autocast_dtype.h"
#include "runtime/backend/config_reader.h"
#include "runtime/status/status_macros.h"

namespace aitune::frontend {

ConfigDict TorchScriptBackendConfig::ToDict() const {
  return {{"freeze", freeze},
          {"optimize_for_inference", optimize_for_inference},
          {"autocast_enabled", autocast_enabled},
          {"autocast_dtype", autocast_dtype.has_value()
                                 ? ConfigValue(*autocast_dtype)
                                 : ConfigValue()}};
}

ConfigDict TorchScriptBackendConfig::DefaultDict() const {
  return TorchScriptBackendConfig().ToDict();
}

absl::Status TorchScriptBackendConfig::Validate() const {
  if (optimize_for_inference && !freeze) {
    return absl::InvalidArgumentError(
        "optimize_for_inference needs a frozen model. Set freeze to True, or "
        "optimize_for_inference to False.");
  }
  return ValidateAutocastDtype(autocast_dtype);
}

absl::StatusOr<TorchScriptBackendConfig> TorchScriptBackendConfig::FromDict(
    const ConfigDict& dict) {
  TorchScriptBackendConfig config;
  ConfigReader reader("TorchScriptBackendConfig", dict);
  reader.Read("freeze", &config.freeze);
  reader.Read("optimize_for_inference", &config.optimize_for_inference);
  reader.Read("autocast_enabled", &config.autocast_enabled);
  reader.Read("autocast_dtype", &config.autocast_dtype);
  AITUNE_RETURN_IF_ERROR(reader.Finish());
  AITUNE_RETURN_IF_ERROR(config.Validate());
  return config;
}

}  // namespace aitune::frontend
