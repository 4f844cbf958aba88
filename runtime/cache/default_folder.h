// The default places of a user's compiled models and tuning results.
#ifndef AITUNE_RUNTIME_CACHE_DEFAULT_FOLDER_H_
#define AITUNE_RUNTIME_CACHE_DEFAULT_FOLDER_H_

#include <filesystem>

#include "absl/status/statusor.h"

namespace aitune {

// "aitune/models" in $XDG_CACHE_HOME if that is set, otherwise in ~/.cache.
// kNotFound when the user has no home directory. Thread-safe.
absl::StatusOr<std::filesystem::path> DefaultCacheFolder();

// The file, beside that folder, that keeps the schedules that searches found.
// Errors as DefaultCacheFolder. Thread-safe.
absl::StatusOr<std::filesystem::path> DefaultTuningDatabase();

}  // namespace aitune

#endif  // AITUNE_RUNTIME_CACHE_DEFAULT_FOLDER_H_
