// What the interfaces for C++ and C share about results in memory of the
// caller's.
#ifndef AITUNE_FRONTEND_API_MODULE_CALLS_H_
#define AITUNE_FRONTEND_API_MODULE_CALLS_H_

#include "absl/status/status.h"
#include "frontend/values/value_list.h"

namespace ait {

// Copies the tensors of `result`, in depth-first order of its nesting, to
// `outputs`, which are tensors. kInvalidArgument for another number of them, or
// other dtypes or sizes; nothing is written then. May throw LibTorch's
// exceptions.
absl::Status CopyResult(const c10::IValue& result,
                        const aitune::frontend::ValueList& outputs);

}  // namespace ait

#endif  // AITUNE_FRONTEND_API_MODULE_CALLS_H_
