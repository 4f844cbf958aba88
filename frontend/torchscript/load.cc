// Model's constructors: from files, modules and source text. Errors say what
// kind of file it is, instead of which record of an archive is missing.
#include <torch/csrc/jit/serialization/import.h>
#include <unistd.h>

#include <array>
#include <fstream>
#include <string>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "frontend/torchscript/class_contexts.h"
#include "frontend/torchscript/code_check.h"
#include "frontend/torchscript/conversion.h"
#include "frontend/torchscript/forward_hooks.h"
#include "frontend/torchscript/gradients.h"
#include "frontend/torchscript/model_internal.h"
#include "frontend/torchscript/module_objects.h"
#include "frontend/torchscript/neutral_contexts.h"
#include "frontend/torchscript/record_check.h"
#include "frontend/torchscript/recorded_inputs.h"
#include "frontend/values/torch_util.h"
#include "runtime/status/regular_file.h"
#include "runtime/status/status_macros.h"

namespace aitune::frontend {
namespace {

// An error for a file that cannot be an archive; OK otherwise.
absl::Status CheckFile(const std::string& path) {
  AITUNE_RETURN_IF_ERROR(CheckRegularFile(path));
  std::ifstream file(path, std::ios::binary);
  if (!file && access(path.c_str(), R_OK) == 0)
    return absl::ResourceExhaustedError(absl::StrCat(
        path, ": cannot be opened: there is no memory or file descriptor"));
  if (!file) return absl::NotFoundError(absl::StrCat(path, ": cannot be read"));
  std::array<char, 4> magic = {};
  file.read(magic.data(), magic.size());
  if (file.gcount() == 0)
    return absl::InvalidArgumentError(absl::StrCat(path, ": is empty"));
  if (std::string(magic.data(), 2) != "PK") {
    return absl::InvalidArgumentError(
        absl::StrCat(path,
                     ": is not a TorchScript file (no zip archive); save the "
                     "model with torch.jit.save"));
  }
  return absl::OkStatus();
}

// LibTorch's text about an archive in the user's terms.
absl::Status ExplainLoadError(const std::string& path,
                              const absl::Status& status) {
  const std::string text(status.message());
  if (absl::IsResourceExhausted(status))
    return absl::ResourceExhaustedError(absl::StrCat(path, ": ", text));
  if (absl::StrContains(text, "central directory") ||
      absl::StrContains(text, "invalid header") ||
      absl::StrContains(text, "decompress") ||
      absl::StrContains(text, "file read failed") ||
      absl::StrContains(text, "reading file") ||
      absl::StrContains(text, "archive is corrupted")) {
    return absl::InvalidArgumentError(
        absl::StrCat(path, ": is truncated or damaged (", text, ")"));
  }
  if (absl::StrContains(text, "constants.pkl")) {
    return absl::InvalidArgumentError(
        absl::StrCat(path,
                     ": holds data but no TorchScript code (written by "
                     "torch.save?); save the model with torch.jit.save"));
  }
  if (absl::StrContains(text, "Unknown builtin op")) {
    return absl::InvalidArgumentError(absl::StrCat(
        path,
        ": calls an operator that LibTorch does not have; give the "
        "shared library that registers it with --library, or to "
        "LoadOperatorLibrary (",
        text, ")"));
  }
  return absl::InvalidArgumentError(
      absl::StrCat(path, ": LibTorch cannot load it: ", text));
}

}  // namespace

absl::StatusOr<Model> Model::FromModule(torch::jit::Module module,
                                        const LoadOptions& options) {
  auto impl = std::make_unique<Impl>(std::move(module));
  const absl::Status status =
      CatchExceptions(absl::StatusCode::kInvalidArgument, "", [&] {
        if (!impl->bare_module.find_method("forward")) {
          return absl::InvalidArgumentError(
              "the module has no forward method; only modules that can be "
              "called compile");
        }
        torch::jit::Module merged = WithHooksInForward(impl->bare_module);
        if (merged._ivalue() != impl->bare_module._ivalue())
          impl->hooked = std::exchange(impl->bare_module, std::move(merged));
        SetEvaluating(*impl->bare_module._ivalue());
        if (options.dtype) {
          if (!IsFloatingPoint(*options.dtype)) {
            return absl::InvalidArgumentError(
                absl::StrCat("weights cannot be converted to ",
                             std::string(Name(*options.dtype)),
                             ": not a floating point type"));
          }
          ConvertWeights(impl->bare_module, ToScalarType(*options.dtype));
          if (options.widen_casts)
            WidenCasts(impl->bare_module, ToScalarType(*options.dtype));
        }
        // Otherwise it stays: its tensors may be another model's as well.
        if (options.device.is_gpu())
          MoveTo(impl->bare_module, DeviceOf(options.device));
        MarkNumbers(impl->bare_module);
        if (!TakesGradients(impl->bare_module))
          RemoveNeutralContexts(impl->bare_module);
        CallContextMethods(impl->bare_module);
        const c10::FunctionSchema& schema = impl->ForwardSchema();
        for (size_t i = 1; i < schema.arguments().size(); ++i) {
          const c10::Argument& argument = schema.arguments()[i];
          impl->parameters.push_back({argument.name(),
                                      argument.type()->annotation_str(),
                                      argument.default_value().has_value()});
        }
        return absl::OkStatus();
      });
  if (!status.ok()) return status;
  return Model(std::move(impl));
}

absl::StatusOr<Model> Model::WithProgram(torch::jit::Module module) const {
  AITUNE_ASSIGN_OR_RETURN(Model model, FromModule(std::move(module)));
  model.impl_->beside = impl_->beside;
  model.impl_->coded = impl_->coded;
  return model;
}

absl::StatusOr<Model> Model::Load(const std::string& path,
                                  const LoadOptions& options) {
  AITUNE_RETURN_IF_ERROR(CheckFile(path));
  const RecordCheck records = CheckRecords(path);
  if (!records.content.ok())
    return absl::Status(records.content.code(),
                        absl::StrCat(path, ": ", records.content.message()));
  std::optional<torch::jit::Module> module;
  const absl::Status status =
      CatchExceptions(absl::StatusCode::kInvalidArgument, "", [&] {
        module = torch::jit::load(path, c10::Device(c10::kCPU),
                                  records.debug_files_are_sound);
        MoveTo(*module, c10::kCPU);
        return absl::OkStatus();
      });
  if (!status.ok()) return ExplainLoadError(path, status);
  absl::StatusOr<Model> model = FromModule(*std::move(module), options);
  if (!model.ok())
    return absl::Status(model.status().code(),
                        absl::StrCat(path, ": ", model.status().message()));
  model->impl_->recorded = ReadRecordedInputs(path);
  return model;
}

absl::StatusOr<Model> Model::FromSource(const std::string& source) {
  AITUNE_RETURN_IF_ERROR(CheckCode("TorchScript source", source));
  std::optional<torch::jit::Module> module;
  const absl::Status status = CatchExceptions(
      absl::StatusCode::kInvalidArgument, "TorchScript source", [&] {
        module.emplace("__torch__.Source");
        module->define(source + "\n");
        return absl::OkStatus();
      });
  if (!status.ok()) return status;
  return FromModule(*std::move(module));
}

}  // namespace aitune::frontend
