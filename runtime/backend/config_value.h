// The values of a backend's configuration, and how Python prints them.
//
// A configuration's key and description are defined by what Python's json and
// str print, because keys made by AITune in Python and by this library must be
// the same. A configuration is therefore turned into plain values first
// (None, bool, int, float, str, dtype, dict, list) and those are printed here,
// in one place.
#ifndef AITUNE_RUNTIME_BACKEND_CONFIG_VALUE_H_
#define AITUNE_RUNTIME_BACKEND_CONFIG_VALUE_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "runtime/tensor/data_type.h"

namespace aitune {

class ConfigValue;

// Python's None. Its copies are not trivial, or else libstdc++ 12 would take
// ConfigValue::Variant for one that always has a value, and a copy for which
// there is no memory would jump anywhere.
struct None {
  None() = default;
  None(const None&) noexcept {}
  None& operator=(const None&) noexcept { return *this; }
  friend bool operator==(None, None) { return true; }
};

using ConfigList = std::vector<ConfigValue>;

// Names and values in insertion order, as in Python. Names are unique where
// this library makes one.
using ConfigDict = std::vector<std::pair<std::string, ConfigValue>>;

class ConfigValue {
 public:
  using Variant = std::variant<None, bool, int64_t, double, std::string,
                               DataType, ConfigList, ConfigDict>;

  // None.
  ConfigValue() = default;
  // Implicit, so that a dict reads like one: {{"fullgraph", false}, ...}.
  ConfigValue(None value) : value_(value) {}          // NOLINT
  ConfigValue(bool value) : value_(value) {}          // NOLINT
  ConfigValue(int value) : value_(int64_t{value}) {}  // NOLINT
  ConfigValue(int64_t value) : value_(value) {}       // NOLINT
  ConfigValue(double value) : value_(value) {}        // NOLINT
  ConfigValue(std::string value)                      // NOLINT
      : value_(std::move(value)) {}
  ConfigValue(const char* value)  // NOLINT
      : value_(std::string(value)) {}
  ConfigValue(DataType value) : value_(value) {}               // NOLINT
  ConfigValue(ConfigList value) : value_(std::move(value)) {}  // NOLINT
  ConfigValue(ConfigDict value) : value_(std::move(value)) {}  // NOLINT

  const Variant& variant() const { return value_; }
  bool is_none() const { return std::holds_alternative<None>(value_); }
  // The value if it is a T, null otherwise.
  template <typename T>
  const T* get_if() const {
    return std::get_if<T>(&value_);
  }

  // Same type and same value. (Python also says that 1 == True; no field here
  // takes both.)
  friend bool operator==(const ConfigValue& a, const ConfigValue& b) {
    return a.value_ == b.value_;
  }
  friend bool operator!=(const ConfigValue& a, const ConfigValue& b) {
    return !(a == b);
  }

 private:
  Variant value_;
};

// The value of `name` in `dict`, null when there is none.
const ConfigValue* Find(const ConfigDict& dict, std::string_view name);

// The name of the value's Python type: "NoneType", "bool", "int", "float",
// "str", "torch.dtype", "list" or "dict".
std::string_view PythonTypeName(const ConfigValue& value);

// What Python's json.dumps(value, indent=indent) gives: non-ASCII characters
// escaped, separators ", " and ": ". indent < 0: on one line; otherwise one
// value a line, indented by `indent` spaces a level. A dtype is the string
// "torch.float16". Bytes that are not UTF-8 are escaped as Python escapes them
// in file names (\udc80 to \udcff), so that different strings print
// differently.
std::string ToPythonJson(const ConfigValue& value, int indent = -1);

// What Python's str(value) gives: max-autotune, True, None, 0.5,
// torch.float16, {'max_autotune': True}. Within a string of a list or dict,
// control characters are escaped; other characters beyond ASCII print as they
// are.
std::string ToPythonStr(const ConfigValue& value);

}  // namespace aitune

#endif  // AITUNE_RUNTIME_BACKEND_CONFIG_VALUE_H_
