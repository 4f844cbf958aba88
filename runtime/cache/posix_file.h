// Files, with errors as values and no surprise left to the caller: short reads,
// interrupted calls, links and pipes in the place of files.
#ifndef AITUNE_RUNTIME_CACHE_POSIX_FILE_H_
#define AITUNE_RUNTIME_CACHE_POSIX_FILE_H_

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace aitune {

// Owns a file descriptor.
class ScopedFd {
 public:
  ScopedFd() = default;
  explicit ScopedFd(int fd) : fd_(fd) {}
  ~ScopedFd() { Reset(); }
  ScopedFd(ScopedFd&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  ScopedFd& operator=(ScopedFd&& other) noexcept {
    Reset();
    fd_ = std::exchange(other.fd_, -1);
    return *this;
  }

  int get() const { return fd_; }
  bool valid() const { return fd_ >= 0; }
  void Reset();
  // The descriptor, which is the caller's to close now.
  int Release() { return std::exchange(fd_, -1); }

 private:
  int fd_ = -1;
};

// `errno` as a status that says what could not be done.
absl::Status ErrnoStatus(int error, std::string_view what,
                         const std::filesystem::path& path);

// Opens the directory `path`; not a link to one.
absl::StatusOr<ScopedFd> OpenDirectory(const std::filesystem::path& path);

// Reads the regular file `name` of a directory; not a link, and never waiting
// for one that is no file. kNotFound if there is none, kOutOfRange if it has
// more than `max_size` bytes.
absl::StatusOr<std::string> ReadFileAt(const ScopedFd& directory,
                                       const std::string& name,
                                       int64_t max_size);

// The size of the regular file `name` of a directory. Errors as ReadFileAt.
absl::StatusOr<int64_t> FileSizeAt(const ScopedFd& directory,
                                   const std::string& name);

// Writes a new file. kResourceExhausted for a full disk (or quota, or file size
// limit).
absl::Status WriteFile(const std::filesystem::path& path,
                       std::string_view bytes);

// Makes a directory for the user alone, with its parents; OK if it is there.
absl::Status MakeDirectories(const std::filesystem::path& path);

// The names in a directory but "." and "..", in no order; none if it can't be
// read.
std::vector<std::string> ListDirectory(const std::filesystem::path& path);

// Deletes `path` and all below it, not following links. OK if it is not there.
absl::Status RemoveTree(const std::filesystem::path& path);

}  // namespace aitune

#endif  // AITUNE_RUNTIME_CACHE_POSIX_FILE_H_
