// Loads libraries of operators that LibTorch itself does not have
// (torch.ops.load_library). A model that calls torchvision::nms can be loaded
// after the library that registers it. LibTorch runs such operators;
// SubstituteInGraph can define a replacement that the compiler understands. A
// library runs code as soon as it is loaded: load those that you trust.
#ifndef AITUNE_FRONTEND_TORCHSCRIPT_OPERATOR_LIBRARY_H_
#define AITUNE_FRONTEND_TORCHSCRIPT_OPERATOR_LIBRARY_H_

#include <string>

#include "absl/status/status.h"

namespace aitune::frontend {

// Loads the shared library in the file `path` for the rest of the process.
// Libraries that are loaded later can use its symbols: a library that was built
// for Python needs Python's own library before it. kNotFound when the file does
// not exist; kInvalidArgument, with the loader's text, when it can't be loaded.
// Thread-safe.
absl::Status LoadOperatorLibrary(const std::string& path);

}  // namespace aitune::frontend

#endif  // AITUNE_FRONTEND_TORCHSCRIPT_OPERATOR_LIBRARY_H_
