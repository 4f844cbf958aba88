#include "frontend/torchscript/model_bytes.h"

#include <torch/csrc/jit/serialization/import.h>

#include <optional>
#include <sstream>
#include <utility>

#include "frontend/torchscript/model_internal.h"
#include "frontend/torchscript/torch_util.h"

namespace aitune::frontend {

absl::StatusOr<std::string> ModelBytes(const Model& model) {
  std::ostringstream stream;
  const absl::Status status = CatchExceptions(
      absl::StatusCode::kUnimplemented, "saving the model", [&] {
        model.impl().module.save(stream);
        return absl::OkStatus();
      });
  if (!status.ok()) return status;
  return std::move(stream).str();
}

absl::StatusOr<Model> ModelFromBytes(const std::string& bytes) {
  std::optional<torch::jit::Module> module;
  const absl::Status status = CatchExceptions(
      absl::StatusCode::kInvalidArgument, "loading the model", [&] {
        std::istringstream stream(bytes);
        module = torch::jit::load(stream, at::kCPU);
        return absl::OkStatus();
      });
  if (!status.ok()) return status;
  return Model::FromModule(*std::move(module));
}

}  // namespace aitune::frontend
