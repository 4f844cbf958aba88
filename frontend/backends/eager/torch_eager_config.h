// The configuration of the backend that runs the model in LibTorch's eager
// mode, operator by operator. It is the baseline of every comparison.
#ifndef AITUNE_FRONTEND_BACKENDS_EAGER_TORCH_EAGER_CONFIG_H_
#define AITUNE_FRONTEND_BACKENDS_EAGER_TORCH_EAGER_CONFIG_H_

#include "absl/status/statusor.h"
#include "frontend/backends/autocast_config.h"
#include "runtime/backend/config_value.h"

namespace aitune::frontend {

class TorchEagerBackendConfig : public AutocastConfig {
 public:
  // The configuration with these fields; missing ones keep their defaults.
  // Errors as Validate; kInvalidArgument for an unknown field and for a value
  // of the wrong type.
  static absl::StatusOr<TorchEagerBackendConfig> FromDict(
      const ConfigDict& dict);
};

}  // namespace aitune::frontend

#endif  // AITUNE_FRONTEND_BACKENDS_EAGER_TORCH_EAGER_CONFIG_H_
