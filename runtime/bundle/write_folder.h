// Files in a new folder, which appears as a whole.
#ifndef AITUNE_RUNTIME_BUNDLE_WRITE_FOLDER_H_
#define AITUNE_RUNTIME_BUNDLE_WRITE_FOLDER_H_

#include <filesystem>
#include <string>
#include <string_view>
#include <utility>

#include "absl/status/status.h"
#include "absl/types/span.h"

namespace aitune {

// A path below the folder, and contents.
using FolderFile = std::pair<std::string, std::string_view>;

// Makes the folder `path`, which must not be there or be empty, with `files`,
// of which all are on the disk when it returns. They are written to a folder
// beside it (staged_file.h), which then takes its place: of a process that is
// killed, or an error, nothing is left at `path`. An empty folder keeps its
// mode. One that can't be replaced, as a mounted one, or one of another user or
// in a folder that can't be written to, is filled in place, in the order of
// `files`; an error takes back what it has made, and what another writer made
// in it stays. kAlreadyExists for a folder with something in it; the system's
// errors, with the path. Thread-safe.
absl::Status WriteFolder(const std::filesystem::path& path,
                         absl::Span<const FolderFile> files);

}  // namespace aitune

#endif  // AITUNE_RUNTIME_BUNDLE_WRITE_FOLDER_H_
