// The configuration of the backend that records LibTorch's operators as CUDA
// graphs: torch.compile's "cudagraphs".
#ifndef AITUNE_FRONTEND_BACKENDS_CUDAGRAPHS_CUDAGRAPHS_CONFIG_H_
#define AITUNE_FRONTEND_BACKENDS_CUDAGRAPHS_CUDAGRAPHS_CONFIG_H_

#include "absl/status/statusor.h"
#include "frontend/backends/autocast_config.h"
#include "runtime/backend/config_value.h"

namespace aitune::frontend {

class TorchCudaGraphsBackendConfig : public AutocastConfig {
 public:
  // The configuration with these fields; missing ones keep their defaults.
  // Errors as Validate; kInvalidArgument for an unknown field and for a value
  // of the wrong type.
  static absl::StatusOr<TorchCudaGraphsBackendConfig> FromDict(
      const ConfigDict& dict);
};

}  // namespace aitune::frontend

#endif  // AITUNE_FRONTEND_BACKENDS_CUDAGRAPHS_CUDAGRAPHS_CONFIG_H_
