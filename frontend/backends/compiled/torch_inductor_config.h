// The configuration of the compiling backend, and the modes and options that
// it knows.
//
// Names and defaults are those of torch.compile with backend="inductor", so
// that a configuration written for it means the same here. An option that would
// change nothing is not in the list: asking for it is an error, not a wish.
#ifndef AITUNE_FRONTEND_BACKENDS_COMPILED_TORCH_INDUCTOR_CONFIG_H_
#define AITUNE_FRONTEND_BACKENDS_COMPILED_TORCH_INDUCTOR_CONFIG_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "runtime/backend/backend_config.h"
#include "runtime/backend/config_value.h"
#include "runtime/tensor/data_type.h"

namespace aitune::frontend {

class TorchInductorBackendConfig : public BackendConfig {
 public:
  // False: what can't be compiled is left to LibTorch. True: that is an error,
  // and the whole model must be one graph.
  bool fullgraph = false;

  // True: compile for dynamic sizes from the first. False: never, every
  // combination of sizes is compiled for itself. Nothing: static first, and
  // dynamic in an axis once it comes with a second size.
  std::optional<bool> dynamic;

  // A name of ListModeOptions(): a set of options. Not together with `options`.
  std::optional<std::string> mode;

  // Names and values of ListOptions(). Not together with `mode`.
  std::optional<ConfigDict> options;

  // Whether matrix products and convolutions are computed in `autocast_dtype`.
  // Outputs keep the dtype they have without it.
  bool autocast_enabled = false;

  // float16 or bfloat16; nothing: what PyTorch takes on the device (bfloat16
  // on a CPU, float16 on a GPU).
  std::optional<DataType> autocast_dtype;

  ConfigDict ToDict() const override;
  ConfigDict DefaultDict() const override;

  // Errors: mode and options together, a mode or option that there is not, an
  // option's value of the wrong type or out of its range, an autocast dtype
  // that is neither float16 nor bfloat16.
  absl::Status Validate() const override;

  // The inverse of ToDict; fields may be missing. Errors as Validate, and a
  // field that there is not or of the wrong type.
  static absl::StatusOr<TorchInductorBackendConfig> FromDict(
      const ConfigDict& dict);
};

// The options of a mode or of `options`, with their defaults, and what backends
// of other configurations that compile ask for beside them.
struct InductorOptions {
  bool max_autotune = false;
  bool cudagraphs = false;
  bool emulate_precision_casts = false;
  bool unchecked_indices = false;
  bool tf32_matmul = false, tf32_convolution = true;
  int64_t cpp_threads = -1;
  int64_t recompile_limit = 8;
  std::string guard_filter_fn;
  std::string debug_dir;
  std::string quantization;  // CompileOptions::quantization; empty: none
  // Backend::min_cosine; set with `quantization`.
  std::optional<double> min_cosine;
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
  ConfigDict options;  // what it sets
  std::string help;    // one sentence
};

// All modes: default, reduce-overhead, max-autotune-no-cudagraphs,
// max-autotune.
std::vector<ModeDescription> ListModeOptions();

}  // namespace aitune::frontend

#endif  // AITUNE_FRONTEND_BACKENDS_COMPILED_TORCH_INDUCTOR_CONFIG_H_
