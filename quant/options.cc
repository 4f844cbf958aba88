#include "quant/options.h"

#include <fnmatch.h>

#include <charconv>
#include <cmath>
#include <set>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "runtime/status/status_macros.h"

namespace aitune::quant {
namespace {

constexpr std::string_view kAuto = "auto";
constexpr absl::string_view kSkip = "skip";

// A value of an option with a word for each of its values.
template <typename T>
using Words = std::vector<std::pair<absl::string_view, T>>;

const Words<bool>& OnOrOff() {
  static const auto* const words =
      new Words<bool>{{"on", true}, {"off", false}};
  return *words;
}

template <typename T>
absl::Status ReadWord(absl::string_view name, absl::string_view value,
                      const Words<T>& words, T* field) {
  std::vector<absl::string_view> known;
  for (const auto& [word, meaning] : words) {
    if (word == value) {
      *field = meaning;
      return absl::OkStatus();
    }
    known.push_back(word);
  }
  return absl::InvalidArgumentError(
      absl::StrCat("the quantisation option ", name, " can't be '", value,
                   "': give ", absl::StrJoin(known, " or ")));
}

absl::Status ReadNumber(absl::string_view name, absl::string_view value,
                        double* field) {
  if (absl::SimpleAtod(value, field)) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("the quantisation option ",
                                                 name, " can't be '", value,
                                                 "': give a number"));
}

absl::Status ReadOption(absl::string_view name, absl::string_view value,
                        QuantizationOptions* options) {
  if (name == "granularity") {
    Granularity granularity{};
    const absl::Status status = ReadWord<Granularity>(
        name, value,
        {{"row", Granularity::kPerRow}, {"tensor", Granularity::kPerTensor}},
        &granularity);
    if (status.ok()) options->granularity = granularity;
    return status;
  }
  if (name == "arithmetic")
    return ReadWord<Arithmetic>(
        name, value,
        {{"fused", Arithmetic::kFused}, {"eager", Arithmetic::kEager}},
        &options->arithmetic);
  if (name == "fast_accumulation")
    return ReadWord(name, value, OnOrOff(), &options->fast_accumulation);
  if (name == "verdict")
    return ReadWord<Verdict>(name, value,
                             {{"on", Verdict::kOn}, {"off", Verdict::kOff}},
                             &options->verdict);
  if (name == "extended_layers")
    return ReadWord(name, value, OnOrOff(), &options->extended_layers);
  if (name == kSkip) {
    options->skip_modules.emplace_back(value);
    return absl::OkStatus();
  }
  if (name == "min_cosine")
    return ReadNumber(name, value, &options->bound.min_cosine);
  if (name == "min_sqnr_db")
    return ReadNumber(name, value, &options->bound.min_sqnr_db.emplace());
  if (name == "min_equal_integers")
    return ReadNumber(name, value, &options->bound.min_equal_integers);
  return absl::InvalidArgumentError(absl::StrCat(
      "there is no quantisation option '", name,
      "': give granularity, arithmetic, fast_accumulation, verdict, "
      "extended_layers, skip, min_cosine, min_sqnr_db or min_equal_integers, "
      "each with = and its value"));
}

absl::Status CheckRange(absl::string_view name, double value, double greatest) {
  if (value >= 0 && value <= greatest && std::isfinite(value))
    return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      name, " can't be ", value, ": give a number of at least 0",
      std::isfinite(greatest) ? absl::StrCat(" and at most ", greatest) : ""));
}

// The fewest digits that give the number back.
std::string Digits(double number) {
  char buffer[32];
  const auto end = std::to_chars(buffer, buffer + sizeof(buffer), number).ptr;
  return std::string(buffer, end);
}

// The class without the parts with which TorchScript keeps classes of the same
// name apart ("___torch_mangle_7").
std::string Unmangled(std::string_view class_name) {
  std::vector<absl::string_view> parts;
  for (const absl::string_view part : absl::StrSplit(
           absl::string_view(class_name.data(), class_name.size()), '.')) {
    if (!absl::StartsWith(part, "___torch_mangle_")) parts.push_back(part);
  }
  return absl::StrJoin(parts, ".");
}

}  // namespace

Granularity GranularityOf(const QuantizationOptions& options, Scheme scheme) {
  if (options.granularity.has_value()) return *options.granularity;
  return scheme == Scheme::kFloat8Dynamic ? Granularity::kPerTensor
                                          : Granularity::kPerRow;
}

