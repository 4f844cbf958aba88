#include "frontend/backends/autocast_config.h"

#include "frontend/backends/autocast_dtype.h"
#include "runtime/backend/config_reader.h"
#include "runtime/status/status_macros.h"

namespace aitune::frontend {

ConfigDict AutocastConfig::ToDict() const {
  return {{"autocast_enabled", autocast_enabled},
          {"autocast_dtype", autocast_dtype.has_value()
                                 ? ConfigValue(*autocast_dtype)
                                 : ConfigValue()}};
}

ConfigDict AutocastConfig::DefaultDict() const {
  return AutocastConfig().ToDict();
}

absl::Status AutocastConfig::Validate() const {
  return ValidateAutocastDtype(autocast_dtype);
}

absl::Status AutocastConfig::Read(std::string_view name,
                                  const ConfigDict& dict) {
  ConfigReader reader(name, dict);
  reader.Read("autocast_enabled", &autocast_enabled);
  reader.Read("autocast_dtype", &autocast_dtype);
  AITUNE_RETURN_IF_ERROR(reader.Finish());
  return Validate();
}

}  // namespace aitune::frontend
