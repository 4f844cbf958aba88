#include "runtime/backend/backend_config.h"

#include <cerrno>
#include <fstream>

#include "absl/strings/str_cat.h"
#include "runtime/hash/sha256.h"

namespace aitune {

std::string BackendConfig::Key() const {
  return Sha256Hex(ToPythonJson(KeyDict()));
}

std::string BackendConfig::Describe() const {
  const ConfigDict defaults = DefaultDict();
  std::string text;
  for (const auto& [name, value] : ToDict()) {
    const ConfigValue* default_value = Find(defaults, name);
    if (default_value != nullptr && *default_value == value) continue;
    absl::StrAppend(&text, text.empty() ? "" : ",", name, "=",
                    ToPythonStr(value));
  }
  return text;
}

absl::Status BackendConfig::ToJson(const std::filesystem::path& path) const {
  errno = 0;
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  file << ToPythonJson(ToDict(), /*indent=*/2);
  file.close();
  if (file) return absl::OkStatus();
  return absl::ErrnoToStatus(
      errno, absl::StrCat("can't write the configuration to ", path.string()));
}

}  // namespace aitune
