// Names for a model's tensors and a hash of the whole model that are the same
// in all processes that loaded it. A stored compiled model refers to weights by
// their names instead of storing them again; the hash is part of cache keys.
#ifndef AITUNE_FRONTEND_TORCHSCRIPT_MODEL_TENSORS_H_
#define AITUNE_FRONTEND_TORCHSCRIPT_MODEL_TENSORS_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "frontend/torchscript/model.h"
#include "runtime/tensor/tensor_view.h"

namespace aitune::frontend {

// The model's attributes that are tensors, with the names that state_dict
// gives them, and those that Model::KeepBeside keeps. They refer to the model's
// own memory. The view and the owner of a tensor that compiled code can't refer
// to (strided, sparse, of an unknown dtype) are null, as are those of a weight
// that is not made yet (Model::MakeWeights). Thread-safe.
std::vector<ConstantTensor> ModelTensors(const Model& model);

// SHA-256, in hex, of the model: forward's inlined graph without source
// locations, attributes that are no tensors, and every byte of every tensor
// with its dtype and sizes, but for the elements of those that compiled code
// shares with the model (ModelState::live). Equal for equal models, in any
// process, on any machine. kUnimplemented, with the reason, when a part of the
// model can't be read (calls that are bound at run time, objects of C++
// classes): the model then has no hash, and must not be looked up in a cache.
// Hashes on all of LibTorch's threads, about a second for 3 GB. Thread-safe.
absl::StatusOr<std::string> ModelSha256(const Model& model);

}  // namespace aitune::frontend

#endif  // AITUNE_FRONTEND_TORCHSCRIPT_MODEL_TENSORS_H_
