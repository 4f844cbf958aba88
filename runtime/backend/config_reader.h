// Reads the fields of a configuration from a dict and checks their types and
// names.
#ifndef AITUNE_RUNTIME_BACKEND_CONFIG_READER_H_
#define AITUNE_RUNTIME_BACKEND_CONFIG_READER_H_

#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "runtime/backend/config_value.h"

namespace aitune {

// Call Read for each field, then Finish. A field that the dict lacks keeps its
// value. Not thread-safe.
class ConfigReader {
 public:
  // Error texts name the configuration `class_name`. Keeps a reference to
  // `dict`.
  ConfigReader(std::string_view class_name, const ConfigDict& dict)
      : class_name_(class_name), dict_(dict) {}

  // Sets `field` to the dict's value of this name. T is a type of
  // ConfigValue::Variant, or an optional of one, which None resets.
  template <typename T>
  void Read(std::string_view name, T* field) {
    const ConfigValue* value = Take(name);
    if (value == nullptr) return;
    if (const T* given = value->get_if<T>()) {
      *field = *given;
    } else {
      Refuse(name, *value, PythonTypeName(ConfigValue(T())));
    }
  }
  template <typename T>
  void Read(std::string_view name, std::optional<T>* field) {
    const ConfigValue* value = Take(name);
    if (value == nullptr) return;
    if (value->is_none()) {
      field->reset();
    } else if (const T* given = value->get_if<T>()) {
      *field = *given;
    } else {
      Refuse(name, *value, PythonTypeName(ConfigValue(T())));
    }
  }

  // kInvalidArgument names the first field that had another type than Read
  // expected, or that no Read asked for.
  absl::Status Finish();

 private:
  const ConfigValue* Take(std::string_view name);
  void Refuse(std::string_view name, const ConfigValue& given,
              std::string_view expected);

  std::string class_name_;
  const ConfigDict& dict_;
  std::set<std::string, std::less<>> names_;
  absl::Status status_;
};

}  // namespace aitune

#endif  // AITUNE_RUNTIME_BACKEND_CONFIG_READER_H_
