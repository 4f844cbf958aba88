// Operators whose results have sizes that elements of their arguments decide.
// Internal: includes LibTorch.
#ifndef AITUNE_FRONTEND_TORCHSCRIPT_SIZES_OF_DATA_H_
#define AITUNE_FRONTEND_TORCHSCRIPT_SIZES_OF_DATA_H_

#include <ATen/core/function_schema.h>

namespace aitune::frontend {

// Whether it is one of these whatever its arguments are, as nonzero is, or
// LibTorch's tag says that it may be one, as indexing by a mask is. Not told:
// where with one argument. Thread-safe.
bool HasSizesOfData(const c10::FunctionSchema& schema);

}  // namespace aitune::frontend

#endif  // AITUNE_FRONTEND_TORCHSCRIPT_SIZES_OF_DATA_H_
