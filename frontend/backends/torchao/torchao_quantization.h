// The configuration classes of torchao 0.18, with its names, fields, defaults
// and order of fields, so that a configuration written for torchao means the
// same here. Values that torchao supports and this project does not are errors.
#ifndef AITUNE_FRONTEND_BACKENDS_TORCHAO_TORCHAO_QUANTIZATION_H_
#define AITUNE_FRONTEND_BACKENDS_TORCHAO_TORCHAO_QUANTIZATION_H_

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <variant>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "quant/options.h"
#include "runtime/backend/config_value.h"
#include "runtime/tensor/data_type.h"

namespace aitune::frontend {
namespace torchao {

// One scale for each row.
struct PerRow {
  int64_t dim = -1;  // the axis along which a row lies; must be -1, the last
};
// One scale for the whole tensor.
struct PerTensor {};
using Granularity = std::variant<PerRow, PerTensor>;

// The codes of a tensor's greatest and least element. Must be kSymmetric.
enum class MappingType : int64_t {
  kSymmetric = 1,
  kSymmetricNoClippingErr = 2,
  kAsymmetric = 3,
};

// In all classes `version` must be 2, and `set_inductor_config` changes
// nothing, because it is about Inductor.

struct Int8WeightOnlyConfig {
  std::optional<int64_t> group_size;  // must not be set, as in torchao
  Granularity granularity = PerRow();
  bool set_inductor_config = true;
  int64_t version = 2;
};

struct Int8DynamicActivationInt8WeightConfig {
  MappingType act_mapping_type = MappingType::kSymmetric;
  // Changes nothing, as in torchao's version 2.
  bool weight_only_decode = false;
  Granularity granularity = PerRow();  // of the activation and of the weight
  bool set_inductor_config = true;
  int64_t version = 2;
  bool reduce_range = false;  // must be false
};

struct Float8WeightOnlyConfig {
  DataType weight_dtype = DataType::kFloat8E4M3Fn;  // must be this
  bool set_inductor_config = true;
  int64_t version = 2;
  Granularity granularity = PerRow();
};

struct Float8MMConfig {
  bool emulate = false;        // must be false
  bool use_fast_accum = true;  // sums may have fewer bits than float32
  bool pad_inner_dim = false;  // padding with zeros, which changes no sum
};

struct Float8DynamicActivationFloat8WeightConfig {
  DataType activation_dtype = DataType::kFloat8E4M3Fn;  // must be this
  DataType weight_dtype = DataType::kFloat8E4M3Fn;      // must be this
  // Those of the activation and of the weight, which must be equal.
  std::array<Granularity, 2> granularity = {PerTensor(), PerTensor()};
  std::string packing_format = "plain";  // must be this
  Float8MMConfig mm_config;
  std::optional<double> activation_value_lb;  // must not be set
  std::optional<double> activation_value_ub;  // must not be set
  std::string kernel_preference = "auto";     // must be this
  bool set_inductor_config = true;
  int64_t version = 2;
  int64_t alg_id = 0;  // the algorithm of sparse kernels; must be 0
};

using QuantizationConfig =
    std::variant<Int8WeightOnlyConfig, Int8DynamicActivationInt8WeightConfig,
                 Float8WeightOnlyConfig,
                 Float8DynamicActivationFloat8WeightConfig>;

// The scheme's configuration with torchao's defaults.
QuantizationConfig ConfigOf(quant::Scheme scheme);

// The same with scales of this granularity, of activations as of weights. For
// fp8dq alone, `fast_accumulation` is mm_config.use_fast_accum.
QuantizationConfig ConfigOf(quant::Scheme scheme,
                            quant::Granularity granularity,
                            bool fast_accumulation);

// "Int8WeightOnlyConfig" and so on.
std::string ClassName(const QuantizationConfig& config);

// The fields in torchao's order, without the class. Keys are made of them.
ConfigDict ToDict(const QuantizationConfig& config);

// The configuration with these fields and the class "type"; missing fields keep
// their defaults. Values are as in ToDict or, read as dicts with a "type", as
// Describe prints them. kInvalidArgument for an unknown class or field, or a
// value of the wrong type. Does not check whether values are supported; see
// Validate.
absl::StatusOr<QuantizationConfig> FromDict(const ConfigDict& dict);

// "Float8WeightOnlyConfig(granularity=PerTensor())": the class and the fields
// that differ from their default, as Python prints them.
std::string Describe(const QuantizationConfig& config);

// kInvalidArgument names a field whose value is not supported.
absl::Status Validate(const QuantizationConfig& config);

// Sets the options that `config`, which must be valid, describes.
void SetOptions(const QuantizationConfig& config,
                quant::QuantizationOptions* options);

}  // namespace torchao
}  // namespace aitune::frontend

#endif  // AITUNE_FRONTEND_BACKENDS_TORCHAO_TORCHAO_QUANTIZATION_H_
