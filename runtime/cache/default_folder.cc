#include "runtime/cache/default_folder.h"

#include <cstdlib>

#include "runtime/status/status_macros.h"

namespace aitune {

absl::StatusOr<std::filesystem::path> DefaultCacheFolder() {
  // The directory specification of freedesktop.org: relative paths are not
  // followed.
  if (const char* cache = std::getenv("XDG_CACHE_HOME");
      cache != nullptr && cache[0] == '/')
    return std::filesystem::path(cache) / "aitune" / "models";
  if (const char* home = std::getenv("HOME"); home != nullptr && home[0] == '/')
    return std::filesystem::path(home) / ".cache" / "aitune" / "models";
  return absl::NotFoundError(
      "there is no home to keep compiled models in; name a folder, or set "
      "XDG_CACHE_HOME");
}

absl::StatusOr<std::filesystem::path> DefaultTuningDatabase() {
  AITUNE_ASSIGN_OR_RETURN(std::filesystem::path models, DefaultCacheFolder());
  return models.parent_path() / "schedules.db";
}

}  // namespace aitune
