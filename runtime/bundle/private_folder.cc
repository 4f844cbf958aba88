#include "runtime/bundle/private_folder.h"

#include <cerrno>
#include <cstdlib>
#include <string>

#include "absl/strings/str_cat.h"

namespace aitune {

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

PrivateFolder::~PrivateFolder() {
  std::error_code error;
  std::filesystem::remove_all(path_, error);
}

}  // namespace aitune
