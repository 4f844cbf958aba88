#include "runtime/bundle/staged_file.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <memory>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "absl/strings/str_cat.h"

namespace aitune {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kEnd = ".tmp";
constexpr size_t kDigits = 16;

// Whether `name` is that of a staged file of a file `of`.
bool IsStagedName(std::string_view name, std::string_view of) {
  if (name.size() != of.size() + 1 + kDigits + kEnd.size()) return false;
  if (name.substr(0, of.size()) != of || name[of.size()] != '.') return false;
  if (name.substr(name.size() - kEnd.size()) != kEnd) return false;
  const std::string_view digits = name.substr(of.size() + 1, kDigits);
  return std::all_of(digits.begin(), digits.end(), [](char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
  });
}

enum class Kind { kFile, kFolder };

void RemoveIfDead(const fs::path& path, Kind kind) {
  const int file =
      open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
  if (file < 0) return;
  struct stat opened = {}, named = {};
  const auto is_of_kind = [&] {
    return kind == Kind::kFolder
               ? S_ISDIR(opened.st_mode)
               : S_ISREG(opened.st_mode) && opened.st_nlink == 1;
  };
  if (fstat(file, &opened) == 0 && is_of_kind() && opened.st_uid == geteuid() &&
      flock(file, LOCK_EX | LOCK_NB) == 0 &&
      // Renamed meanwhile, it is somebody's checkpoint.
      lstat(path.c_str(), &named) == 0 && named.st_dev == opened.st_dev &&
      named.st_ino == opened.st_ino) {
    std::error_code ignored;
    if (kind == Kind::kFolder)
      fs::remove_all(path, ignored);
    else
      unlink(path.c_str());
  }
  close(file);
}

// Makes what is staged, and opens it.
int Make(const fs::path& path, Kind kind) {
  if (kind == Kind::kFile)
    return open(path.c_str(),
                O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0644);
  if (mkdir(path.c_str(), 0777) != 0) return -1;
  return open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
}

int OpenStaged(const fs::path& path, Kind kind, fs::path* staged) {
  // One who removes dead files may take a new one for such, before it is
  // locked.
  constexpr int kTries = 100;
  std::random_device random;
  for (int i = 0; i < kTries; ++i) {
    *staged =
        absl::StrCat(path.string(), ".", absl::Hex(random(), absl::kZeroPad8),
                     absl::Hex(random(), absl::kZeroPad8), kEnd.data());
    const int file = Make(*staged, kind);
    // A folder that is gone before it is open was taken for dead.
    if (file < 0 && kind == Kind::kFolder && errno == ENOENT &&
        fs::exists(staged->parent_path()))
      continue;
    if (file < 0) return file;
    // A file system without locks has nobody who removes by them.
    struct stat status = {};
    while (flock(file, LOCK_EX) != 0 && errno == EINTR) {
    }
    if (fstat(file, &status) != 0 || status.st_nlink > 0) return file;
    close(file);
  }
  errno = EAGAIN;
  return -1;
}

void RemoveDead(const fs::path& path, Kind kind) {
  const std::string name = path.filename().string();
  const fs::path folder = path.has_parent_path() ? path.parent_path() : ".";
  // std::filesystem's iterators end a process that runs out of memory.
  const std::unique_ptr<DIR, int (*)(DIR*)> opened(opendir(folder.c_str()),
                                                   &closedir);
  if (opened == nullptr) return;
  std::vector<fs::path> found;
  while (const dirent* entry = readdir(opened.get()))
    if (IsStagedName(entry->d_name, name))
      found.push_back(folder / entry->d_name);
  for (const fs::path& staged : found) RemoveIfDead(staged, kind);
}

}  // namespace

int OpenStagedFile(const fs::path& path, fs::path* staged) {
  return OpenStaged(path, Kind::kFile, staged);
}

void RemoveDeadStagedFiles(const fs::path& path) {
  RemoveDead(path, Kind::kFile);
}

int OpenStagedFolder(const fs::path& path, fs::path* staged) {
  return OpenStaged(path, Kind::kFolder, staged);
}

void RemoveDeadStagedFolders(const fs::path& path) {
  RemoveDead(path, Kind::kFolder);
}

}  // namespace aitune
