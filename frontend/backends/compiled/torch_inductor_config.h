// The configuration of the compiling backend, and the modes and options that
// it knows.
//
// Names and defaults are those of torch.compile with backend="inductor", so
// that a configuration written for it means the same here. Options of Inductor
// that would change nothing here are unknown, and setting them is an error.
#ifndef AITUNE_FRONTEND_BACKENDS_COMPILED_TORCH_INDUCTOR_CONFIG_H_
#define AITUNE_FRONTEND_BACKENDS_COMPILED_TORCH_INDUCTOR_CONFIG_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "runtime/backend/accuracy_bound.h"
#include "runtime/backend/backend_config.h"
#include "runtime/backend/config_value.h"
#include "runtime/tensor/data_type.h"

namespace aitune::frontend {

class TorchInductorBackendConfig : public BackendConfig {
 public:
  // False: LibTorch runs the operators that can't be compiled. True: the whole
  // model must be one compiled graph; otherwise it is an error.
  bool fullgraph = false;

  // True: the first version is compiled for dynamic sizes. False: every
  // combination of sizes gets a version of its own. Not set: the first version
  // is static, and an axis becomes dynamic at its second size.
  std::optional<bool> dynamic;

  // A name of ListModeOptions(), which stands for a set of options. Not
  // together with `options`.
  std::optional<std::string> mode;

  // Names and values of ListOptions(). Not together with `mode`.
  std::optional<ConfigDict> options;

  // Whether matrix products and convolutions are computed in `autocast_dtype`.
  // Outputs keep the dtype they have without it.
  bool autocast_enabled = false;

  // float16 or bfloat16. Not set: PyTorch's default for the device (bfloat16 on
  // a CPU, float16 on a GPU).
  std::optional<DataType> autocast_dtype;

  ConfigDict ToDict() const override;
  ConfigDict DefaultDict() const override;

  // kInvalidArgument for mode and options together, an unknown mode or option,
  // an option's value of the wrong type or out of its range, and an autocast
  // dtype that is neither float16 nor bfloat16.
  absl::Status Validate() const override;

  // The configuration with these fields; missing ones keep their defaults.
  // Errors as Validate; kInvalidArgument for an unknown field and for a value
  // of the wrong type.
  static absl::StatusOr<TorchInductorBackendConfig> FromDict(
      const ConfigDict& dict);
};

// The options of a mode or of `options`, with their defaults (ListOptions has
// their meaning), and those that other compiling backends set beside them.
struct InductorOptions {
  bool max_autotune = false;
  bool cudagraphs = false;
  // Whether nothing is compiled: on a GPU LibTorch runs all operators of a
  // version (TraceOptions::libtorch_only), on a CPU it runs the calls in eager.
  bool libtorch_only = false;
  bool emulate_precision_casts = false;
  bool unchecked_indices = false;
  bool tf32_matmul = false, tf32_convolution = true;
  bool check_versions = true;
  int64_t cpp_threads = -1;
  bool coordinate_descent_tuning = false;
  int64_t recompile_limit = 8;
  double recompile_total_seconds = -1, recompile_wait_seconds = -1;
  std::string guard_filter_fn;
  std::string debug_dir;
  std::string quantization;  // CompileOptions::quantization; empty: none
  // Backend::accuracy_bound; set with `quantization`.
  std::optional<AccuracyBound> accuracy_bound;
};

// The options that `config` asks for. Errors as config.Validate().
absl::StatusOr<InductorOptions> ResolveOptions(
    const TorchInductorBackendConfig& config);

// One option that TorchInductorBackendConfig::options may have.
struct OptionDescription {
  std::string name;
  ConfigValue default_value;  // its type is the option's type
  std::string help;           // one sentence
};

// All options, by name.
std::vector<OptionDescription> ListOptions();

// One value of TorchInductorBackendConfig::mode.
struct ModeDescription {
  std::string name;
  ConfigDict options;  // the options that the mode sets
  std::string help;    // one sentence
};

// All modes: default, reduce-overhead, max-autotune-no-cudagraphs,
// max-autotune.
std::vector<ModeDescription> ListModeOptions();

}  // namespace aitune::frontend

#endif  // AITUNE_FRONTEND_BACKENDS_COMPILED_TORCH_INDUCTOR_CONFIG_H_
