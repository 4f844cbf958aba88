#include "runtime/status/regular_file.h"

#include <filesystem>
#include <system_error>

#include "absl/strings/str_cat.h"

namespace aitune {

absl::Status CheckRegularFile(const std::string& path) {
  std::error_code error;
  const std::filesystem::file_status found =
      std::filesystem::status(path, error);
  if (std::filesystem::is_regular_file(found)) return absl::OkStatus();
  if (found.type() == std::filesystem::file_type::not_found)
    return absl::NotFoundError(absl::StrCat(path, ": no such file"));
  if (error)
    return absl::InvalidArgumentError(
        absl::StrCat(path, ": cannot be read: ", error.message()));
  if (std::filesystem::is_directory(found))
    return absl::InvalidArgumentError(
        absl::StrCat(path, ": is a directory, not a file"));
  return absl::InvalidArgumentError(absl::StrCat(
      path, ": is a pipe, a socket or a device, not a regular file"));
}

}  // namespace aitune
