#include "runtime/cache/staging_directory.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <random>
#include <set>
#include <string>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

namespace aitune {
namespace {

constexpr char kLockSuffix[] = ".lock";

// More than one is rare: a sweeper must have come within microseconds.
constexpr int kMaxAttempts = 100;

std::filesystem::path LockPath(const std::filesystem::path& directory) {
  std::filesystem::path path = directory;
  path += kLockSuffix;
  return path;
}

std::string UniqueName() {
  std::random_device random;
  return absl::StrCat(getpid(), "-", absl::Hex(random(), absl::kZeroPad8),
                      absl::Hex(random(), absl::kZeroPad8));
}

// Locks the lock file if no process holds it and if the file still has its
// name. A process that deletes a lock file holds it, so a deleted file is never
// taken for a lock.
bool TakeLock(const ScopedFd& fd) {
  struct stat info;
  return fd.valid() && flock(fd.get(), LOCK_EX | LOCK_NB) == 0 &&
         fstat(fd.get(), &info) == 0 && info.st_nlink > 0;
}

}  // namespace

absl::StatusOr<StagingDirectory> StagingDirectory::Create(
    const std::filesystem::path& parent) {
  for (int attempt = 0; attempt < kMaxAttempts; ++attempt) {
    const std::filesystem::path path = parent / UniqueName();
    ScopedFd lock(open(LockPath(path).c_str(),
                       O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
    if (!lock.valid() && errno != EEXIST)
      return ErrnoStatus(errno, "can't make", LockPath(path));
    // A sweeper may have come between: the next name, then.
    if (!TakeLock(lock)) continue;
    StagingDirectory staging(path, std::move(lock));
    if (mkdir(path.c_str(), 0700) != 0)
      return ErrnoStatus(errno, "can't make", path);
    return staging;
  }
  return absl::UnavailableError(absl::StrCat("can't lock files in ",
                                             parent.string(),
                                             ": is it on a file system "
                                             "without flock?"));
}

StagingDirectory::~StagingDirectory() {
  if (!lock_.valid() || process_ != getpid()) return;
  (void)RemoveTree(path_);
  unlink(LockPath(path_).c_str());
}

void SweepStagingDirectories(const std::filesystem::path& parent) {
  std::set<std::string> names;
  for (std::string name : ListDirectory(parent)) {
    if (absl::EndsWith(name, kLockSuffix))
      name.resize(name.size() - (sizeof(kLockSuffix) - 1));
    names.insert(std::move(name));
  }
  for (const std::string& name : names) {
    const std::filesystem::path path = parent / name;
    // Made if it is missing, to be asked for like any other.
    const ScopedFd lock(open(LockPath(path).c_str(),
                             O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
    if (!TakeLock(lock)) continue;
    if (RemoveTree(path).ok()) unlink(LockPath(path).c_str());
  }
}

}  // namespace aitune
