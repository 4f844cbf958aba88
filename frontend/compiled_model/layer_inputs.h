// The inputs of a model's linear layers in a real call, from which the error of
// quantising each is measured.
// Internal: includes LibTorch.
#ifndef AITUNE_FRONTEND_COMPILED_MODEL_LAYER_INPUTS_H_
#define AITUNE_FRONTEND_COMPILED_MODEL_LAYER_INPUTS_H_

#include <cstdint>
#include <map>

#include "absl/status/statusor.h"
#include "frontend/trace/trace.h"
#include "frontend/values/value_list.h"
#include "runtime/tensor/tensor_view.h"

namespace aitune::frontend {

// Calls the trace in LibTorch with `arguments`, on the CPU, and returns, by the
// number of the weight's constant in the trace, rows that products with
// constant weights multiply: float32 [rows, K], at most 128 of a layer, from
// each of its uses as many, in equal distances (one from each of more than 128
// uses). Layers whose inputs would take more than 4 GiB together are left
// out. Errors: arguments that do not fit the trace, LibTorch's own.
absl::StatusOr<std::map<int64_t, ConstantTensor>> RecordLayerInputs(
    const Trace& trace, const ValueList& arguments);

}  // namespace aitune::frontend

#endif  // AITUNE_FRONTEND_COMPILED_MODEL_LAYER_INPUTS_H_
