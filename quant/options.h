// How a model is to be quantised: what the user asks for, in types, and as text
// for command lines and cache keys.
#ifndef AITUNE_QUANT_OPTIONS_H_
#define AITUNE_QUANT_OPTIONS_H_

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "quant/schemes/scheme.h"

namespace aitune::quant {

// Whether each layer is measured before it is quantised.
enum class Verdict {
  kOn,   // only layers that are then faster, and accurate enough
  kOff,  // exactly the layers that torchao quantises
};

// How near a quantised model's outputs must be to eager's. Each bound counts
// for every output of every sample.
struct AccuracyBound {
  double min_cosine = 0.999;  // of the angle between them, 0 to 1
  double min_sqnr_db = 27;    // signal to quantisation noise, in decibels
  double min_equal_integers = 0.99;  // share of equal elements, 0 to 1

  friend bool operator==(const AccuracyBound& a, const AccuracyBound& b) {
    return a.min_cosine == b.min_cosine && a.min_sqnr_db == b.min_sqnr_db &&
           a.min_equal_integers == b.min_equal_integers;
  }
};

struct QuantizationOptions {
  // Of all layers; nothing: the best one for each layer ("auto").
  std::optional<Scheme> scheme;

  // Of weights and, where they are quantised, activations; nothing: torchao's
  // default, per tensor for fp8dq and per row for the others.
  std::optional<Granularity> granularity;

  // Of activations and outputs; weights are always quantised eagerly.
  Arithmetic arithmetic = Arithmetic::kFused;

  // Whether fp8dq on a GPU may add up with fewer bits than float32 has.
  bool fast_accumulation = true;

  Verdict verdict = Verdict::kOn;

  // Also what computes as a linear layer does but is no torch.nn.Linear, which
  // torchao leaves alone.
  bool extended_layers = false;

  // Layers to leave alone: patterns for the paths of their modules
  // ("encoder.layer.0.output.dense"), as in a shell: * for any text, ? for any
  // character, [..] for one of a set.
  std::vector<std::string> skip_modules;

  AccuracyBound bound;
};

// options.granularity, or the default of `scheme`.
Granularity GranularityOf(const QuantizationOptions& options, Scheme scheme);

// kInvalidArgument for a bound outside its range, or a pattern that is empty or
// has a comma.
absl::Status Validate(const QuantizationOptions& options);

// "int8wo", "int8dq", "fp8wo", "fp8dq" or "auto", then any of these, each after
// a comma: granularity=row|tensor, arithmetic=fused|eager,
// fast_accumulation=on|off, verdict=on|off, extended_layers=on|off,
// min_cosine=NUMBER, min_sqnr_db=NUMBER, min_equal_integers=NUMBER, and
// skip=PATTERN, which may come several times. kInvalidArgument for other names
// or values, for a name that comes twice, and as Validate.
absl::StatusOr<QuantizationOptions> ParseQuantizationOptions(
    std::string_view text);

// The inverse of ParseQuantizationOptions, with what differs from the defaults
// in the order of the fields: equal options have equal texts.
std::string ToString(const QuantizationOptions& options);

// The error for a name of a scheme that there is not.
absl::Status InvalidSchemeName(std::string_view name);

// Why the layer of a module is left alone whatever its weight, nothing if it is
// not. `path` is the module's in its model; `class_name` is its TorchScript
// class, such as "__torch__.torch.nn.modules.linear.Linear", or empty where it
// is not known (a frozen model's layers count as torch.nn.Linear). TorchScript
// does not say what a class derives from, so that a class of the user's own
// derived from torch.nn.Linear needs `extended_layers`. Thread-safe.
std::optional<Refusal> RefuseModule(const QuantizationOptions& options,
                                    const std::string& path,
                                    std::string_view class_name);

// An NVIDIA GPU's: 8.9 is {8, 9}.
struct ComputeCapability {
  int major = 0;
  int minor = 0;
};

// kFailedPrecondition when `options` ask for fp8dq where the device can't
// multiply float8. `gpu` is nothing for a CPU.
absl::Status CheckDevice(const QuantizationOptions& options,
                         const std::optional<ComputeCapability>& gpu);

}  // namespace aitune::quant

#endif  // AITUNE_QUANT_OPTIONS_H_
