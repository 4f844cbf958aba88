#include "frontend/backends/torchao/torchao_config.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "runtime/backend/config_reader.h"
#include "runtime/status/status_macros.h"

namespace aitune::frontend {
namespace {

using torchao::QuantizationConfig;

constexpr char kAuto[] = "auto";

// The object that `config` gives or names.
std::optional<QuantizationConfig> ObjectOf(const TorchAOBackendConfig& config) {
  if (config.quantization_config.has_value()) return config.quantization_config;
  if (!config.quantization.has_value()) return std::nullopt;
  const std::optional<quant::Scheme> scheme =
      quant::ParseScheme(*config.quantization);
  if (!scheme.has_value()) return std::nullopt;
  return torchao::ConfigOf(*scheme);
}

ConfigValue NameOrNone(const TorchAOBackendConfig& config) {
  return config.quantization.has_value() ? ConfigValue(*config.quantization)
                                         : ConfigValue();
}

// Our own fields.
ConfigDict OwnDict(const TorchAOBackendConfig& config) {
  return {{"verdict", config.verdict == quant::Verdict::kOn},
          {"min_cosine", config.bound.min_cosine},
          {"min_sqnr_db", config.bound.min_sqnr_db
                              ? ConfigValue(*config.bound.min_sqnr_db)
                              : ConfigValue()},
          {"min_equal_integers", config.bound.min_equal_integers},
          {"extended_layers", config.extended_layers},
          {"skip_modules",
           ConfigList(config.skip_modules.begin(), config.skip_modules.end())}};
}

// Those of our own fields that differ from their default.
ConfigDict ChangedOwnDict(const TorchAOBackendConfig& config) {
  const ConfigDict defaults = OwnDict(TorchAOBackendConfig());
  ConfigDict changed;
  for (auto& [name, value] : OwnDict(config)) {
    if (value != *Find(defaults, name)) changed.emplace_back(name, value);
  }
  return changed;
}

}  // namespace

ConfigDict TorchAOBackendConfig::ToDict() const {
  ConfigDict dict;
  if (const std::optional<QuantizationConfig> object = ObjectOf(*this)) {
    ConfigDict fields = torchao::ToDict(*object);
    fields.emplace(fields.begin(), "type", torchao::ClassName(*object));
    dict.emplace_back("quantization_config", std::move(fields));
  } else {
    dict.emplace_back("quantization", NameOrNone(*this));
  }
  for (auto& field : OwnDict(*this)) dict.push_back(std::move(field));
  return dict;
}

ConfigDict TorchAOBackendConfig::DefaultDict() const {
  return TorchAOBackendConfig().ToDict();
}

ConfigDict TorchAOBackendConfig::KeyDict() const {
  ConfigDict dict;
  if (const std::optional<QuantizationConfig> object = ObjectOf(*this)) {
    dict.emplace_back("quantization_config", torchao::ToDict(*object));
  } else {
    dict.emplace_back("quantization", NameOrNone(*this));
  }
  for (auto& field : ChangedOwnDict(*this)) dict.push_back(std::move(field));
  return dict;
}

std::string TorchAOBackendConfig::Describe() const {
  const std::optional<QuantizationConfig> object = ObjectOf(*this);
  std::string text =
      object.has_value()
          ? absl::StrCat("quantization_config=", torchao::Describe(*object))
          : absl::StrCat("quantization=", ToPythonStr(NameOrNone(*this)));
  for (const auto& [name, value] : ChangedOwnDict(*this))
    absl::StrAppend(&text, ",", name, "=", ToPythonStr(value));
  return text;
}

absl::Status TorchAOBackendConfig::Validate() const {
  return Options().status();
}

absl::StatusOr<quant::QuantizationOptions> TorchAOBackendConfig::Options()
    const {
  if (quantization.has_value() && quantization_config.has_value())
    return absl::InvalidArgumentError(
        "Only one of quantization or quantization_config should be provided.");
  if (!quantization.has_value() && !quantization_config.has_value())
    return absl::InvalidArgumentError(
        "Either quantization or quantization_config should be provided.");
  quant::QuantizationOptions options;
  options.verdict = verdict;
  options.bound = bound;
  options.extended_layers = extended_layers;
  options.skip_modules = skip_modules;
  const std::optional<QuantizationConfig> object = ObjectOf(*this);
  if (!object.has_value() && *quantization != kAuto)
    return quant::InvalidSchemeName(*quantization);
  if (object.has_value()) {
    AITUNE_RETURN_IF_ERROR(torchao::Validate(*object));
    torchao::SetOptions(*object, &options);
  }
  AITUNE_RETURN_IF_ERROR(quant::Validate(options));
  return options;
}

absl::StatusOr<TorchAOBackendConfig> TorchAOBackendConfig::FromOptions(
    const quant::QuantizationOptions& options) {
  TorchAOBackendConfig config;
  config.quantization =
      options.scheme ? std::string(quant::Name(*options.scheme)) : kAuto;
  config.verdict = options.verdict;
  config.bound = options.bound;
  config.extended_layers = options.extended_layers;
  config.skip_modules = options.skip_modules;
  AITUNE_ASSIGN_OR_RETURN(const quant::QuantizationOptions said,
                          config.Options());
  auto normal = [](quant::QuantizationOptions o) {
    if (o.scheme) o.granularity = quant::GranularityOf(o, *o.scheme);
    return quant::ToString(o);
  };
  if (normal(said) == normal(options)) return config;
  if (options.scheme) {
    config.quantization.reset();
    config.quantization_config = torchao::ConfigOf(
        *options.scheme, quant::GranularityOf(options, *options.scheme),
        options.fast_accumulation);
    AITUNE_ASSIGN_OR_RETURN(const quant::QuantizationOptions configured,
                            config.Options());
    if (normal(configured) == normal(options)) return config;
  }
  return absl::InvalidArgumentError(absl::StrCat(
      "the quantisation ", quant::ToString(options),
      " has a granularity or an arithmetic that no configuration of torchao "
      "has; leave it out, or name a scheme in place of auto"));
}

absl::StatusOr<TorchAOBackendConfig> TorchAOBackendConfig::FromDict(
    const ConfigDict& dict) {
  TorchAOBackendConfig config;
  ConfigReader reader("TorchAOBackendConfig", dict);
  std::optional<ConfigDict> object;
  bool verdict = true;
  ConfigList skip_modules;
  reader.Read("quantization", &config.quantization);
  reader.Read("quantization_config", &object);
  reader.Read("verdict", &verdict);
  reader.Read("min_cosine", &config.bound.min_cosine);
  reader.Read("min_sqnr_db", &config.bound.min_sqnr_db);
  reader.Read("min_equal_integers", &config.bound.min_equal_integers);
  reader.Read("extended_layers", &config.extended_layers);
  reader.Read("skip_modules", &skip_modules);
  AITUNE_RETURN_IF_ERROR(reader.Finish());
  if (object.has_value()) {
    AITUNE_ASSIGN_OR_RETURN(config.quantization_config,
                            torchao::FromDict(*object));
  }
  config.verdict = verdict ? quant::Verdict::kOn : quant::Verdict::kOff;
  for (const ConfigValue& pattern : skip_modules) {
    const std::string* text = pattern.get_if<std::string>();
    if (text == nullptr)
      return absl::InvalidArgumentError(
          absl::StrCat("TorchAOBackendConfig: skip_modules can't be ",
                       ToPythonStr(skip_modules), ": give patterns as text"));
    config.skip_modules.push_back(*text);
  }
  AITUNE_RETURN_IF_ERROR(config.Validate());
  return config;
}

}  // namespace aitune::frontend
