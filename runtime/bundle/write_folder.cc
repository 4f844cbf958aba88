#include "runtime/bundle/write_folder.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <set>
#include <vector>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/str_cat.h"
#include "runtime/bundle/bundle_file.h"
#include "runtime/bundle/staged_file.h"
#include "runtime/status/status_macros.h"

namespace aitune {
namespace {

namespace fs = std::filesystem;

// Makes the file `path`, which must not be there; one that fails leaves none.
absl::Status WriteFile(const fs::path& path,
                       const std::vector<std::string_view>& parts) {
  const File file(open(path.c_str(),
                       O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW,
                       0644));
  const absl::Status status = WriteParts(file, path, parts);
  if (!status.ok() && file.descriptor() >= 0) unlink(path.c_str());
  return status;
}

absl::Status NotEmpty(const fs::path& path) {
  return absl::AlreadyExistsError(
      absl::StrCat(path.string(), ": is not an empty folder"));
}

// Writes `files` into the empty folder `path`.
absl::Status Fill(const fs::path& path, absl::Span<const FolderFile> files) {
  std::vector<fs::path> made;
  absl::Cleanup undo = [&] {
    std::error_code ignored;
    for (const fs::path& file : made) {
      fs::remove(file, ignored);
      // Those with something in them stay.
      for (fs::path folder = file.parent_path();
           folder != path && fs::remove(folder, ignored);)
        folder = folder.parent_path();
    }
  };
  std::error_code error;
  // Those with names that must last: each folder on the way to a file.
  std::set<fs::path> folders = {path};
  for (const auto& [name, bytes] : files) {
    const fs::path file = path / name;
    // The last one says that all are there.
    if (&name == &files.back().first) {
      for (const fs::path& folder : folders)
        AITUNE_RETURN_IF_ERROR(SyncFolder(folder));
    }
    fs::create_directories(file.parent_path(), error);
    if (error) return SystemError(file, "can't be made", error.value());
    AITUNE_RETURN_IF_ERROR(WriteFile(file, {bytes}));
    made.push_back(file);
    for (fs::path folder = file.parent_path(); folders.insert(folder).second;)
      folder = folder.parent_path();
  }
  AITUNE_RETURN_IF_ERROR(SyncFolder(path));
  std::move(undo).Cancel();
  return absl::OkStatus();
}

// Whether a folder of this process can take the place of that one, and nobody
// sees a difference.
bool IsReplaceable(const struct stat& there, const fs::path& path) {
  struct stat parent = {};
  return there.st_uid == geteuid() && there.st_gid == getegid() &&
         stat(path.parent_path().c_str(), &parent) == 0 &&
         parent.st_dev == there.st_dev;
}

// Writes `files` beside `path`, and renames. `in_place` is set if that can't be
// done there.
absl::Status WriteStaged(const fs::path& path, const struct stat* there,
                         absl::Span<const FolderFile> files, bool* in_place) {
  RemoveDeadStagedFolders(path);
  fs::path staged;
  const File lock(OpenStagedFolder(path, &staged));
  if (lock.descriptor() < 0) {
    *in_place = there != nullptr;
    return SystemError(staged, "can't be made", errno);
  }
  absl::Cleanup undo = [&] {
    std::error_code ignored;
    fs::remove_all(staged, ignored);
  };
  AITUNE_RETURN_IF_ERROR(Fill(staged, files));
  if (there != nullptr &&
      fchmod(lock.descriptor(), there->st_mode & 07777) != 0)
    return SystemError(staged, "can't be changed", errno);
  if (rename(staged.c_str(), path.c_str()) != 0) {
    if (errno == ENOTEMPTY || errno == EEXIST) return NotEmpty(path);
    *in_place = there != nullptr;
    return SystemError(path, "can't be made", errno);
  }
  std::move(undo).Cancel();
  return SyncFolder(path.parent_path());
}

}  // namespace

absl::Status WriteFolder(const fs::path& path,
                         absl::Span<const FolderFile> files) {
  std::error_code error;
  // Without links, and without a slash at the end.
  fs::path folder = fs::weakly_canonical(fs::absolute(path, error), error);
  if (error) return SystemError(path, "can't be made", error.value());
  if (!folder.has_filename()) folder = folder.parent_path();
  fs::create_directories(folder.parent_path(), error);
  if (error) return SystemError(path, "can't be made", error.value());
  struct stat there = {};
  const bool exists = stat(folder.c_str(), &there) == 0;
  if (exists && !S_ISDIR(there.st_mode))
    return SystemError(path, "can't be made", ENOTDIR);
  if (exists && !fs::is_empty(folder, error)) return NotEmpty(path);
  bool in_place = exists && !IsReplaceable(there, folder);
  absl::Status status;
  if (!in_place) {
    status = WriteStaged(folder, exists ? &there : nullptr, files, &in_place);
    if (!in_place) return status;
  }
  // Another may have filled it meanwhile.
  if (!fs::is_empty(folder, error)) return NotEmpty(path);
  return Fill(folder, files);
}

}  // namespace aitune
