// Checks the field `autocast_dtype` of the backends' configurations.
#ifndef AITUNE_FRONTEND_BACKENDS_AUTOCAST_DTYPE_H_
#define AITUNE_FRONTEND_BACKENDS_AUTOCAST_DTYPE_H_

#include <optional>

#include "absl/status/status.h"
#include "runtime/tensor/data_type.h"

namespace aitune::frontend {

// kInvalidArgument unless `dtype` is not set, float16 or bfloat16, which are
// the dtypes that autocast can compute in.
absl::Status ValidateAutocastDtype(const std::optional<DataType>& dtype);

}  // namespace aitune::frontend

#endif  // AITUNE_FRONTEND_BACKENDS_AUTOCAST_DTYPE_H_
