#include "runtime/bundle/bundle_file.h"

#include <fcntl.h>

#include <cerrno>
#include <cstring>
#include <string>

#include "absl/strings/str_cat.h"

namespace aitune {

namespace fs = std::filesystem;

absl::Status SystemError(const fs::path& path, const char* what, int error) {
  const std::string text =
      absl::StrCat(path.string(), ": ", what, ": ", std::strerror(error));
  switch (error) {
    case ENOENT:
      return absl::NotFoundError(text);
    case EACCES:
    case EPERM:
    case EROFS:
      return absl::PermissionDeniedError(text);
    case ENOSPC:
    case EDQUOT:
      return absl::ResourceExhaustedError(text);
    case ELOOP:
      return absl::InvalidArgumentError(absl::StrCat(
          path.string(), ": is a link, which a bundle can't have"));
    default:
      return absl::UnknownError(text);
  }
}

absl::Status WriteParts(const File& file, const fs::path& path,
                        absl::Span<const std::string_view> parts) {
  if (file.descriptor() < 0) return SystemError(path, "can't be made", errno);
  for (std::string_view part : parts) {
    while (!part.empty()) {
      const ssize_t written =
          write(file.descriptor(), part.data(), part.size());
      if (written < 0 && errno == EINTR) continue;
      if (written < 0) return SystemError(path, "can't be written", errno);
      part.remove_prefix(written);
    }
  }
  if (fsync(file.descriptor()) != 0)
    return SystemError(path, "can't be written", errno);
  return absl::OkStatus();
}

absl::Status SyncFolder(const fs::path& folder) {
  const File file(open(folder.empty() ? "." : folder.c_str(),
                       O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (file.descriptor() < 0)
    return SystemError(folder, "can't be opened", errno);
  // Some file systems have nothing to do here, and say so.
  if (fsync(file.descriptor()) != 0 && errno != EINVAL && errno != EROFS)
    return SystemError(folder, "can't be written", errno);
  return absl::OkStatus();
}

}  // namespace aitune
