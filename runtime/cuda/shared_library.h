// Libraries of CUDA, found at run time: the same program starts on a machine
// that has none of them.
#ifndef AITUNE_RUNTIME_CUDA_SHARED_LIBRARY_H_
#define AITUNE_RUNTIME_CUDA_SHARED_LIBRARY_H_

#include <functional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace aitune::cuda {

// The address of a function, null when the library lacks it. Tests give one of
// their own in the place of a library.
using SymbolLookup = std::function<void*(const char* name)>;

// Opens the first of `names` that there is, for the life of the process.
// kNotFound names all of them, the loader's reason and `advice`.
absl::StatusOr<SymbolLookup> OpenLibrary(const std::vector<std::string>& names,
                                         const std::string& advice);

}  // namespace aitune::cuda

#endif  // AITUNE_RUNTIME_CUDA_SHARED_LIBRARY_H_
