#include "frontend/torchscript/model_bytes.h"

#include <torch/csrc/jit/serialization/import.h>

#include <optional>
#include <sstream>
#include <utility>

#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "frontend/torchscript/model_internal.h"
#include "frontend/torchscript/torch_util.h"

namespace aitune::frontend {
namespace {

// The submodules that are disabled, one a line.
constexpr char kDisabledFile[] = "aitune_disabled";

}  // namespace

absl::StatusOr<std::string> ModelBytes(const Model& model) {
  std::ostringstream stream;
  const absl::Status status = CatchExceptions(
      absl::StatusCode::kUnimplemented, "saving the model", [&] {
        model.impl().module.save(
            stream,
            {{kDisabledFile, absl::StrJoin(model.impl().disabled, "\n")}});
        return absl::OkStatus();
      });
  if (!status.ok()) return status;
  return std::move(stream).str();
}

absl::StatusOr<Model> ModelFromBytes(const std::string& bytes) {
  std::optional<torch::jit::Module> module;
  torch::jit::ExtraFilesMap files = {{kDisabledFile, ""}};
  const absl::Status status = CatchExceptions(
      absl::StatusCode::kInvalidArgument, "loading the model", [&] {
        std::istringstream stream(bytes);
        module = torch::jit::load(stream, at::kCPU, files);
        return absl::OkStatus();
      });
  if (!status.ok()) return status;
  absl::StatusOr<Model> model = Model::FromModule(*std::move(module));
  for (const auto& name :
       absl::StrSplit(files[kDisabledFile], '\n', absl::SkipEmpty())) {
    if (!model.ok()) break;
    if (absl::Status status = model->Disable(std::string(name)); !status.ok())
      return status;
  }
  return model;
}

}  // namespace aitune::frontend
