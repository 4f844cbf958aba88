// The user's options for quantising a model, as a struct and as text for
// command lines and cache keys. All functions are thread-safe.
#ifndef AITUNE_QUANT_OPTIONS_H_
#define AITUNE_QUANT_OPTIONS_H_

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "quant/schemes/scheme.h"
#include "runtime/backend/accuracy_bound.h"

namespace aitune::quant {

// Whether each layer is measured before it is quantised.
enum class Verdict {
  kOn,  // only layers that become faster and stay accurate enough are quantised
  kOff,  // exactly the layers that torchao quantises are quantised
};

struct QuantizationOptions {
  // The scheme of all layers. Not set: the best scheme for each layer ("auto").
  std::optional<Scheme> scheme;

  // The granularity of scales of weights and, if they are quantised, of
  // activations. Not set: torchao's default, per tensor for fp8dq and per row
  // for the others.
  std::optional<Granularity> granularity;

  // The arithmetic of scales of activations, and of outputs. Weights are always
  // quantised as with Arithmetic::kEager.
  Arithmetic arithmetic = Arithmetic::kFused;

  // Whether sums of fp8dq on a GPU may have fewer bits than float32.
  bool fast_accumulation = true;

  Verdict verdict = Verdict::kOn;

  // Whether to quantise also operators that compute a linear layer but are not
  // of a torch.nn.Linear; torchao does not quantise these.
  bool extended_layers = false;

  // The layers that are not quantised: patterns for the paths of their modules
  // ("encoder.layer.0.output.dense"), as in a shell: * for any text, ? for any
  // character, [..] for one of a set.
  std::vector<std::string> skip_modules;

  AccuracyBound bound;
};

// options.granularity if it is set, otherwise the default of `scheme`.
Granularity GranularityOf(const QuantizationOptions& options, Scheme scheme);

// kInvalidArgument for a bound outside its range, or a pattern that is empty or
// has a comma.
absl::Status Validate(const QuantizationOptions& options);

// Parses "int8wo", "int8dq", "fp8wo", "fp8dq" or "auto", followed by any of
// these, each after a comma: granularity=row|tensor, arithmetic=fused|eager,
// fast_accumulation=on|off, verdict=on|off, extended_layers=on|off,
// min_cosine=NUMBER, min_sqnr_db=NUMBER, min_equal_integers=NUMBER, and
// skip=PATTERN, which may occur several times. kInvalidArgument for other names
// or values and for another name that occurs twice; errors as Validate.
absl::StatusOr<QuantizationOptions> ParseQuantizationOptions(
    std::string_view text);

// The text that ParseQuantizationOptions reads, with the options that differ
// from their defaults in the order of the fields: equal options have equal
// texts.
std::string ToString(const QuantizationOptions& options);

// kInvalidArgument for an unknown name of a scheme; the text lists the names.
absl::Status InvalidSchemeName(std::string_view name);

// Why the layer of a module is not quantised, whatever its weight; not set if
// it may be. `path` is the module's path in its model. `class_name` is its
// TorchScript class, such as "__torch__.torch.nn.modules.linear.Linear", or
// empty if it is not known (the layers of a frozen model count as
// torch.nn.Linear). TorchScript does not know base classes, so a user's class
// that derives from torch.nn.Linear needs `extended_layers`.
std::optional<Refusal> RefuseModule(const QuantizationOptions& options,
                                    const std::string& path,
                                    std::string_view class_name);

// Whether a TorchScript class is torch.nn.Linear.
bool IsLinearClass(std::string_view class_name);

// The compute capability of an NVIDIA GPU: 8.9 is {8, 9}.
struct ComputeCapability {
  int major = 0;
  int minor = 0;
};

// kFailedPrecondition when `options` ask for fp8dq and the device can't
// multiply float8. `gpu` is not set for a CPU.
absl::Status CheckDevice(const QuantizationOptions& options,
                         const std::optional<ComputeCapability>& gpu);

}  // namespace aitune::quant

#endif  // AITUNE_QUANT_OPTIONS_H_
