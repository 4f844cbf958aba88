// One entry as files: written into a new directory, read with every byte
// checked.
#ifndef AITUNE_RUNTIME_CACHE_ENTRY_FILE_H_
#define AITUNE_RUNTIME_CACHE_ENTRY_FILE_H_

#include <cstdint>
#include <filesystem>
#include <string_view>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "runtime/cache/cache.h"
#include "runtime/cache/cache_key.h"

namespace aitune {

// Writes the blobs, then the manifest, into the empty directory `path`. Errors
// as WriteFile.
absl::Status WriteEntry(const std::filesystem::path& path, const CacheKey& key,
                        absl::Span<const CacheBlob> blobs,
                        std::string_view description);

// Reads the entry in the directory `path`. It may be replaced or removed
// meanwhile: what comes back is one entry or a miss.
CacheLookup ReadEntry(const std::filesystem::path& path, const CacheKey& key);

// What there is to know without reading blobs. `bytes` is 0 when there is no
// such directory.
CacheListing InspectEntry(const std::filesystem::path& path,
                          const CacheKey& key);

// Marks the entry as used now, if the file system lets us.
void TouchEntry(const std::filesystem::path& path);

}  // namespace aitune

#endif  // AITUNE_RUNTIME_CACHE_ENTRY_FILE_H_
