#include "runtime/cache/file_lock.h"

#include <fcntl.h>
#include <sys/file.h>

#include <algorithm>
#include <cerrno>
#include <thread>

#include "absl/strings/str_cat.h"

namespace aitune {

absl::StatusOr<FileLock> FileLock::Acquire(const std::filesystem::path& path,
                                           std::chrono::milliseconds timeout) {
  ScopedFd fd(
      open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!fd.valid()) return ErrnoStatus(errno, "can't open the lock", path);
  // Asked again and again instead of waiting: a wait has no limit, and the
  // owner may have been stopped.
  const auto deadline = std::chrono::steady_clock::now() + timeout;
  std::chrono::milliseconds pause(1);
  while (flock(fd.get(), LOCK_EX | LOCK_NB) != 0) {
    if (errno != EWOULDBLOCK && errno != EINTR)
      return ErrnoStatus(errno, "can't lock", path);
    if (std::chrono::steady_clock::now() >= deadline)
      return absl::UnavailableError(
          absl::StrCat("another process has kept the lock ", path.string(),
                       " for ", timeout.count(), " ms"));
    std::this_thread::sleep_for(pause);
    pause = std::min(2 * pause, std::chrono::milliseconds(20));
  }
  return FileLock(std::move(fd));
}

}  // namespace aitune
