// Directories that entries are written in before they are renamed, and the
// sweeping of those whose process died.
//
// Beside each directory lies a lock file that its process holds. A sweeper that
// gets the lock knows that the process is gone, whatever the clocks say and
// whoever has its process number now.
#ifndef AITUNE_RUNTIME_CACHE_STAGING_DIRECTORY_H_
#define AITUNE_RUNTIME_CACHE_STAGING_DIRECTORY_H_

#include <filesystem>

#include "absl/status/statusor.h"
#include "runtime/cache/posix_file.h"

namespace aitune {

class StagingDirectory {
 public:
  // A new, empty directory in `parent`. Errors of the system, with the path.
  static absl::StatusOr<StagingDirectory> Create(
      const std::filesystem::path& parent);
  // Deletes the directory if it is still there, and the lock.
  ~StagingDirectory();
  StagingDirectory(StagingDirectory&&) = default;
  StagingDirectory& operator=(StagingDirectory&&) = delete;

  const std::filesystem::path& path() const { return path_; }

 private:
  StagingDirectory(std::filesystem::path path, ScopedFd lock)
      : path_(std::move(path)), lock_(std::move(lock)) {}

  std::filesystem::path path_;
  ScopedFd lock_;
};

// Deletes the directories in `parent` whose process is gone. What can't be
// deleted stays.
void SweepStagingDirectories(const std::filesystem::path& parent);

}  // namespace aitune

#endif  // AITUNE_RUNTIME_CACHE_STAGING_DIRECTORY_H_
