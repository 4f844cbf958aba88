#include "frontend/backends/torchao/torchao_quantization.h"

#include <iterator>
#include <type_traits>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "runtime/backend/config_reader.h"
#include "runtime/status/status_macros.h"

namespace aitune::frontend::torchao {
namespace {

// A field of one of torchao's classes.
struct Field {
  std::string name;
  ConfigValue value;  // for the key and the dict
  std::string text;   // as Python prints it
  bool free = false;  // whether values other than the default may be taken
};

Field Fixed(std::string name, ConfigValue value) {
  std::string text = ToPythonStr(value);
  return {std::move(name), std::move(value), std::move(text)};
}

Field Free(std::string name, bool value) {
  return {std::move(name), value, ToPythonStr(value), /*free=*/true};
}

ConfigValue ValueOf(const Granularity& granularity) {
  const PerRow* per_row = std::get_if<PerRow>(&granularity);
  return per_row ? ConfigDict{{"dim", per_row->dim}} : ConfigDict{};
}

std::string TextOf(const Granularity& granularity) {
  const PerRow* per_row = std::get_if<PerRow>(&granularity);
  return per_row ? absl::StrCat("PerRow(dim=", per_row->dim, ")")
                 : "PerTensor()";
}

Field FieldOf(const Granularity& granularity) {
  return {"granularity", ValueOf(granularity), TextOf(granularity), true};
}

Field FieldOf(const std::array<Granularity, 2>& granularity) {
  return {"granularity",
          ConfigList{ValueOf(granularity[0]), ValueOf(granularity[1])},
          absl::StrCat("[", TextOf(granularity[0]), ", ",
                       TextOf(granularity[1]), "]"),
          true};
}

Field FieldOf(MappingType type) {
  const int64_t number = static_cast<int64_t>(type);
  switch (type) {
    case MappingType::kSymmetric:
      return {"act_mapping_type", number, "MappingType.SYMMETRIC"};
    case MappingType::kSymmetricNoClippingErr:
      return {"act_mapping_type", number,
              "MappingType.SYMMETRIC_NO_CLIPPING_ERR"};
    case MappingType::kAsymmetric:
      return {"act_mapping_type", number, "MappingType.ASYMMETRIC"};
  }
  return Fixed("act_mapping_type", number);
}

Field FieldOf(const Float8MMConfig& config) {
  return {
      "mm_config",
      ConfigList{config.emulate, config.use_fast_accum, config.pad_inner_dim},
      absl::StrCat("Float8MMConfig(emulate=", ToPythonStr(config.emulate),
                   ", use_fast_accum=", ToPythonStr(config.use_fast_accum),
                   ", pad_inner_dim=", ToPythonStr(config.pad_inner_dim), ")"),
      true};
}

template <typename T>
ConfigValue OrNone(const std::optional<T>& value) {
  return value.has_value() ? ConfigValue(*value) : ConfigValue();
}

// The fields of each class, in torchao's order.
std::vector<Field> FieldsOf(const Int8WeightOnlyConfig& config) {
  return {Fixed("group_size", OrNone(config.group_size)),
          FieldOf(config.granularity),
          Free("set_inductor_config", config.set_inductor_config),
          Fixed("version", config.version)};
}

std::vector<Field> FieldsOf(
    const Int8DynamicActivationInt8WeightConfig& config) {
  return {FieldOf(config.act_mapping_type),
          Free("weight_only_decode", config.weight_only_decode),
          FieldOf(config.granularity),
          Free("set_inductor_config", config.set_inductor_config),
          Fixed("version", config.version),
          Fixed("reduce_range", config.reduce_range)};
}

std::vector<Field> FieldsOf(const Float8WeightOnlyConfig& config) {
  return {Fixed("weight_dtype", config.weight_dtype),
          Free("set_inductor_config", config.set_inductor_config),
          Fixed("version", config.version), FieldOf(config.granularity)};
}

std::vector<Field> FieldsOf(
    const Float8DynamicActivationFloat8WeightConfig& config) {
  // torchao's enumerations print as Python's do.
  Field packing = Fixed("packing_format", config.packing_format);
  if (config.packing_format == "plain")
    packing.text = "Float8PackingFormat.PLAIN";
  Field preference = Fixed("kernel_preference", config.kernel_preference);
  if (config.kernel_preference == "auto")
    preference.text = "KernelPreference.AUTO";
  return {Fixed("activation_dtype", config.activation_dtype),
          Fixed("weight_dtype", config.weight_dtype),
          FieldOf(config.granularity),
          std::move(packing),
          FieldOf(config.mm_config),
          Fixed("activation_value_lb", OrNone(config.activation_value_lb)),
          Fixed("activation_value_ub", OrNone(config.activation_value_ub)),
          std::move(preference),
          Free("set_inductor_config", config.set_inductor_config),
          Fixed("version", config.version),
          Fixed("alg_id", config.alg_id)};
}

constexpr char kInt8WeightOnly[] = "Int8WeightOnlyConfig";
constexpr char kInt8Dynamic[] = "Int8DynamicActivationInt8WeightConfig";
constexpr char kFloat8WeightOnly[] = "Float8WeightOnlyConfig";
constexpr char kFloat8Dynamic[] = "Float8DynamicActivationFloat8WeightConfig";

const char* NameOf(const Int8WeightOnlyConfig&) { return kInt8WeightOnly; }
const char* NameOf(const Int8DynamicActivationInt8WeightConfig&) {
  return kInt8Dynamic;
}
const char* NameOf(const Float8WeightOnlyConfig&) { return kFloat8WeightOnly; }
const char* NameOf(const Float8DynamicActivationFloat8WeightConfig&) {
  return kFloat8Dynamic;
}

std::vector<Field> FieldsOf(const QuantizationConfig& config) {
  return std::visit([](const auto& c) { return FieldsOf(c); }, config);
}

std::vector<Field> DefaultFieldsOf(const QuantizationConfig& config) {
  return std::visit(
      [](const auto& c) { return FieldsOf(std::decay_t<decltype(c)>()); },
      config);
}

absl::Status Refuse(const std::string& class_name, const std::string& field,
                    const std::string& value, const std::string& advice) {
  return absl::InvalidArgumentError(absl::StrCat(
      class_name, ": ", field, " can't be ", value, ": give ", advice));
}

absl::Status CheckGranularity(const std::string& class_name,
                              const Granularity& granularity) {
  const PerRow* per_row = std::get_if<PerRow>(&granularity);
  if (per_row == nullptr || per_row->dim == -1) return absl::OkStatus();
  return Refuse(class_name, "granularity", TextOf(granularity),
                "PerRow(dim=-1) or PerTensor()");
}

// Errors of the fields that may have other values than the default.
template <typename Config>
absl::Status CheckFree(const Config& config) {
  return CheckGranularity(NameOf(config), config.granularity);
}

absl::Status CheckFree(
    const Float8DynamicActivationFloat8WeightConfig& config) {
  for (const Granularity& granularity : config.granularity)
    AITUNE_RETURN_IF_ERROR(CheckGranularity(kFloat8Dynamic, granularity));
  if (config.granularity[0].index() != config.granularity[1].index())
    return Refuse(kFloat8Dynamic, "granularity",
                  FieldOf(config.granularity).text,
                  "the activation and the weight the same");
  if (config.mm_config.emulate)
    return Refuse(kFloat8Dynamic, "mm_config", FieldOf(config.mm_config).text,
                  "emulate=False");
  return absl::OkStatus();
}

// Reads what ValueOf wrote.
absl::Status ReadGranularity(const std::string& class_name,
                             const ConfigValue& value,
                             Granularity* granularity) {
  const ConfigDict* dict = value.get_if<ConfigDict>();
  if (dict != nullptr && dict->empty()) {
    *granularity = PerTensor();
    return absl::OkStatus();
  }
  const ConfigValue* dim = dict == nullptr ? nullptr : Find(*dict, "dim");
  if (dim == nullptr || dict->size() != 1 || dim->get_if<int64_t>() == nullptr)
    return Refuse(class_name, "granularity", ToPythonStr(value),
                  "PerRow as {'dim': -1} or PerTensor as {}");
  *granularity = PerRow{*dim->get_if<int64_t>()};
  return absl::OkStatus();
}

// A value that is written as Describe prints it, as ToDict has it.
ConfigValue AsInDict(const ConfigValue& value) {
  if (const ConfigList* list = value.get_if<ConfigList>()) {
    ConfigList elements;
    for (const ConfigValue& element : *list)
      elements.push_back(AsInDict(element));
    return elements;
  }
  if (const std::string* text = value.get_if<std::string>()) {
    for (const MappingType type :
         {MappingType::kSymmetric, MappingType::kSymmetricNoClippingErr,
          MappingType::kAsymmetric}) {
      if (*text == FieldOf(type).text) return static_cast<int64_t>(type);
    }
    return value;
  }
  const ConfigDict* object = value.get_if<ConfigDict>();
  const ConfigValue* type = object == nullptr ? nullptr : Find(*object, "type");
  if (type == nullptr) return value;
  size_t known = 1;  // fields, with the type
  const auto field = [&](const char* name, const ConfigValue& missing) {
    const ConfigValue* given = Find(*object, name);
    known += given != nullptr;
    return given == nullptr ? missing : *given;
  };
  ConfigValue read = value;
  if (*type == "PerTensor") read = ConfigDict();
  if (*type == "PerRow") read = ConfigDict{{"dim", field("dim", PerRow().dim)}};
  if (*type == "Float8MMConfig") {
    const Float8MMConfig defaults;
    read = ConfigList{field("emulate", defaults.emulate),
                      field("use_fast_accum", defaults.use_fast_accum),
                      field("pad_inner_dim", defaults.pad_inner_dim)};
  }
  // Others are the reader's to refuse.
  return known == object->size() ? read : value;
}

template <typename Config>
absl::Status ReadOneGranularity(ConfigReader& reader, Config* config) {
  ConfigDict dict;
  const ConfigValue before = ValueOf(config->granularity);
  dict = *before.get_if<ConfigDict>();
  reader.Read("granularity", &dict);
  return ReadGranularity(NameOf(*config), dict, &config->granularity);
}

absl::Status ReadFields(ConfigReader& reader, Int8WeightOnlyConfig* config) {
  reader.Read("group_size", &config->group_size);
  reader.Read("set_inductor_config", &config->set_inductor_config);
  reader.Read("version", &config->version);
  return ReadOneGranularity(reader, config);
}

absl::Status ReadFields(ConfigReader& reader,
                        Int8DynamicActivationInt8WeightConfig* config) {
  int64_t mapping = static_cast<int64_t>(config->act_mapping_type);
  reader.Read("act_mapping_type", &mapping);
  config->act_mapping_type = static_cast<MappingType>(mapping);
  reader.Read("weight_only_decode", &config->weight_only_decode);
  reader.Read("set_inductor_config", &config->set_inductor_config);
  reader.Read("version", &config->version);
  reader.Read("reduce_range", &config->reduce_range);
  return ReadOneGranularity(reader, config);
}

absl::Status ReadFields(ConfigReader& reader, Float8WeightOnlyConfig* config) {
  reader.Read("weight_dtype", &config->weight_dtype);
  reader.Read("set_inductor_config", &config->set_inductor_config);
  reader.Read("version", &config->version);
  return ReadOneGranularity(reader, config);
}

absl::Status ReadFields(ConfigReader& reader,
                        Float8DynamicActivationFloat8WeightConfig* config) {
  reader.Read("activation_dtype", &config->activation_dtype);
  reader.Read("weight_dtype", &config->weight_dtype);
  reader.Read("packing_format", &config->packing_format);
  reader.Read("activation_value_lb", &config->activation_value_lb);
  reader.Read("activation_value_ub", &config->activation_value_ub);
  reader.Read("kernel_preference", &config->kernel_preference);
  reader.Read("set_inductor_config", &config->set_inductor_config);
  reader.Read("version", &config->version);
  reader.Read("alg_id", &config->alg_id);
  ConfigList granularity =
      *FieldOf(config->granularity).value.get_if<ConfigList>();
  reader.Read("granularity", &granularity);
  if (granularity.size() != config->granularity.size())
    return Refuse(kFloat8Dynamic, "granularity",
                  ToPythonStr(ConfigValue(granularity)),
                  "the activation's and the weight's");
  for (size_t i = 0; i < granularity.size(); ++i)
    AITUNE_RETURN_IF_ERROR(ReadGranularity(kFloat8Dynamic, granularity[i],
                                           &config->granularity[i]));
  ConfigList flags = *FieldOf(config->mm_config).value.get_if<ConfigList>();
  reader.Read("mm_config", &flags);
  bool* const fields[] = {&config->mm_config.emulate,
                          &config->mm_config.use_fast_accum,
                          &config->mm_config.pad_inner_dim};
  for (size_t i = 0; i < std::size(fields); ++i) {
    const bool* flag = i < flags.size() ? flags[i].get_if<bool>() : nullptr;
    if (flag == nullptr || flags.size() != std::size(fields))
      return Refuse(kFloat8Dynamic, "mm_config",
                    ToPythonStr(ConfigValue(flags)),
                    "emulate, use_fast_accum and pad_inner_dim");
    *fields[i] = *flag;
  }
  return absl::OkStatus();
}

quant::Granularity GranularityOf(const Granularity& granularity) {
  return std::holds_alternative<PerRow>(granularity)
             ? quant::Granularity::kPerRow
             : quant::Granularity::kPerTensor;
}

void Set(const Int8WeightOnlyConfig& config,
         quant::QuantizationOptions* options) {
  options->scheme = quant::Scheme::kInt8WeightOnly;
  options->granularity = GranularityOf(config.granularity);
}

void Set(const Int8DynamicActivationInt8WeightConfig& config,
         quant::QuantizationOptions* options) {
  options->scheme = quant::Scheme::kInt8Dynamic;
  options->granularity = GranularityOf(config.granularity);
}

void Set(const Float8WeightOnlyConfig& config,
         quant::QuantizationOptions* options) {
  options->scheme = quant::Scheme::kFloat8WeightOnly;
  options->granularity = GranularityOf(config.granularity);
}

void Set(const Float8DynamicActivationFloat8WeightConfig& config,
         quant::QuantizationOptions* options) {
  options->scheme = quant::Scheme::kFloat8Dynamic;
  options->granularity = GranularityOf(config.granularity[0]);
  options->fast_accumulation = config.mm_config.use_fast_accum;
}

}  // namespace

QuantizationConfig ConfigOf(quant::Scheme scheme) {
  switch (scheme) {
    case quant::Scheme::kInt8WeightOnly:
      return Int8WeightOnlyConfig();
    case quant::Scheme::kInt8Dynamic:
      return Int8DynamicActivationInt8WeightConfig();
    case quant::Scheme::kFloat8WeightOnly:
      return Float8WeightOnlyConfig();
    case quant::Scheme::kFloat8Dynamic:
      break;
  }
  return Float8DynamicActivationFloat8WeightConfig();
}

QuantizationConfig ConfigOf(quant::Scheme scheme,
                            quant::Granularity granularity,
                            bool fast_accumulation) {
  const Granularity scales = granularity == quant::Granularity::kPerRow
                                 ? Granularity(PerRow())
                                 : Granularity(PerTensor());
  QuantizationConfig config = ConfigOf(scheme);
  std::visit(
      [&](auto& fields) {
        if constexpr (std::is_same_v<
                          std::decay_t<decltype(fields)>,
                          Float8DynamicActivationFloat8WeightConfig>) {
          fields.granularity = {scales, scales};
          fields.mm_config.use_fast_accum = fast_accumulation;
        } else {
          fields.granularity = scales;
        }
      },
      config);
  return config;
}

std::string ClassName(const QuantizationConfig& config) {
  return std::visit([](const auto& c) { return NameOf(c); }, config);
}

ConfigDict ToDict(const QuantizationConfig& config) {
  ConfigDict dict;
  for (Field& field : FieldsOf(config))
    dict.emplace_back(std::move(field.name), std::move(field.value));
  return dict;
}

absl::StatusOr<QuantizationConfig> FromDict(const ConfigDict& described) {
  ConfigDict dict = described;
  for (auto& [name, value] : dict) value = AsInDict(value);
  const ConfigValue* given = Find(dict, "type");
  const std::string* type =
      given == nullptr ? nullptr : given->get_if<std::string>();
  for (const quant::Scheme scheme :
       {quant::Scheme::kInt8WeightOnly, quant::Scheme::kInt8Dynamic,
        quant::Scheme::kFloat8WeightOnly, quant::Scheme::kFloat8Dynamic}) {
    QuantizationConfig config = ConfigOf(scheme);
    if (type == nullptr || *type != ClassName(config)) continue;
    ConfigReader reader(*type, dict);
    std::string read_type;
    reader.Read("type", &read_type);
    const absl::Status status = std::visit(
        [&](auto& fields) { return ReadFields(reader, &fields); }, config);
    AITUNE_RETURN_IF_ERROR(reader.Finish());
    AITUNE_RETURN_IF_ERROR(status);
    return config;
  }
  return Refuse("quantization_config", "the type",
                type == nullptr ? "missing" : *type,
                absl::StrCat(kInt8WeightOnly, ", ", kInt8Dynamic, ", ",
                             kFloat8WeightOnly, " or ", kFloat8Dynamic));
}

std::string Describe(const QuantizationConfig& config) {
  const std::vector<Field> fields = FieldsOf(config);
  const std::vector<Field> defaults = DefaultFieldsOf(config);
  std::string changed;
  for (size_t i = 0; i < fields.size(); ++i) {
    if (fields[i].value == defaults[i].value) continue;
    absl::StrAppend(&changed, changed.empty() ? "" : ",", fields[i].name, "=",
                    fields[i].text);
  }
  return absl::StrCat(ClassName(config), "(", changed, ")");
}

absl::Status Validate(const QuantizationConfig& config) {
  const std::string class_name = ClassName(config);
  const std::vector<Field> fields = FieldsOf(config);
  const std::vector<Field> defaults = DefaultFieldsOf(config);
  const bool is_int8 =
      class_name == kInt8WeightOnly || class_name == kInt8Dynamic;
  for (size_t i = 0; i < fields.size(); ++i) {
    if (fields[i].free || fields[i].value == defaults[i].value) continue;
    if (is_int8 && fields[i].name == "version" && fields[i].value == 1)
      return absl::InvalidArgumentError(absl::StrCat(
          "version 1 of ", class_name,
          " has been removed, please use version 2, see "
          "https://github.com/pytorch/ao/issues/2752 for more details"));
    return Refuse(class_name, fields[i].name, fields[i].text, defaults[i].text);
  }
  return std::visit([](const auto& c) { return CheckFree(c); }, config);
}

void SetOptions(const QuantizationConfig& config,
                quant::QuantizationOptions* options) {
  std::visit([&](const auto& c) { Set(c, options); }, config);
}

}  // namespace aitune::frontend::torchao
