#include "runtime/backend/registry.h"

#include <algorithm>
#include <map>
#include <mutex>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "runtime/backend/config_proto.h"
#include "runtime/status/status_macros.h"

namespace aitune {
namespace {

using Factories = std::map<std::string, BackendFactory, std::less<>>;

struct Registry {
  std::mutex mutex;
  Factories factories;
};

// Never destroyed: backends register before main and may be used after it.
Registry& GetRegistry() {
  static auto* const registry = new Registry;
  return *registry;
}

// Copies, so that a factory runs without the lock.
Factories CopyFactories() {
  Registry& registry = GetRegistry();
  std::lock_guard<std::mutex> lock(registry.mutex);
  return registry.factories;
}

std::optional<BackendFactory> FindFactory(std::string_view name) {
  Registry& registry = GetRegistry();
  std::lock_guard<std::mutex> lock(registry.mutex);
  const auto found = registry.factories.find(name);
  if (found == registry.factories.end()) return std::nullopt;
  return found->second;
}

std::vector<BackendDevice> DevicesOf(const BackendFactory& factory) {
  const absl::StatusOr<std::unique_ptr<Backend>> backend = factory.create({});
  if (!backend.ok())
    return {{Device().type, std::string(backend.status().message())}};
  std::vector<BackendDevice> devices;
  for (const std::string& type : (*backend)->devices()) {
    Device device;
    device.type = type;
    absl::Status status;
    if (factory.check_device != nullptr) status = factory.check_device(device);
    devices.push_back({type, std::string(status.message())});
  }
  return devices;
}

}  // namespace

absl::Status RegisterBackend(std::string name, BackendFactory factory) {
  Registry& registry = GetRegistry();
  std::lock_guard<std::mutex> lock(registry.mutex);
  const auto [position, inserted] =
      registry.factories.emplace(std::move(name), std::move(factory));
  if (inserted) return absl::OkStatus();
  return absl::AlreadyExistsError(absl::StrCat(
      "a backend of the name ", position->first, " is registered already"));
}

std::vector<BackendDescription> ListBackends() {
  std::vector<BackendDescription> list;
  for (const auto& [name, factory] : CopyFactories())
    list.push_back({name, factory.help, DevicesOf(factory)});
  return list;
}

bool BackendDescription::is_usable() const {
  return std::any_of(
      devices.begin(), devices.end(),
      [](const BackendDevice& device) { return device.reason.empty(); });
}

absl::StatusOr<std::unique_ptr<Backend>> CreateBackend(
    std::string_view name, const ConfigDict& config) {
  if (const std::optional<BackendFactory> factory = FindFactory(name))
    return factory->create(config);
  return absl::NotFoundError(
      absl::StrCat("there is no backend '", std::string(name), "'; there are: ",
                   absl::StrJoin(CopyFactories(), ", ",
                                 [](std::string* out, const auto& factory) {
                                   absl::StrAppend(out, factory.first);
                                 })));
}

absl::StatusOr<std::unique_ptr<Backend>> BackendFromDict(
    std::shared_ptr<SourceModel> model, const BackendStateProto& state) {
  const std::optional<BackendFactory> factory = FindFactory(state.type());
  if (!factory.has_value())
    return absl::InvalidArgumentError(
        absl::StrCat("Invalid state_dict type: ",
                     state.type().empty() ? "None" : state.type()));
  AITUNE_ASSIGN_OR_RETURN(const ConfigDict config, FromProto(state.config()));
  AITUNE_ASSIGN_OR_RETURN(std::unique_ptr<Backend> backend,
                          factory->create(config));
  AITUNE_RETURN_IF_ERROR(backend->FromDict(std::move(model), state));
  return backend;
}

}  // namespace aitune
