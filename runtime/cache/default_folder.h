// Where a user's compiled models and tuning results are kept when nobody says
// otherwise.
#ifndef AITUNE_RUNTIME_CACHE_DEFAULT_FOLDER_H_
#define AITUNE_RUNTIME_CACHE_DEFAULT_FOLDER_H_

#include <filesystem>

#include "absl/status/statusor.h"

namespace aitune {

// "aitune/models" in $XDG_CACHE_HOME, else in ~/.cache. kNotFound when the user
// has no home.
absl::StatusOr<std::filesystem::path> DefaultCacheFolder();

// The file with what searches for schedules found, beside that folder. The
// same error.
absl::StatusOr<std::filesystem::path> DefaultTuningDatabase();

}  // namespace aitune

#endif  // AITUNE_RUNTIME_CACHE_DEFAULT_FOLDER_H_
