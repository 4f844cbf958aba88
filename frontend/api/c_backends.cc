// The kinds of backends that there are, in C.
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_join.h"
#include "frontend/api/c_handles.h"
#include "frontend/backends/compiled/torch_inductor_config.h"
#include "runtime/backend/registry.h"
#include "runtime/status/status_macros.h"

namespace {

struct Kind {
  std::string name, help, devices, usable_devices, reason;
};

struct Setting {
  ait_setting_kind kind;
  std::string name, value, help;
};

Kind KindOf(const aitune::BackendDescription& backend) {
  std::vector<std::string> devices, usable, reasons;
  for (const aitune::BackendDevice& device : backend.devices) {
    devices.push_back(device.type);
    if (device.reason.empty())
      usable.push_back(device.type);
    else
      reasons.push_back(absl::StrCat(device.type, ": ", device.reason));
  }
  return {backend.name, backend.help, absl::StrJoin(devices, ","),
          absl::StrJoin(usable, ","), absl::StrJoin(reasons, "\n")};
}

absl::Status CheckIndex(size_t index, size_t count, const char* what) {
  if (index < count) return absl::OkStatus();
  return absl::OutOfRangeError(
      absl::StrCat("there is no ", what, " ", index, " in a list of ", count));
}

}  // namespace

struct ait_backends {
  std::vector<Kind> kinds;
  std::vector<Setting> settings;
};

ait_error* ait_list_backends(ait_backends** backends) {
  return ait::Guarded([&]() -> absl::Status {
    AITUNE_RETURN_IF_ERROR(ait::Need(backends, "backends"));
    auto made = std::make_unique<ait_backends>();
    for (const aitune::BackendDescription& backend : aitune::ListBackends())
      made->kinds.push_back(KindOf(backend));
    for (const auto& mode : aitune::frontend::ListModeOptions())
      made->settings.push_back(
          {AIT_SETTING_MODE, mode.name,
           aitune::ToPythonStr(aitune::ConfigValue(mode.options)), mode.help});
    for (const auto& option : aitune::frontend::ListOptions())
      made->settings.push_back({AIT_SETTING_OPTION, option.name,
                                aitune::ToPythonStr(option.default_value),
                                option.help});
    *backends = made.release();
    return absl::OkStatus();
  });
}

size_t ait_backends_count(const ait_backends* backends) {
  return backends == nullptr ? 0 : backends->kinds.size();
}

ait_error* ait_backends_get(const ait_backends* backends, size_t index,
                            ait_backend* backend) {
  return ait::Guarded([&]() -> absl::Status {
    AITUNE_RETURN_IF_ERROR(ait::Need(backends, "backends"));
    AITUNE_RETURN_IF_ERROR(ait::Need(backend, "backend"));
    AITUNE_RETURN_IF_ERROR(
        ait::CheckFields(*backend, &ait_backend::reason, "backend"));
    AITUNE_RETURN_IF_ERROR(
        CheckIndex(index, backends->kinds.size(), "backend"));
    const Kind& from = backends->kinds[index];
    backend->name = from.name.c_str();
    backend->help = from.help.c_str();
    backend->devices = from.devices.c_str();
    backend->usable_devices = from.usable_devices.c_str();
    backend->reason = from.reason.c_str();
    return absl::OkStatus();
  });
}

size_t ait_backends_settings(const ait_backends* backends) {
  return backends == nullptr ? 0 : backends->settings.size();
}

ait_error* ait_backends_setting(const ait_backends* backends, size_t index,
                                ait_setting* setting) {
  return ait::Guarded([&]() -> absl::Status {
    AITUNE_RETURN_IF_ERROR(ait::Need(backends, "backends"));
    AITUNE_RETURN_IF_ERROR(ait::Need(setting, "setting"));
    AITUNE_RETURN_IF_ERROR(
        ait::CheckFields(*setting, &ait_setting::help, "setting"));
    AITUNE_RETURN_IF_ERROR(
        CheckIndex(index, backends->settings.size(), "setting"));
    const Setting& from = backends->settings[index];
    setting->kind = from.kind;
    setting->name = from.name.c_str();
    setting->value = from.value.c_str();
    setting->help = from.help.c_str();
    return absl::OkStatus();
  });
}

void ait_backends_free(ait_backends* backends) { delete backends; }
