// What reading and writing bundles has in common: files that close themselves,
// and the system's errors as values.
#ifndef AITUNE_RUNTIME_BUNDLE_BUNDLE_FILE_H_
#define AITUNE_RUNTIME_BUNDLE_BUNDLE_FILE_H_

#include <unistd.h>

#include <filesystem>
#include <string_view>

#include "absl/status/status.h"
#include "absl/types/span.h"

namespace aitune {

// A value of errno as a status with the text "PATH: WHAT: REASON".
absl::Status SystemError(const std::filesystem::path& path, const char* what,
                         int error);

// Owns a file descriptor; below 0: none.
class File {
 public:
  explicit File(int descriptor) : descriptor_(descriptor) {}
  ~File() {
    if (descriptor_ >= 0) close(descriptor_);
  }
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  int descriptor() const { return descriptor_; }

 private:
  const int descriptor_;
};

// Writes `parts` to the file `path`, which was opened as `file` (below 0:
// `errno` says why not), and waits until they are on the disk.
absl::Status WriteParts(const File& file, const std::filesystem::path& path,
                        absl::Span<const std::string_view> parts);

// Makes what was created, renamed or removed in `folder` last.
absl::Status SyncFolder(const std::filesystem::path& folder);

}  // namespace aitune

#endif  // AITUNE_RUNTIME_BUNDLE_BUNDLE_FILE_H_
