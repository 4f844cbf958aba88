// Makes a model whose matrix products and convolutions compute in a narrower
// dtype, as under torch.autocast.
#ifndef AITUNE_FRONTEND_TORCHSCRIPT_AUTOCAST_H_
#define AITUNE_FRONTEND_TORCHSCRIPT_AUTOCAST_H_

#include "absl/status/statusor.h"
#include "frontend/torchscript/model.h"
#include "runtime/tensor/data_type.h"

namespace aitune::frontend {

// A copy of `model` whose program contains the casts that autocast would make.
// LibTorch's own rules decide which operators take which dtype. The copy shares
// the weights of `model`, which stays as it is. Outputs may have the narrower
// dtype.
// kInvalidArgument unless `dtype` is float16 or bfloat16; kUnimplemented with
// LibTorch's text when the program can't be changed.
absl::StatusOr<Model> WithAutocast(const Model& model, DataType dtype);

}  // namespace aitune::frontend

#endif  // AITUNE_FRONTEND_TORCHSCRIPT_AUTOCAST_H_
