// Kinds of backends by name. A new kind is one file that registers itself, and
// a checkpoint finds by the name the kind that it was made with.
#ifndef AITUNE_RUNTIME_BACKEND_REGISTRY_H_
#define AITUNE_RUNTIME_BACKEND_REGISTRY_H_

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "runtime/backend/backend.h"
#include "runtime/backend/config_value.h"

namespace aitune {

struct BackendFactory {
  // One sentence on what the backend does, for ListBackends.
  std::string help;
  // A backend in state INIT with the configuration `config`, of which fields
  // may be missing. Must be thread-safe.
  std::function<absl::StatusOr<std::unique_ptr<Backend>>(
      const ConfigDict& config)>
      create;
};

// Makes a kind of backend known in this process. `name` is its class name.
// kAlreadyExists for a name that is taken. Thread-safe.
absl::Status RegisterBackend(std::string name, BackendFactory factory);

struct BackendDescription {
  std::string name;
  std::string help;
};

// All kinds of backends, by name. Thread-safe.
std::vector<BackendDescription> ListBackends();

// A backend of the kind `name`. kNotFound when no kind has this name; the text
// lists the names. Otherwise the factory's error. Thread-safe.
absl::StatusOr<std::unique_ptr<Backend>> CreateBackend(
    std::string_view name, const ConfigDict& config = {});

// The backend that ToDict described, in state CHECKPOINT_LOADED. `model` may be
// null for kinds that need none. kInvalidArgument for an unknown kind;
// otherwise the errors of Backend::FromDict. Thread-safe.
absl::StatusOr<std::unique_ptr<Backend>> BackendFromDict(
    std::shared_ptr<SourceModel> model, const BackendStateProto& state);

}  // namespace aitune

#endif  // AITUNE_RUNTIME_BACKEND_REGISTRY_H_
