// The configuration of a backend that has autocast as its one choice.
#ifndef AITUNE_FRONTEND_BACKENDS_AUTOCAST_CONFIG_H_
#define AITUNE_FRONTEND_BACKENDS_AUTOCAST_CONFIG_H_

#include <optional>
#include <string_view>

#include "absl/status/status.h"
#include "runtime/backend/backend_config.h"
#include "runtime/backend/config_value.h"
#include "runtime/tensor/data_type.h"

namespace aitune::frontend {

class AutocastConfig : public BackendConfig {
 public:
  // As in TorchInductorBackendConfig.
  bool autocast_enabled = false;
  std::optional<DataType> autocast_dtype;

  ConfigDict ToDict() const override;
  ConfigDict DefaultDict() const override;
  // kInvalidArgument for an autocast dtype that is neither float16 nor
  // bfloat16.
  absl::Status Validate() const override;

 protected:
  // Sets the fields that `dict` has; `name` is the class's, for messages.
  // Errors as Validate; kInvalidArgument for an unknown field and for a value
  // of the wrong type.
  absl::Status Read(std::string_view name, const ConfigDict& dict);
};

}  // namespace aitune::frontend

#endif  // AITUNE_FRONTEND_BACKENDS_AUTOCAST_CONFIG_H_
