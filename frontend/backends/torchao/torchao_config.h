// The configuration of the quantising backend: one of torchao's, with the key
// that AITune in Python gives it, and what is ours.
#ifndef AITUNE_FRONTEND_BACKENDS_TORCHAO_TORCHAO_CONFIG_H_
#define AITUNE_FRONTEND_BACKENDS_TORCHAO_TORCHAO_CONFIG_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "frontend/backends/torchao/torchao_quantization.h"
#include "quant/options.h"
#include "runtime/backend/backend_config.h"
#include "runtime/backend/config_value.h"

namespace aitune::frontend {
class TorchAOBackendConfig : public BackendConfig {
 public:
  // The quantisation of a backend that is given no configuration.
  static constexpr char kDefaultQuantization[] = "fp8wo";

  // int8wo, int8dq, fp8wo or fp8dq: torchao's configuration of that scheme with
  // its defaults. Ours: auto, the best of them for each layer. Exactly one of
  // this and `quantization_config` must be given. It counts as the object it
  // stands for: both have the same dict, key and description.
  std::optional<std::string> quantization;
  std::optional<torchao::QuantizationConfig> quantization_config;

  // Ours, as in quant::QuantizationOptions. Part of the key and the description
  // where they differ from their default.
  quant::Verdict verdict = quant::Verdict::kOn;
  quant::AccuracyBound bound;
  bool extended_layers = false;
  std::vector<std::string> skip_modules;

  // {"quantization_config": a dict of its fields, with its class as "type"}, or
  // {"quantization": "auto"}; then our own fields.
  ConfigDict ToDict() const override;
  ConfigDict DefaultDict() const override;
  // The same without the class, as in Python, and without those of our own
  // fields that have their default.
  ConfigDict KeyDict() const override;
  // "quantization_config=Float8WeightOnlyConfig(granularity=PerTensor())", then
  // our own fields: what differs from the defaults.
  std::string Describe() const override;

  // Errors: both or none of quantization and quantization_config, a name that
  // there is not, a field of torchao's whose value is not taken, and as
  // quant::Validate.
  absl::Status Validate() const override;

  // What to do. Errors as Validate.
  absl::StatusOr<quant::QuantizationOptions> Options() const;

  // The inverse of Options. kInvalidArgument for options that a name of a
  // scheme and our own fields can't say, such as the granularity.
  static absl::StatusOr<TorchAOBackendConfig> FromOptions(
      const quant::QuantizationOptions& options);

  // The inverse of ToDict; "quantization" may be any name, and fields may be
  // missing. Errors as Validate, and a field that there is not or of the wrong
  // type.
  static absl::StatusOr<TorchAOBackendConfig> FromDict(const ConfigDict& dict);
};

}  // namespace aitune::frontend

#endif  // AITUNE_FRONTEND_BACKENDS_TORCHAO_TORCHAO_CONFIG_H_
