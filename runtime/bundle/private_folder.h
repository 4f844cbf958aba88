// A folder for files that only this process and its user may see, such as
// compiled code on its way into a checkpoint.
#ifndef AITUNE_RUNTIME_BUNDLE_PRIVATE_FOLDER_H_
#define AITUNE_RUNTIME_BUNDLE_PRIVATE_FOLDER_H_

#include <filesystem>
#include <memory>
#include <utility>

#include "absl/status/statusor.h"

namespace aitune {

// Removed, with all that is in it, when the object is deleted, or when the
// process that made it ends by exit() or by returning from main: programs often
// end without freeing what they loaded. A child of fork() never removes the
// folders of its parent. Thread-safe.
class PrivateFolder {
 public:
  // Makes a new folder in the system's temporary one (TMPDIR), with a name that
  // nobody can guess or take before, and mode 0700. The system's error, with
  // the path, if that fails.
  static absl::StatusOr<std::unique_ptr<PrivateFolder>> Make();
  ~PrivateFolder();
  PrivateFolder(const PrivateFolder&) = delete;
  PrivateFolder& operator=(const PrivateFolder&) = delete;

  const std::filesystem::path& path() const { return path_; }

 private:
  explicit PrivateFolder(std::filesystem::path path);
  const std::filesystem::path path_;
};

}  // namespace aitune

#endif  // AITUNE_RUNTIME_BUNDLE_PRIVATE_FOLDER_H_
