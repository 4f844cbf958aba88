// torchao 0.18's configurations of the schemes: its classes, with its names,
// fields, defaults and order, so that one written for it means the same here.
// What torchao offers and we don't is an error, not a wish.
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

// A scale a row. Only the last axis, -1, is taken.
struct PerRow {
  int64_t dim = -1;
};
// One scale.
struct PerTensor {};
using Granularity = std::variant<PerRow, PerTensor>;

// Which codes a tensor's greatest and least value get. Only kSymmetric is
// taken.
enum class MappingType : int64_t {
  kSymmetric = 1,
  kSymmetricNoClippingErr = 2,
  kAsymmetric = 3,
};

// Of all classes: `version` must be 2, and `set_inductor_config`, which is of
// Inductor alone, changes nothing.

struct Int8WeightOnlyConfig {
  std::optional<int64_t> group_size;  // must be nothing, as in torchao
  Granularity granularity = PerRow();
  bool set_inductor_config = true;
  int64_t version = 2;
};

struct Int8DynamicActivationInt8WeightConfig {
  MappingType act_mapping_type = MappingType::kSymmetric;
  bool weight_only_decode =
      false;  // changes nothing, as in torchao's version 2
  Granularity granularity = PerRow();  // of the activation and of the weight
  bool set_inductor_config = true;
  int64_t version = 2;
  bool reduce_range = false;  // must be false
};

struct Float8WeightOnlyConfig {
  DataType weight_dtype = DataType::kFloat8E4M3Fn;  // no other is taken
  bool set_inductor_config = true;
  int64_t version = 2;
  Granularity granularity = PerRow();
};

struct Float8MMConfig {
  bool emulate = false;        // must be false
  bool use_fast_accum = true;  // may add up with fewer bits than float32 has
  bool pad_inner_dim = false;  // of zeros, which change no sum
};

struct Float8DynamicActivationFloat8WeightConfig {
  DataType activation_dtype = DataType::kFloat8E4M3Fn;  // no other is taken
  DataType weight_dtype = DataType::kFloat8E4M3Fn;      // no other is taken
  // Of the activation and of the weight: both the same.
  std::array<Granularity, 2> granularity = {PerTensor(), PerTensor()};
  std::string packing_format = "plain";  // no other is taken
  Float8MMConfig mm_config;
  std::optional<double> activation_value_lb;  // must be nothing
  std::optional<double> activation_value_ub;  // must be nothing
  std::string kernel_preference = "auto";     // no other is taken
  bool set_inductor_config = true;
  int64_t version = 2;
  int64_t alg_id = 0;  // of sparse kernels: must be 0
};

using QuantizationConfig =
    std::variant<Int8WeightOnlyConfig, Int8DynamicActivationInt8WeightConfig,
                 Float8WeightOnlyConfig,
                 Float8DynamicActivationFloat8WeightConfig>;

// The scheme's configuration with torchao's defaults.
QuantizationConfig ConfigOf(quant::Scheme scheme);

// "Int8WeightOnlyConfig" and so on.
std::string ClassName(const QuantizationConfig& config);

// The fields in torchao's order, without the class: what keys are made of.
ConfigDict ToDict(const QuantizationConfig& config);

// The inverse of ToDict, from a dict that has the class as "type" besides;
// other fields may be missing. kInvalidArgument for another class or field, or
// a value of the wrong type; values that are not taken are Validate's.
absl::StatusOr<QuantizationConfig> FromDict(const ConfigDict& dict);

// "Float8WeightOnlyConfig(granularity=PerTensor())": the class and the fields
// that differ from their default, as Python prints them.
std::string Describe(const QuantizationConfig& config);

// kInvalidArgument for a field whose value is not taken, by its name.
absl::Status Validate(const QuantizationConfig& config);

// Sets the options that `config`, which must be valid, is about.
void SetOptions(const QuantizationConfig& config,
                quant::QuantizationOptions* options);

}  // namespace torchao
}  // namespace aitune::frontend

#endif  // AITUNE_FRONTEND_BACKENDS_TORCHAO_TORCHAO_QUANTIZATION_H_
