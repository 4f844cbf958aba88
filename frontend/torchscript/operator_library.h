// Operators that LibTorch does not have itself (torch.ops.load_library): a
// model that calls torchvision::nms loads once the library that registers it is
// in the process. LibTorch runs them; SubstituteInGraph can give what the
// compiler takes in their place.
#ifndef AITUNE_FRONTEND_TORCHSCRIPT_OPERATOR_LIBRARY_H_
#define AITUNE_FRONTEND_TORCHSCRIPT_OPERATOR_LIBRARY_H_

#include <string>

#include "absl/status/status.h"

namespace aitune::frontend {

// Loads the shared library in the file `path` for the rest of the process. Its
// symbols are there for libraries that are loaded after it: Python's own, say,
// before one that was built for Python. kNotFound without the file,
// kInvalidArgument with the loader's text for one that can't be loaded.
// Thread-safe.
absl::Status LoadOperatorLibrary(const std::string& path);

}  // namespace aitune::frontend

#endif  // AITUNE_FRONTEND_TORCHSCRIPT_OPERATOR_LIBRARY_H_
