#include "runtime/cache/cache_layout.h"

#include <algorithm>
#include <optional>
#include <string>

#include "runtime/cache/posix_file.h"

namespace aitune {

std::filesystem::path EntriesPath(const std::filesystem::path& folder) {
  return folder / "entries";
}

std::filesystem::path EntryPath(const std::filesystem::path& folder,
                                const CacheKey& key) {
  return EntriesPath(folder) / key.hex().substr(0, 2) / key.hex();
}

std::filesystem::path StagingPath(const std::filesystem::path& folder) {
  return folder / "staging";
}

std::filesystem::path TrashPath(const std::filesystem::path& folder) {
  return folder / "trash";
}

std::filesystem::path LockPath(const std::filesystem::path& folder) {
  return folder / "lock";
}

std::filesystem::path CountersPath(const std::filesystem::path& folder) {
  return folder / "stats";
}

std::vector<CacheKey> ListKeys(const std::filesystem::path& folder) {
  std::vector<CacheKey> keys;
  for (const std::string& prefix : ListDirectory(EntriesPath(folder))) {
    for (const std::string& name :
         ListDirectory(EntriesPath(folder) / prefix)) {
      const std::optional<CacheKey> key = CacheKey::Parse(name);
      if (key.has_value() && name.substr(0, 2) == prefix) keys.push_back(*key);
    }
  }
  std::sort(keys.begin(), keys.end());
  return keys;
}

}  // namespace aitune
