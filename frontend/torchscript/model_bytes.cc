#include "frontend/torchscript/model_bytes.h"

#include <torch/csrc/jit/serialization/export.h>
#include <torch/csrc/jit/serialization/import.h>

#include <new>
#include <nlohmann/json.hpp>
#include <optional>
#include <sstream>
#include <stdexcept>
#include <string>
#include <utility>

#include "frontend/json/json_writer.h"
#include "frontend/torchscript/conversion.h"
#include "frontend/torchscript/model_internal.h"
#include "frontend/values/torch_util.h"
#include "runtime/status/status_macros.h"

namespace aitune::frontend {
namespace {

// JSON: {"disabled": [path, ...], "substitutes": {path: source, ...}}.
constexpr char kChangesFile[] = "aitune_submodules";

std::string ChangesJson(const SubmoduleChanges& changes) {
  JsonWriter json;
  json.BeginObject();
  json.Key("disabled");
  json.BeginArray();
  for (const std::string& path : changes.disabled) json.Value(path);
  json.EndArray();
  json.Key("substitutes");
  json.BeginObject();
  for (const auto& [path, source] : changes.substitutes)
    json.Member(path, source);
  json.EndObject();
  json.EndObject();
  return json.Take();
}

// Throws nlohmann's exceptions. Nothing is kept in the tree, which would
// allocate when it goes.
SubmoduleChanges ParseChanges(const std::string& text) {
  using Event = nlohmann::json::parse_event_t;
  SubmoduleChanges changes;
  std::string list, path;
  const auto take = [&](int depth, Event event, nlohmann::json& parsed) {
    if (event == Event::key)
      (depth == 1 ? list : path) = parsed.get<std::string>();
    else if (event == Event::value && list == "disabled")
      changes.disabled.insert(parsed.get<std::string>());
    else if (event == Event::value && list == "substitutes")
      changes.substitutes[path] = parsed.get<std::string>();
    return event != Event::key && event != Event::value;
  };
  const auto rest = nlohmann::json::parse(text, take);
  if (!rest.is_object())
    throw std::invalid_argument("the changes of submodules are no object");
  return changes;
}

}  // namespace

absl::StatusOr<std::string> ModelBytes(const Model& model) {
  std::string bytes;
  // A writer that fails makes the destructor of LibTorch's archive throw, which
  // ends the process: this one fails once LibTorch is done.
  bool no_memory = false;
  const auto write = [&](const void* data, size_t size) {
    try {
      if (!no_memory) bytes.append(static_cast<const char*>(data), size);
    } catch (const std::bad_alloc&) {
      no_memory = true;
    }
    return size;
  };
  const absl::Status status = CatchExceptions(
      absl::StatusCode::kUnimplemented, "saving the model", [&] {
        torch::jit::ExportModule(
            model.impl().module(), write,
            {{kChangesFile, ChangesJson(model.impl().changes)}});
        if (no_memory) throw std::bad_alloc();
        return absl::OkStatus();
      });
  if (!status.ok()) return status;
  return bytes;
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
        if (!files[kChangesFile].empty())
          changes = ParseChanges(files[kChangesFile]);
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
