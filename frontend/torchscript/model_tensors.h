// A model's program and tensors, named so that two processes that loaded the
// same model agree: what a stored compiled model refers to instead of keeping
// the weights a second time, and the part of a cache key that is the model.
#ifndef AITUNE_FRONTEND_TORCHSCRIPT_MODEL_TENSORS_H_
#define AITUNE_FRONTEND_TORCHSCRIPT_MODEL_TENSORS_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "frontend/torchscript/model.h"
#include "runtime/tensor/tensor_view.h"

namespace aitune::frontend {

// The model's attributes that are tensors, with the names that state_dict
// gives them. A tensor that compiled code can't refer to (strided, sparse, of
// an unknown dtype) has a null view and no owner. They are the model's own
// memory. Thread-safe.
std::vector<ConstantTensor> ModelTensors(const Model& model);

// SHA-256, in hex, of the model: forward's inlined graph without source
// locations, attributes that are no tensors, and every byte of every tensor
// with its dtype and sizes. Equal for equal models, in any process, on any
// machine. kUnimplemented, with the reason, when something of the model can't
// be seen (calls that are bound at run time, objects of C++ classes): it has no
// name then, and must not be looked up anywhere. Hashes on all of LibTorch's
// threads, about a second for 3 GB. Thread-safe.
absl::StatusOr<std::string> ModelSha256(const Model& model);

}  // namespace aitune::frontend

#endif  // AITUNE_FRONTEND_TORCHSCRIPT_MODEL_TENSORS_H_
