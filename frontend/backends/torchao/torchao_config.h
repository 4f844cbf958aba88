// The configuration of the quantising backend: a configuration of torchao, with
// the key that AITune in Python gives it, and fields of this project.
#ifndef AITUNE_FRONTEND_BACKENDS_TORCHAO_TORCHAO_CONFIG_H_
#define AITUNE_FRONTEND_BACKENDS_TORCHAO_TORCHAO_CONFIG_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "frontend/backends/torchao/torchao_quantization.h"
#include "quant/options.h"
#include "runtime/backend/accuracy_bound.h"
#include "runtime/backend/backend_config.h"
#include "runtime/backend/config_value.h"

namespace aitune::frontend {
class TorchAOBackendConfig : public BackendConfig {
 public:
  // The quantisation of a backend that is given no configuration.
  static constexpr char kDefaultQuantization[] = "fp8wo";

  // The name of a scheme: int8wo, int8dq, fp8wo or fp8dq is torchao's
  // configuration of that scheme with its defaults; auto, which torchao does
  // not have, is the best scheme for each layer. Exactly one of this and
  // `quantization_config` must be given. A name and the configuration that it
  // stands for have the same dict, key and description.
  std::optional<std::string> quantization;
  std::optional<torchao::QuantizationConfig> quantization_config;

  // Fields that torchao does not have; see quant::QuantizationOptions. They are
  // part of the key and the description if they differ from their defaults.
  quant::Verdict verdict = quant::Verdict::kOn;
  AccuracyBound bound;
  bool extended_layers = false;
  std::vector<std::string> skip_modules;

  // {"quantization_config": a dict of its fields, with its class as "type"}, or
  // {"quantization": "auto"}; then the project's own fields.
  ConfigDict ToDict() const override;
  ConfigDict DefaultDict() const override;
  // As ToDict, without the class, as in Python, and without own fields that
  // have their defaults.
  ConfigDict KeyDict() const override;
  // "quantization_config=Float8WeightOnlyConfig(granularity=PerTensor())", then
  // the own fields; fields that have their defaults are left out.
  std::string Describe() const override;

  // kInvalidArgument for both or none of quantization and quantization_config,
  // an unknown name, and a field of torchao with a value that is not supported;
  // errors as quant::Validate.
  absl::Status Validate() const override;

  // The options of the quantisation. Errors as Validate.
  absl::StatusOr<quant::QuantizationOptions> Options() const;

  // The configuration with these options: the name of a scheme, or torchao's
  // configuration where they differ from its defaults. kInvalidArgument for
  // what neither can express, such as eager arithmetic.
  static absl::StatusOr<TorchAOBackendConfig> FromOptions(
      const quant::QuantizationOptions& options);

  // The configuration with these fields; missing ones keep their defaults, and
  // "quantization" may be any name. Errors as Validate; kInvalidArgument for an
  // unknown field and for a value of the wrong type.
  static absl::StatusOr<TorchAOBackendConfig> FromDict(const ConfigDict& dict);
};

}  // namespace aitune::frontend

#endif  // AITUNE_FRONTEND_BACKENDS_TORCHAO_TORCHAO_CONFIG_H_
