#include "frontend/torchscript/operator_library.h"

#include <dlfcn.h>

#include <filesystem>
#include <optional>

#include "absl/strings/str_cat.h"
#include "frontend/values/torch_util.h"
#include "runtime/status/regular_file.h"

namespace aitune::frontend {

absl::Status LoadOperatorLibrary(const std::string& path) {
  if (const absl::Status status = CheckRegularFile(path); !status.ok())
    return absl::Status(status.code(),
                        absl::StrCat("library ", status.message()));
  // A path without a slash would be looked for among the system's libraries.
  std::error_code error;
  const std::filesystem::path absolute =
      std::filesystem::canonical(path, error);
  if (error)
    return absl::NotFoundError(
        absl::StrCat("library ", path, ": ", error.message()));
  // What registers operators throws when they are there already.
  return CatchExceptions(
      absl::StatusCode::kInvalidArgument, absl::StrCat("library ", path), [&] {
        if (dlopen(absolute.c_str(), RTLD_NOW | RTLD_GLOBAL) != nullptr)
          return absl::OkStatus();
        return absl::InvalidArgumentError(
            absl::StrCat("library ", path,
                         ": it cannot be loaded: ", std::string(dlerror())));
      });
}

}  // namespace aitune::frontend
