// The configuration of the backend that runs the model in LibTorch's eager
// mode, operator by operator. It is the baseline of every comparison.
#ifndef AITUNE_FRONTEND_BACKENDS_EAGER_TORCH_EAGER_CONFIG_H_
#define AITUNE_FRONTEND_BACKENDS_EAGER_TORCH_EAGER_CONFIG_H_

#include <optional>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "runtime/backend/backend_config.h"
#include "runtime/tensor/data_type.h"

namespace aitune::frontend {

class TorchEagerBackendConfig : public BackendConfig {
 public:
  // As in TorchInductorBackendConfig.
  bool autocast_enabled = false;
  std::optional<DataType> autocast_dtype;

  ConfigDict ToDict() const override;
  ConfigDict DefaultDict() const override;
  // kInvalidArgument for an autocast dtype that is neither float16 nor
  // bfloat16.
  absl::Status Validate() const override;

  // The configuration with these fields; missing ones keep their defaults.
  // Errors as Validate; kInvalidArgument for an unknown field and for a value
  // of the wrong type.
  static absl::StatusOr<TorchEagerBackendConfig> FromDict(
      const ConfigDict& dict);
};

}  // namespace aitune::frontend

#endif  // AITUNE_FRONTEND_BACKENDS_EAGER_TORCH_EAGER_CONFIG_H_
