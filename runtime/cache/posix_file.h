// Files, with errors as values. The functions handle what a caller of the
// system would have to: short reads, interrupted calls, and links or pipes in
// the place of files. They are thread-safe.
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
  // Gives up the descriptor, which the caller must close.
  int Release() { return std::exchange(fd_, -1); }

 private:
  int fd_ = -1;
};

// A value of errno as a status with the text "WHAT PATH: REASON", where `what`
// is such as "can't open". kResourceExhausted for a full disk, quota or file
// size limit, kPermissionDenied for a read-only file system, otherwise the code
// of absl::ErrnoToStatus.
absl::Status ErrnoStatus(int error, std::string_view what,
                         const std::filesystem::path& path);

// Opens the directory `path`; not a link to one.
absl::StatusOr<ScopedFd> OpenDirectory(const std::filesystem::path& path);

// Whether only the user and root can change what `fd` has open: one of them
// owns it, and neither its group nor others may write to it. Otherwise
// kPermissionDenied, with a text that begins with `path` and says what to do.
absl::Status CheckPrivate(const ScopedFd& fd,
                          const std::filesystem::path& path);

// Reads the regular file `name` of a directory. Does not follow a link, and
// does not wait for a pipe: kFailedPrecondition for anything but a regular
// file. kNotFound if the file does not exist, kOutOfRange if it has more than
// `max_size` bytes, errors of CheckPrivate.
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

// Makes a directory that only the user may access, with its parents. OK if it
// exists.
absl::Status MakeDirectories(const std::filesystem::path& path);

// The names in a directory except "." and "..", in no order. Empty if the
// directory can't be read.
std::vector<std::string> ListDirectory(const std::filesystem::path& path);

// Deletes `path` and everything below it without following links. OK if it does
// not exist.
absl::Status RemoveTree(const std::filesystem::path& path);

}  // namespace aitune

#endif  // AITUNE_RUNTIME_CACHE_POSIX_FILE_H_
