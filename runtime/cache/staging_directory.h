// Directories of one process, in which entries are written before they are
// renamed or held while it uses them, and the removal of those whose process
// died.
//
// Beside each directory is a lock file that its process holds. A process that
// gets the lock of another's directory knows that the other is gone, without
// relying on clocks or process numbers.
#ifndef AITUNE_RUNTIME_CACHE_STAGING_DIRECTORY_H_
#define AITUNE_RUNTIME_CACHE_STAGING_DIRECTORY_H_

#include <sys/types.h>
#include <unistd.h>

#include <filesystem>

#include "absl/status/statusor.h"
#include "runtime/cache/posix_file.h"

namespace aitune {

class StagingDirectory {
 public:
  // A new, empty directory in `parent`. The system's errors, with the path.
  static absl::StatusOr<StagingDirectory> Create(
      const std::filesystem::path& parent);
  // Deletes the directory, unless it was renamed, and the lock file. A child of
  // fork() leaves both to its parent.
  ~StagingDirectory();
  StagingDirectory(StagingDirectory&&) = default;
  StagingDirectory& operator=(StagingDirectory&&) = delete;

  const std::filesystem::path& path() const { return path_; }

 private:
  StagingDirectory(std::filesystem::path path, ScopedFd lock)
      : path_(std::move(path)), lock_(std::move(lock)), process_(getpid()) {}

  std::filesystem::path path_;
  ScopedFd lock_;
  pid_t process_;  // that made it
};

// Deletes the directories in `parent` whose process is gone. Directories that
// can't be deleted stay.
void SweepStagingDirectories(const std::filesystem::path& parent);

}  // namespace aitune

#endif  // AITUNE_RUNTIME_CACHE_STAGING_DIRECTORY_H_
