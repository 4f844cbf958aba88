#include "frontend/backends/eager/torch_eager_config.h"

#include "runtime/status/status_macros.h"

namespace aitune::frontend {

absl::StatusOr<TorchEagerBackendConfig> TorchEagerBackendConfig::FromDict(
    const ConfigDict& dict) {
  TorchEagerBackendConfig config;
  AITUNE_RETURN_IF_ERROR(config.Read("TorchEagerBackendConfig", dict));
  return config;
}

}  // namespace aitune::frontend
