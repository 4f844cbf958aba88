// Finds CUDA's libraries at run time, so that the same program starts on a
// machine that has none of them.
#ifndef AITUNE_RUNTIME_CUDA_SHARED_LIBRARY_H_
#define AITUNE_RUNTIME_CUDA_SHARED_LIBRARY_H_

#include <functional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace aitune::cuda {

// Returns the address of a library's function; null when the library lacks it.
// Tests pass a function of their own instead of a library.
using SymbolLookup = std::function<void*(const char* name)>;

// Opens the first library of `names` that exists, for the life of the process.
// kNotFound when none does: the text has the names, the loader's reason and
// `advice`. Thread-safe.
absl::StatusOr<SymbolLookup> OpenLibrary(const std::vector<std::string>& names,
                                         const std::string& advice);

}  // namespace aitune::cuda

#endif  // AITUNE_RUNTIME_CUDA_SHARED_LIBRARY_H_
