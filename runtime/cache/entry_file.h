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

// Reads the entry in the directory `path`. Another process may replace or
// remove it meanwhile: the result is always one whole entry or a miss.
CacheLookup ReadEntry(const std::filesystem::path& path, const CacheKey& key);

// Has the empty directory `to` name the files of the entry in the directory
// `path`, which then stay when they are removed there: by links, or copies on a
// file system without them. kNotFound when the entry is not there, or is
// removed meanwhile; kFailedPrecondition when its manifest can't be read; the
// system's errors, with the path.
absl::Status LinkEntry(const std::filesystem::path& path,
                       const std::filesystem::path& to);

// The facts about the entry that are known without reading its blobs. `bytes`
// is 0 when the directory does not exist.
CacheListing InspectEntry(const std::filesystem::path& path,
                          const CacheKey& key);

// Marks the entry as used now, if its directory is writable.
void TouchEntry(const std::filesystem::path& path);

}  // namespace aitune

#endif  // AITUNE_RUNTIME_CACHE_ENTRY_FILE_H_
