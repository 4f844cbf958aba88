// The configuration of the backend that runs the model with LibTorch's own
// TorchScript optimiser, as a service without this library would.
#ifndef AITUNE_FRONTEND_BACKENDS_TORCHSCRIPT_TORCH_SCRIPT_CONFIG_H_
#define AITUNE_FRONTEND_BACKENDS_TORCHSCRIPT_TORCH_SCRIPT_CONFIG_H_

#include <optional>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "runtime/backend/backend_config.h"
#include "runtime/tensor/data_type.h"

namespace aitune::frontend {

class TorchScriptBackendConfig : public BackendConfig {
 public:
  // torch.jit.freeze: parameters become constants of the graph.
  bool freeze = true;
  // torch.jit.optimize_for_inference, on top of freezing.
  bool optimize_for_inference = true;
  // As in TorchInductorBackendConfig.
  bool autocast_enabled = false;
  std::optional<DataType> autocast_dtype;

  ConfigDict ToDict() const override;
  ConfigDict DefaultDict() const override;
  // kInvalidArgument for optimize_for_inference without freeze, and for an
  // autocast dtype that is neither float16 nor bfloat16.
  absl::Status Validate() const override;

  // The configuration with these fields; missing ones keep their defaults.
  // Errors as Validate; kInvalidArgument for an unknown field and for a value
  // of the wrong type.
  static absl::StatusOr<TorchScriptBackendConfig> FromDict(
      const ConfigDict& dict);
};

}  // namespace aitune::frontend

#endif  // AITUNE_FRONTEND_BACKENDS_TORCHSCRIPT_TORCH_SCRIPT_CONFIG_H_