absl::Status Validate(const QuantizationOptions& options) {
  for (const std::string& pattern : options.skip_modules) {
    if (pattern.empty() || absl::StrContains(pattern, ','))
      return absl::InvalidArgumentError(
          absl::StrCat("the pattern '", pattern,
                       "' of modules to skip is of no module: give one that is "
                       "not empty and has no comma"));
  }
  absl::Status status = CheckRange("min_cosine", options.bound.min_cosine, 1);
  if (status.ok() && options.bound.min_sqnr_db)
    status = CheckRange("min_sqnr_db", *options.bound.min_sqnr_db, INFINITY);
  if (status.ok())
    status =
        CheckRange("min_equal_integers", options.bound.min_equal_integers, 1);
  return status;
}

absl::StatusOr<QuantizationOptions> ParseQuantizationOptions(
    std::string_view text) {
  QuantizationOptions options;
  const std::vector<absl::string_view> fields =
      absl::StrSplit(absl::string_view(text.data(), text.size()), ',');
  const std::string_view scheme(fields[0].data(), fields[0].size());
  options.scheme = ParseScheme(scheme);
  if (!options.scheme.has_value() && scheme != kAuto)
    return absl::InvalidArgumentError(
        absl::StrCat(InvalidSchemeName(scheme).message(), " or 'auto'"));
  std::set<absl::string_view> seen;
  for (size_t i = 1; i < fields.size(); ++i) {
    const std::pair<absl::string_view, absl::string_view> option =
        absl::StrSplit(fields[i], absl::MaxSplits('=', 1));
    if (option.first != kSkip && !seen.insert(option.first).second)
      return absl::InvalidArgumentError(
          absl::StrCat("the quantisation option ", option.first,
                       " is given twice: give it once"));
    AITUNE_RETURN_IF_ERROR(ReadOption(option.first, option.second, &options));
  }
  AITUNE_RETURN_IF_ERROR(Validate(options));
  return options;
}

std::string ToString(const QuantizationOptions& options) {
  const QuantizationOptions defaults;
  std::string text(options.scheme ? Name(*options.scheme) : kAuto);
  const auto add = [&](absl::string_view name, absl::string_view value) {
    absl::StrAppend(&text, ",", name, "=", value);
  };
  const auto add_number = [&](absl::string_view name, double value,
                              double default_value) {
    if (value != default_value) add(name, Digits(value));
  };
  if (options.granularity.has_value())
    add("granularity",
        *options.granularity == Granularity::kPerRow ? "row" : "tensor");
  if (options.arithmetic == Arithmetic::kEager) add("arithmetic", "eager");
  if (!options.fast_accumulation) add("fast_accumulation", "off");
  if (options.verdict == Verdict::kOff) add("verdict", "off");
  if (options.extended_layers) add("extended_layers", "on");
  for (const std::string& pattern : options.skip_modules) add(kSkip, pattern);
  add_number("min_cosine", options.bound.min_cosine, defaults.bound.min_cosine);
  if (options.bound.min_sqnr_db.has_value())
    add("min_sqnr_db", Digits(*options.bound.min_sqnr_db));
  add_number("min_equal_integers", options.bound.min_equal_integers,
             defaults.bound.min_equal_integers);
  return text;
}

absl::Status InvalidSchemeName(std::string_view name) {
  return absl::InvalidArgumentError(absl::StrCat(
      "Invalid quantization: ", absl::string_view(name.data(), name.size()),
      ". Must be one of: ['int8wo', 'int8dq', 'fp8wo', 'fp8dq']"));
}

std::optional<Refusal> RefuseModule(const QuantizationOptions& options,
                                    const std::string& path,
                                    std::string_view class_name) {
  for (const std::string& pattern : options.skip_modules) {
    if (fnmatch(pattern.c_str(), path.c_str(), 0) == 0)
      return Refusal{RefusalReason::kFiltered,
                     absl::StrCat("its path is one of '", pattern, "'")};
  }
  if (options.extended_layers || class_name.empty()) return std::nullopt;
  if (IsLinearClass(class_name)) return std::nullopt;
  return Refusal{RefusalReason::kFiltered,
                 absl::StrCat("its module is of ", Unmangled(class_name),
                              ", not of torch.nn.Linear")};
}

bool IsLinearClass(std::string_view class_name) {
  return Unmangled(class_name) == "__torch__.torch.nn.modules.linear.Linear";
}

absl::Status CheckDevice(const QuantizationOptions& options,
                         const std::optional<ComputeCapability>& gpu) {
  const bool multiplies =
      gpu.has_value() &&
      (gpu->major > 8 || (gpu->major == 8 && gpu->minor >= 9));
  if (options.scheme != Scheme::kFloat8Dynamic || multiplies)
    return absl::OkStatus();
  return absl::FailedPreconditionError(
      "Float8 dynamic quantization requires CUDA compute capability ≥8.9 or "
      "MI300+ or XPU.");
}

}  // namespace aitune::quant
