#include "frontend/backends/cudagraphs/cudagraphs_config.h"

#include "runtime/status/status_macros.h"

namespace aitune::frontend {

absl::StatusOr<TorchCudaGraphsBackendConfig>
TorchCudaGraphsBackendConfig::FromDict(const ConfigDict& dict) {
  TorchCudaGraphsBackendConfig config;
  AITUNE_RETURN_IF_ERROR(config.Read("TorchCudaGraphsBackendConfig", dict));
  return config;
}

}  // namespace aitune::frontend
