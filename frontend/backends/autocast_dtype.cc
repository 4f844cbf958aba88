#include "frontend/backends/autocast_dtype.h"

#include "absl/strings/str_cat.h"
#include "runtime/backend/config_value.h"

namespace aitune::frontend {

absl::Status ValidateAutocastDtype(const std::optional<DataType>& dtype) {
  if (!dtype.has_value() || *dtype == DataType::kFloat16 ||
      *dtype == DataType::kBFloat16)
    return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("autocast can't compute in ", ToPythonStr(*dtype),
                   ". Set autocast_dtype to torch.float16, torch.bfloat16 or "
                   "None (the default of the device)."));
}

}  // namespace aitune::frontend
