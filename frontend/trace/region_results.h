// How the results of a fallback region come to the plan that it is of: checked,
// in the plan's memory, or as values that refer to none of it.
// Internal: includes LibTorch.
#ifndef AITUNE_FRONTEND_TRACE_REGION_RESULTS_H_
#define AITUNE_FRONTEND_TRACE_REGION_RESULTS_H_

#include <ATen/core/TensorBody.h>
#include <ATen/core/ivalue.h>

#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "runtime/device/device.h"
#include "runtime/tensor/data_type.h"
#include "runtime/tensor/tensor_view.h"

namespace aitune::frontend {

// kInternal if `value` is no tensor on `device`, or of another dtype or other
// sizes. Thread-safe, as all of these; they may throw LibTorch's exceptions.
absl::Status CheckTensor(const c10::IValue& value, DataType dtype,
                         const std::vector<int64_t>& sizes,
                         const Device& device);

// Copies the elements of `tensor`, for which CheckTensor is OK, to `view`,
// unless they are there.
void CopyTo(const TensorView& view, const at::Tensor& tensor,
            const Device& device);

// `value` with copies of the tensors that share memory with one of `borrowed`;
// objects among the leaves that are no modules get such copies in place.
c10::IValue Detached(const c10::IValue& value,
                     const std::vector<at::Tensor>& borrowed);

}  // namespace aitune::frontend

#endif  // AITUNE_FRONTEND_TRACE_REGION_RESULTS_H_
