// aitune backends: the kinds of backends, their modes and options.
#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"
#include "frontend/backends/compiled/torch_inductor_config.h"
#include "frontend/cli/commands.h"
#include "frontend/cli/output_files.h"
#include "runtime/backend/registry.h"
#include "runtime/status/status_macros.h"

namespace aitune::cli {
namespace {

using nlohmann::json;

// Two lines: a name, and its description below it.
std::string Entry(const std::string& name, const std::string& help) {
  return absl::StrCat("  ", name, "\n      ", help, "\n");
}

json ToJson(const ConfigValue& value) {
  return json::parse(ToPythonJson(value), nullptr, /*allow_exceptions=*/false);
}

}  // namespace

absl::StatusOr<int> ShowBackends(const Options& options) {
  json object = {{"schema", 1},
                 {"backends", json::array()},
                 {"modes", json::array()},
                 {"options", json::array()}};
  std::string text = "Backends\n";
  for (const BackendDescription& backend : ListBackends()) {
    absl::StrAppend(&text, Entry(backend.name, backend.help));
    json devices = json::array();
    for (const BackendDevice& device : backend.devices) {
      absl::StrAppend(&text, "      ", device.type, ": ",
                      device.reason.empty() ? "can be used" : device.reason,
                      "\n");
      devices.push_back({{"type", device.type},
                         {"usable", device.reason.empty()},
                         {"reason", device.reason}});
    }
    object["backends"].push_back({{"name", backend.name},
                                  {"help", backend.help},
                                  {"devices", std::move(devices)},
                                  {"usable", backend.is_usable()}});
  }
  absl::StrAppend(&text, "\nModes of TorchInductorBackend(mode=...)\n");
  for (const frontend::ModeDescription& mode : frontend::ListModeOptions()) {
    const ConfigValue settings(mode.options);
    absl::StrAppend(
        &text,
        Entry(absl::StrCat(mode.name, "  ", ToPythonStr(settings)), mode.help));
    object["modes"].push_back({{"name", mode.name},
                               {"options", ToJson(settings)},
                               {"help", mode.help}});
  }
  absl::StrAppend(&text, "\nOptions of TorchInductorBackend(options.NAME=...)",
                  "\n");
  for (const frontend::OptionDescription& option : frontend::ListOptions()) {
    absl::StrAppend(
        &text,
        Entry(absl::StrCat(option.name, "=", ToPythonStr(option.default_value)),
              option.help));
    object["options"].push_back({{"name", option.name},
                                 {"default", ToJson(option.default_value)},
                                 {"help", option.help}});
  }
  AITUNE_RETURN_IF_ERROR(PublishText(
      options, text,
      object.dump(1, ' ', false, nlohmann::json::error_handler_t::replace)));
  return kSuccess;
}

}  // namespace aitune::cli
