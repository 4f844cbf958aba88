#include "frontend/check/reference_models.h"

namespace aitune::frontend {

absl::StatusOr<const Model*> ReferenceModels::Get(DataType dtype) {
  auto found = models_.find(dtype);
  if (found == models_.end()) {
    LoadOptions load;
    load.dtype = dtype;
    load.widen_casts = true;
    load.device = device_;
    found = models_.emplace(dtype, make_(load)).first;
  }
  if (!found->second.ok()) return found->second.status();
  return &*found->second;
}

}  // namespace aitune::frontend
