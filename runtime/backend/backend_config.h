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

  // kInvalidArgument when fields contradict each other or have values that
  // there are not; the text says what to do. A backend takes only a
  // configuration that is valid.
  virtual absl::Status Validate() const = 0;

  // What the key is made of: ToDict(), unless Python's is made of less.
  virtual ConfigDict KeyDict() const { return ToDict(); }

  // The SHA-256, in hex, of KeyDict() as JSON: equal configurations have equal
  // keys, here and in Python.
  std::string Key() const;

  // "mode=max-autotune,autocast_enabled=True": the fields that differ from
  // their default, in order, as Python prints them.
  virtual std::string Describe() const;

  // Writes ToDict() to `path` as JSON, indented by 2, over what was there.
  // kUnknown or another code of the system, with the path, when it can't.
  absl::Status ToJson(const std::filesystem::path& path) const;
};

}  // namespace aitune

#endif  // AITUNE_RUNTIME_BACKEND_BACKEND_CONFIG_H_
