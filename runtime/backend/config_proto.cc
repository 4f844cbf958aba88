#include "runtime/backend/config_proto.h"

#include <string>
#include <type_traits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "runtime/status/status_macros.h"

namespace aitune {
namespace {

constexpr int kMaxDepth = 50;

ConfigValueProto ToProto(const ConfigValue& value) {
  ConfigValueProto proto;
  std::visit(
      [&proto](const auto& v) {
        using T = std::decay_t<decltype(v)>;
        if constexpr (std::is_same_v<T, bool>) proto.set_boolean(v);
        if constexpr (std::is_same_v<T, int64_t>) proto.set_integer(v);
        if constexpr (std::is_same_v<T, double>) proto.set_number(v);
        if constexpr (std::is_same_v<T, std::string>) proto.set_text(v);
        if constexpr (std::is_same_v<T, DataType>)
          proto.set_dtype(static_cast<int32_t>(v));
        if constexpr (std::is_same_v<T, ConfigList>) {
          ConfigListProto* list = proto.mutable_list();
          for (const ConfigValue& item : v) *list->add_values() = ToProto(item);
        }
        if constexpr (std::is_same_v<T, ConfigDict>)
          *proto.mutable_dict() = aitune::ToProto(v);
      },
      value.variant());
  return proto;
}

absl::StatusOr<ConfigDict> DictFromProto(const ConfigDictProto& proto,
                                         int depth);

absl::StatusOr<ConfigValue> ValueFromProto(const ConfigValueProto& proto,
                                           int depth) {
  if (depth > kMaxDepth)
    return absl::InvalidArgumentError(
        absl::StrCat("the stored configuration is nested deeper than ",
                     kMaxDepth, " values"));
  switch (proto.value_case()) {
    case ConfigValueProto::kBoolean:
      return ConfigValue(proto.boolean());
    case ConfigValueProto::kInteger:
      return ConfigValue(int64_t{proto.integer()});
    case ConfigValueProto::kNumber:
      return ConfigValue(proto.number());
    case ConfigValueProto::kText:
      return ConfigValue(proto.text());
    case ConfigValueProto::kDtype: {
      const auto dtype = static_cast<DataType>(proto.dtype());
      if (SizeInBytes(dtype) == 0)
        return absl::InvalidArgumentError(absl::StrCat(
            "the stored configuration has the unknown dtype ", proto.dtype()));
      return ConfigValue(dtype);
    }
    case ConfigValueProto::kList: {
      ConfigList list;
      for (const ConfigValueProto& item : proto.list().values()) {
        AITUNE_ASSIGN_OR_RETURN(ConfigValue value,
                                ValueFromProto(item, depth + 1));
        list.push_back(std::move(value));
      }
      return ConfigValue(std::move(list));
    }
    case ConfigValueProto::kDict: {
      AITUNE_ASSIGN_OR_RETURN(ConfigDict dict,
                              DictFromProto(proto.dict(), depth + 1));
      return ConfigValue(std::move(dict));
    }
    case ConfigValueProto::VALUE_NOT_SET:
      break;
  }
  return ConfigValue();
}

absl::StatusOr<ConfigDict> DictFromProto(const ConfigDictProto& proto,
                                         int depth) {
  ConfigDict dict;
  for (const ConfigFieldProto& field : proto.fields()) {
    if (Find(dict, field.name()) != nullptr)
      return absl::InvalidArgumentError(absl::StrCat(
          "the stored configuration has '", field.name(), "' twice"));
    AITUNE_ASSIGN_OR_RETURN(ConfigValue value,
                            ValueFromProto(field.value(), depth));
    dict.emplace_back(field.name(), std::move(value));
  }
  return dict;
}

}  // namespace

ConfigDictProto ToProto(const ConfigDict& dict) {
  ConfigDictProto proto;
  for (const auto& [name, value] : dict) {
    ConfigFieldProto* field = proto.add_fields();
    field->set_name(name);
    *field->mutable_value() = ToProto(value);
  }
  return proto;
}

absl::StatusOr<ConfigDict> FromProto(const ConfigDictProto& proto) {
  return DictFromProto(proto, 0);
}

}  // namespace aitune
