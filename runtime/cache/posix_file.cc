#include "runtime/cache/posix_file.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <memory>
#include <new>
#include <system_error>

#include "absl/strings/str_cat.h"
#include "runtime/status/status_macros.h"

namespace aitune {
namespace {

// Calls until it is not interrupted by a signal.
template <typename F>
auto Retry(F f) {
  auto result = f();
  while (result == -1 && errno == EINTR) result = f();
  return result;
}

absl::StatusOr<std::pair<ScopedFd, int64_t>> OpenRegularFile(
    const ScopedFd& directory, const std::string& name) {
  // Without O_NONBLOCK, opening a pipe would wait for its other end.
  ScopedFd fd(Retry([&] {
    return openat(directory.get(), name.c_str(),
                  O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
  }));
  if (!fd.valid()) return ErrnoStatus(errno, "can't open", name);
  struct stat info;
  if (fstat(fd.get(), &info) != 0)
    return ErrnoStatus(errno, "can't look at", name);
  if (!S_ISREG(info.st_mode))
    return absl::FailedPreconditionError(
        absl::StrCat(name, " is not a regular file"));
  AITUNE_RETURN_IF_ERROR(CheckPrivate(fd, name));
  return std::make_pair(std::move(fd), int64_t{info.st_size});
}

absl::Status WriteAll(const ScopedFd& fd, std::string_view bytes,
                      const std::filesystem::path& path) {
  while (!bytes.empty()) {
    const ssize_t written =
        Retry([&] { return write(fd.get(), bytes.data(), bytes.size()); });
    if (written < 0) return ErrnoStatus(errno, "can't write", path);
    bytes.remove_prefix(written);
  }
  return absl::OkStatus();
}

}  // namespace

void ScopedFd::Reset() {
  if (fd_ >= 0) close(fd_);
  fd_ = -1;
}

absl::Status ErrnoStatus(int error, std::string_view what,
                         const std::filesystem::path& path) {
  const std::string text = absl::StrCat(std::string(what), " ", path.string());
  // The system knows several kinds of "full" and of "not allowed".
  const std::string all =
      absl::StrCat(text, ": ", std::generic_category().message(error));
  if (error == ENOSPC || error == EDQUOT || error == EFBIG)
    return absl::ResourceExhaustedError(all);
  if (error == EROFS) return absl::PermissionDeniedError(all);
  return absl::ErrnoToStatus(error, text);
}

absl::StatusOr<ScopedFd> OpenDirectory(const std::filesystem::path& path) {
  ScopedFd fd(Retry([&] {
    return open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  }));
  if (!fd.valid()) return ErrnoStatus(errno, "can't open", path);
  return fd;
}

absl::Status CheckPrivate(const ScopedFd& fd,
                          const std::filesystem::path& path) {
  struct stat info;
  if (fstat(fd.get(), &info) != 0)
    return ErrnoStatus(errno, "can't look at", path);
  if (info.st_uid != geteuid() && info.st_uid != 0)
    return absl::PermissionDeniedError(absl::StrCat(
        path.string(), " belongs to the user ", info.st_uid,
        ", and code from it would be run as user ", geteuid(),
        ". Use a folder of your own, or, if you trust what is in it, take it "
        "over with chown -R ",
        geteuid(), "."));
  if ((info.st_mode & (S_IWGRP | S_IWOTH)) != 0)
    return absl::PermissionDeniedError(absl::StrCat(
        path.string(), " can be written to by ",
        (info.st_mode & S_IWOTH) != 0 ? "everybody" : "its group",
        ", and code from it would be run. Use another folder, or take the "
        "right away with chmod -R go-w."));
  return absl::OkStatus();
}

absl::StatusOr<std::string> ReadFileAt(const ScopedFd& directory,
                                       const std::string& name,
                                       int64_t max_size) {
  AITUNE_ASSIGN_OR_RETURN(const auto file, OpenRegularFile(directory, name));
  const auto& [fd, size] = file;
  if (size > max_size)
    return absl::OutOfRangeError(
        absl::StrCat(name, " has ", size, " bytes, more than ", max_size));
  std::string bytes;
  try {
    bytes.resize(size);
  } catch (const std::bad_alloc&) {
    return absl::ResourceExhaustedError(
        absl::StrCat("no memory for the ", size, " bytes of ", name));
  }
  size_t done = 0;
  while (done < bytes.size()) {
    const ssize_t count = Retry([&, fd = fd.get()] {
      return read(fd, bytes.data() + done, bytes.size() - done);
    });
    if (count < 0) return ErrnoStatus(errno, "can't read", name);
    if (count == 0) break;  // It became shorter just now.
    done += count;
  }
  bytes.resize(done);
  return bytes;
}

absl::StatusOr<int64_t> FileSizeAt(const ScopedFd& directory,
                                   const std::string& name) {
  AITUNE_ASSIGN_OR_RETURN(const auto file, OpenRegularFile(directory, name));
  return file.second;
}

absl::Status WriteFile(const std::filesystem::path& path,
                       std::string_view bytes) {
  ScopedFd fd(Retry([&] {
    return open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  }));
  if (!fd.valid()) return ErrnoStatus(errno, "can't make", path);
  AITUNE_RETURN_IF_ERROR(WriteAll(fd, bytes, path));
  // On some file systems a full disk is only noticed here.
  if (close(fd.Release()) != 0) return ErrnoStatus(errno, "can't write", path);
  return absl::OkStatus();
}

absl::Status MakeDirectories(const std::filesystem::path& path) {
  if (mkdir(path.c_str(), 0700) == 0) return absl::OkStatus();
  int error = errno;
  if (error == ENOENT && path.has_parent_path() && path.parent_path() != path) {
    AITUNE_RETURN_IF_ERROR(MakeDirectories(path.parent_path()));
    if (mkdir(path.c_str(), 0700) == 0) return absl::OkStatus();
    error = errno;
  }
  struct stat info;
  // A read-only file system says EROFS for a directory that is there.
  if (stat(path.c_str(), &info) == 0) {
    if (S_ISDIR(info.st_mode)) return absl::OkStatus();
    error = ENOTDIR;
  }
  return ErrnoStatus(error, "can't make the folder", path);
}

std::vector<std::string> ListDirectory(const std::filesystem::path& path) {
  std::vector<std::string> names;
  struct Closer {
    void operator()(DIR* directory) const { closedir(directory); }
  };
  const std::unique_ptr<DIR, Closer> directory(opendir(path.c_str()));
  if (directory == nullptr) return names;
  while (const dirent* entry = readdir(directory.get())) {
    const std::string_view name = entry->d_name;
    if (name != "." && name != "..") names.emplace_back(name);
  }
  return names;
}

absl::Status RemoveTree(const std::filesystem::path& path) {
  std::error_code error;
  std::filesystem::remove_all(path, error);
  if (!error) return absl::OkStatus();
  return ErrnoStatus(error.value(), "can't remove", path);
}

}  // namespace aitune
