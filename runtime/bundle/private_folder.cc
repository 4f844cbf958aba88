#include "runtime/bundle/private_folder.h"

#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <map>
#include <mutex>
#include <string>

#include "absl/strings/str_cat.h"

namespace aitune {
namespace {

void Remove(const std::filesystem::path& path) {
  // remove_all allocates, which may fail in the destructor of an object whose
  // maker ran out of memory.
  try {
    std::error_code error;
    std::filesystem::remove_all(path, error);
  } catch (...) {
  }
}

// The folders that are not removed yet.
class Folders {
 public:
  static Folders& Get() {
    static Folders* const folders = new Folders;  // outlives what is static
    return *folders;
  }

  void Add(const PrivateFolder* folder) {
    const std::lock_guard<std::mutex> lock(mutex_);
    made_by_[folder] = getpid();
  }

  // Forgets `folder`. Returns whether this process made it.
  bool Take(const PrivateFolder* folder) {
    const std::lock_guard<std::mutex> lock(mutex_);
    const auto found = made_by_.find(folder);
    const bool ours = found->second == getpid();
    made_by_.erase(found);
    return ours;
  }

 private:
  Folders() {
    std::atexit([] {
      Folders& folders = Get();
      const std::lock_guard<std::mutex> lock(folders.mutex_);
      for (const auto& [folder, process] : folders.made_by_)
        if (process == getpid()) Remove(folder->path());
    });
  }

  std::mutex mutex_;
  std::map<const PrivateFolder*, pid_t> made_by_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<PrivateFolder>> PrivateFolder::Make() {
  std::error_code error;
  const std::filesystem::path temporary =
      std::filesystem::temp_directory_path(error);
  if (error)
    return absl::FailedPreconditionError(absl::StrCat(
        "there is no folder for temporary files (", error.message(),
        "); set TMPDIR to one that can be written to"));
  std::string path = (temporary / "aitune-XXXXXX").string();
  if (mkdtemp(path.data()) == nullptr)
    return absl::ErrnoToStatus(
        errno, absl::StrCat("can't make a folder in ", temporary.string(),
                            "; set TMPDIR to one that can be written to"));
  return std::unique_ptr<PrivateFolder>(new PrivateFolder(path));
}

PrivateFolder::PrivateFolder(std::filesystem::path path)
    : path_(std::move(path)) {
  Folders::Get().Add(this);
}

PrivateFolder::~PrivateFolder() {
  if (Folders::Get().Take(this)) Remove(path_);
}

}  // namespace aitune
