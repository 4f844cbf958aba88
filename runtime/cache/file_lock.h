// A lock between processes, and between threads of one, that is released when
// its owner dies.
#ifndef AITUNE_RUNTIME_CACHE_FILE_LOCK_H_
#define AITUNE_RUNTIME_CACHE_FILE_LOCK_H_

#include <chrono>
#include <filesystem>

#include "absl/status/statusor.h"
#include "runtime/cache/posix_file.h"

namespace aitune {

// Holds the lock until it is destroyed. The system releases it when a process
// is killed.
class FileLock {
 public:
  // Waits for the lock on the file `path`, which is made if it does not exist.
  // kUnavailable after `timeout`; the system's errors, with the path.
  static absl::StatusOr<FileLock> Acquire(const std::filesystem::path& path,
                                          std::chrono::milliseconds timeout);

 private:
  explicit FileLock(ScopedFd fd) : fd_(std::move(fd)) {}
  ScopedFd fd_;
};

}  // namespace aitune

#endif  // AITUNE_RUNTIME_CACHE_FILE_LOCK_H_
