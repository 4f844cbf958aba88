// Where things are in a cache's folder.
#ifndef AITUNE_RUNTIME_CACHE_CACHE_LAYOUT_H_
#define AITUNE_RUNTIME_CACHE_CACHE_LAYOUT_H_

#include <filesystem>
#include <vector>

#include "runtime/cache/cache_key.h"

namespace aitune {

std::filesystem::path EntriesPath(const std::filesystem::path& folder);
// Entries are spread over folders by their first two digits: some file systems
// are slow with many names in one.
std::filesystem::path EntryPath(const std::filesystem::path& folder,
                                const CacheKey& key);
std::filesystem::path StagingPath(const std::filesystem::path& folder);
std::filesystem::path TrashPath(const std::filesystem::path& folder);
std::filesystem::path LockPath(const std::filesystem::path& folder);
std::filesystem::path CountersPath(const std::filesystem::path& folder);

// The keys of all entries, in order. What has another form of name is skipped.
std::vector<CacheKey> ListKeys(const std::filesystem::path& folder);

}  // namespace aitune

#endif  // AITUNE_RUNTIME_CACHE_CACHE_LAYOUT_H_
