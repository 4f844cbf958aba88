// A module's weights, replaced in C.
#include <ATen/core/Tensor.h>

#include <map>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "frontend/api/c_handles.h"
#include "frontend/values/torch_util.h"
#include "runtime/status/status_macros.h"
#include "runtime/tensor/tensor_view.h"

ait_error* ait_module_replace_weights(ait_module* module,
                                      const char* const* names,
                                      const ait_tensor* tensors, size_t count) {
  return ait::Guarded([&]() -> absl::Status {
    AITUNE_RETURN_IF_ERROR(ait::Need(module, "module"));
    if (count > 0) AITUNE_RETURN_IF_ERROR(ait::Need(names, "names"));
    AITUNE_ASSIGN_OR_RETURN(std::vector<at::Tensor> given,
                            ait::TensorsOf(*module, tensors, count, "weight"));
    std::map<std::string, aitune::TensorView> weights;
    for (size_t i = 0; i < count; ++i) {
      AITUNE_RETURN_IF_ERROR(ait::Need(names[i], "a name"));
      given[i] = given[i].cpu();
      if (!weights.emplace(names[i], aitune::frontend::ViewOf(given[i])).second)
        return absl::InvalidArgumentError(
            absl::StrCat("the weight '", names[i], "' was given twice"));
    }
    return module->module->ReplaceWeights(weights);
  });
}
