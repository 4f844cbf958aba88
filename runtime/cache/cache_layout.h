// The paths of files and directories in a cache's folder. `folder` is always
// that folder. All functions are thread-safe.
#ifndef AITUNE_RUNTIME_CACHE_CACHE_LAYOUT_H_
#define AITUNE_RUNTIME_CACHE_CACHE_LAYOUT_H_

#include <filesystem>
#include <vector>

#include "runtime/cache/cache_key.h"

namespace aitune {

// The directory of all entries.
std::filesystem::path EntriesPath(const std::filesystem::path& folder);
// The directory of one entry. Entries are spread over directories by the first
// two digits of their keys: some file systems are slow when one directory has
// many names.
std::filesystem::path EntryPath(const std::filesystem::path& folder,
                                const CacheKey& key);
// The directory in which entries are written before they are renamed.
std::filesystem::path StagingPath(const std::filesystem::path& folder);
// The directory to which entries are moved before they are deleted.
std::filesystem::path TrashPath(const std::filesystem::path& folder);
// The file whose lock a process holds while it removes entries.
std::filesystem::path LockPath(const std::filesystem::path& folder);
// The file of CacheCounters.
std::filesystem::path CountersPath(const std::filesystem::path& folder);

// The keys of all entries, in ascending order. Names of another form are
// skipped.
std::vector<CacheKey> ListKeys(const std::filesystem::path& folder);

}  // namespace aitune

#endif  // AITUNE_RUNTIME_CACHE_CACHE_LAYOUT_H_
