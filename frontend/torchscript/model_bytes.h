// A model as the bytes that torch.jit.save writes, and back.
#ifndef AITUNE_FRONTEND_TORCHSCRIPT_MODEL_BYTES_H_
#define AITUNE_FRONTEND_TORCHSCRIPT_MODEL_BYTES_H_

#include <string>

#include "absl/status/statusor.h"
#include "frontend/torchscript/model.h"

namespace aitune::frontend {

// The bytes of the model. kUnimplemented, with LibTorch's text, when it can't
// be saved because it holds objects without a stored form.
absl::StatusOr<std::string> ModelBytes(const Model& model);

// The model with these bytes. Errors as Model::Load.
absl::StatusOr<Model> ModelFromBytes(const std::string& bytes,
                                     const LoadOptions& options = {});

// The same, with less memory: the system gets back that of `bytes` as tensors
// are read from it, and `bytes` is empty afterwards. kAborted for bytes of
// which a part has to be read twice, as ModelFromBytes does.
absl::StatusOr<Model> ModelFromOwnBytes(std::string bytes,
                                        const LoadOptions& options = {});

}  // namespace aitune::frontend

#endif  // AITUNE_FRONTEND_TORCHSCRIPT_MODEL_BYTES_H_
