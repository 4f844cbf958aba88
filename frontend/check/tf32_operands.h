// A model whose convolutions, and products if they may too, get operands
// rounded to tf32, as they are multiplied where a GPU may do so.
//
// LibTorch's libraries decide by themselves whether they make use of what is
// allowed, by sizes that are not documented. Ours may where they do not. What
// tf32 makes of a model's result is then known from a run with such operands,
// not from eager's.
#ifndef AITUNE_FRONTEND_CHECK_TF32_OPERANDS_H_
#define AITUNE_FRONTEND_CHECK_TF32_OPERANDS_H_

#include "absl/status/statusor.h"
#include "frontend/torchscript/model.h"

namespace aitune::frontend {

// A copy of `model`, on its device, with its tensors. kNotFound if it has no
// such operators; LibTorch's errors as kInternal. Operands of other dtypes than
// float32 stay as they are.
absl::StatusOr<Model> WithTf32Operands(const Model& model, bool convolutions,
                                       bool products);

}  // namespace aitune::frontend

#endif  // AITUNE_FRONTEND_CHECK_TF32_OPERANDS_H_
