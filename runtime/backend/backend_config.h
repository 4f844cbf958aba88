// The configuration of a backend: named fields with defaults.
//
// A configuration is written down as a dict of plain values, and everything
// else (key, description, JSON file, stored form, comparison with the
// defaults) follows from that dict, the same way for every backend. A new
// backend's configuration has its fields, ToDict and Validate, and nothing
// more, unless AITune in Python gives that backend another key or description.
#ifndef AITUNE_RUNTIME_BACKEND_BACKEND_CONFIG_H_
#define AITUNE_RUNTIME_BACKEND_BACKEND_CONFIG_H_

#include <filesystem>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "runtime/backend/config_value.h"

namespace aitune {

class BackendConfig {
 public:
  virtual ~BackendConfig() = default;

  // All fields in the order they are declared.
  virtual ConfigDict ToDict() const = 0;

  // ToDict() of a configuration with no field set.
  virtual ConfigDict DefaultDict() const = 0;

  // kInvalidArgument when fields contradict each other or have values that do
  // not exist; the text names the field and says what to do. Backend::Create
  // refuses a configuration that is not valid.
  virtual absl::Status Validate() const = 0;

  // The fields that the key is made of: all of ToDict(), except for backends
  // whose key in Python is made of fewer fields.
  virtual ConfigDict KeyDict() const { return ToDict(); }

  // The SHA-256, in hex, of KeyDict() as JSON: equal configurations have equal
  // keys, here and in Python.
  std::string Key() const;

  // "mode=max-autotune,autocast_enabled=True": the fields that differ from
  // their default, in order, as Python prints them.
  virtual std::string Describe() const;

  // Writes ToDict() to `path` as JSON, indented by 2 spaces, replacing the
  // file's contents. The system's error, with the path, when that fails.
  absl::Status ToJson(const std::filesystem::path& path) const;
};

}  // namespace aitune

#endif  // AITUNE_RUNTIME_BACKEND_BACKEND_CONFIG_H_
