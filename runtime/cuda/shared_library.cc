#include "runtime/cuda/shared_library.h"

#include <dlfcn.h>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace aitune::cuda {

absl::StatusOr<SymbolLookup> OpenLibrary(const std::vector<std::string>& names,
                                         const std::string& advice) {
  std::string reason;
  for (const std::string& name : names) {
    if (void* library = dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL)) {
      return SymbolLookup(
          [library](const char* symbol) { return dlsym(library, symbol); });
    }
    if (const char* error = dlerror(); error != nullptr && reason.empty())
      reason = error;
  }
  return absl::NotFoundError(absl::StrCat(absl::StrJoin(names, " or "),
                                          " cannot be loaded (", reason, "). ",
                                          advice));
}

}  // namespace aitune::cuda
