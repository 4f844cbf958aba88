// The dtype of autocast as the configurations of backends have it.
#ifndef AITUNE_FRONTEND_BACKENDS_AUTOCAST_DTYPE_H_
#define AITUNE_FRONTEND_BACKENDS_AUTOCAST_DTYPE_H_

#include <optional>

#include "absl/status/status.h"
#include "runtime/tensor/data_type.h"

namespace aitune::frontend {

// kInvalidArgument unless `dtype` is nothing, float16 or bfloat16: what
// autocast computes in.
absl::Status ValidateAutocastDtype(const std::optional<DataType>& dtype);

}  // namespace aitune::frontend

#endif  // AITUNE_FRONTEND_BACKENDS_AUTOCAST_DTYPE_H_
