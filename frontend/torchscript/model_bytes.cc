#include "frontend/torchscript/model_bytes.h"

#include <torch/csrc/jit/serialization/import.h>

#include <nlohmann/json.hpp>
#include <optional>
#include <sstream>
#include <utility>

#include "frontend/torchscript/conversion.h"
#include "frontend/torchscript/model_internal.h"
#include "frontend/values/torch_util.h"
#include "runtime/status/status_macros.h"

namespace aitune::frontend {
namespace {

// JSON: {"disabled": [path, ...], "substitutes": {path: source, ...}}.
constexpr char kChangesFile[] = "aitune_submodules";

}  // namespace

absl::StatusOr<std::string> ModelBytes(const Model& model) {
  std::ostringstream stream;
  const absl::Status status = CatchExceptions(
      absl::StatusCode::kUnimplemented, "saving the model", [&] {
        const SubmoduleChanges& changes = model.impl().changes;
        const nlohmann::json json = {{"disabled", changes.disabled},
                                     {"substitutes", changes.substitutes}};
        model.impl().module.save(stream, {{kChangesFile, json.dump()}});
        return absl::OkStatus();
      });
  if (!status.ok()) return status;
  return std::move(stream).str();
}

absl::StatusOr<Model> ModelFromBytes(const std::string& bytes,
                                     const LoadOptions& options) {
  std::optional<torch::jit::Module> module;
  torch::jit::ExtraFilesMap files = {{kChangesFile, ""}};
  SubmoduleChanges changes;
  const absl::Status status = CatchExceptions(
      absl::StatusCode::kInvalidArgument, "loading the model", [&] {
        std::istringstream stream(bytes);
        module = torch::jit::load(stream, at::kCPU, files);
        MoveTo(*module, at::kCPU);
        if (files[kChangesFile].empty()) return absl::OkStatus();
        const auto json = nlohmann::json::parse(files[kChangesFile]);
        json.at("disabled").get_to(changes.disabled);
        json.at("substitutes").get_to(changes.substitutes);
        return absl::OkStatus();
      });
  if (!status.ok()) return status;
  AITUNE_ASSIGN_OR_RETURN(Model model,
                          Model::FromModule(*std::move(module), options));
  for (const std::string& name : changes.disabled)
    AITUNE_RETURN_IF_ERROR(model.Disable(name));
  for (const auto& [name, source] : changes.substitutes)
    AITUNE_RETURN_IF_ERROR(model.Substitute(name, source));
  return model;
}

}  // namespace aitune::frontend
