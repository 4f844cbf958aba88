// The file or folder that is written beside PATH before it takes its place:
// "PATH.<16 hexadecimal digits>.tmp".
#ifndef AITUNE_RUNTIME_BUNDLE_STAGED_FILE_H_
#define AITUNE_RUNTIME_BUNDLE_STAGED_FILE_H_

#include <filesystem>

namespace aitune {

// Makes such a file, of which *staged is then the path, and opens it for
// writing. It is locked while it is open, by which others see that its writer
// lives. The descriptor, which the caller closes once the file has been renamed
// or removed; below 0: `errno` says why not. Thread-safe.
int OpenStagedFile(const std::filesystem::path& path,
                   std::filesystem::path* staged);

// Removes those of `path` whose writers were killed: regular files of this
// user's, not links, that nobody has locked. Errors are ignored: they stay for
// the next time. Thread-safe.
void RemoveDeadStagedFiles(const std::filesystem::path& path);

// The same for a folder, with all that is in it. `path` ends in a name.
int OpenStagedFolder(const std::filesystem::path& path,
                     std::filesystem::path* staged);
void RemoveDeadStagedFolders(const std::filesystem::path& path);

}  // namespace aitune

#endif  // AITUNE_RUNTIME_BUNDLE_STAGED_FILE_H_
