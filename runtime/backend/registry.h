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
#include "runtime/device/device.h"

namespace aitune {

struct BackendFactory {
  // One sentence on what the backend does, for ListBackends.
  std::string help;
  // A backend in state INIT with the configuration `config`, of which fields
  // may be missing. Must be thread-safe.
  std::function<absl::StatusOr<std::unique_ptr<Backend>>(
      const ConfigDict& config)>
      create;
  // OK if such a backend can be built for `device`, "cpu" or "cuda", which is
  // one of BackendTraits::devices, in this process; otherwise the text says
  // what is missing. Must be quick and thread-safe, and leave the device alone.
  // Null: it always can.
  std::function<absl::Status(const Device& device)> check_device = nullptr;
};

// Makes a kind of backend known in this process. `name` is its class name.
// kAlreadyExists for a name that is taken. Thread-safe.
absl::Status RegisterBackend(std::string name, BackendFactory factory);

// A type of device that a kind of backend runs on.
struct BackendDevice {
  std::string type;  // such as "cpu" or "cuda"
  // Why it can't be used in this process; empty: it can, as far as can be seen
  // without starting it.
  std::string reason;
};

struct BackendDescription {
  std::string name;
  std::string help;
  // BackendTraits::devices. A kind of which no backend can be made without a
  // configuration has a CPU with that error as the reason.
  std::vector<BackendDevice> devices;

  // Whether one of the devices can be used.
  bool is_usable() const;
};

// All kinds of backends, by name, each with the devices of a backend without a
// configuration, which is made for it. Thread-safe.
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
