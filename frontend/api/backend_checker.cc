#include "frontend/api/backend_checker.h"

#include <ATen/core/ivalue.h>

#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "frontend/check/check.h"
#include "frontend/torchscript/autocast.h"
#include "frontend/torchscript/model_bytes.h"
#include "frontend/values/gpu.h"
#include "runtime/status/status_macros.h"

namespace ait {
namespace {

using aitune::DataType;
using aitune::frontend::CheckReport;
using aitune::frontend::Model;
using aitune::frontend::ValueList;

absl::Status StatusOf(const CheckReport& report) {
  if (report.agrees()) return absl::OkStatus();
  const aitune::frontend::CaseResult& result = report.cases.front();
  if (!result.both_raise.empty())
    return absl::FailedPreconditionError(
        absl::StrCat("eager raises for it: ", result.both_raise));
  if (!result.note.empty()) return absl::FailedPreconditionError(result.note);
  for (const aitune::frontend::Comparison& output : result.outputs) {
    if (!output.agrees)
      return absl::FailedPreconditionError(
          absl::StrCat("output", output.output, ": ", output.problem));
  }
  return absl::FailedPreconditionError("nothing could be compared with eager");
}

}  // namespace

BackendChecker::BackendChecker(
    std::shared_ptr<aitune::frontend::TorchScriptSource> source, int gpu,
    std::optional<double> tolerance)
    : source_(std::move(source)), gpu_(gpu), tolerance_(tolerance) {}

absl::StatusOr<const Model*> BackendChecker::Reference(DataType dtype) {
  auto found = references_.find(dtype);
  if (found == references_.end()) {
    const auto make = [&]() -> absl::StatusOr<std::shared_ptr<const Model>> {
      AITUNE_ASSIGN_OR_RETURN(const std::string bytes,
                              ModelBytes(source_->model()));
      aitune::frontend::LoadOptions load;
      load.dtype = dtype;
      load.gpu = gpu_;
      AITUNE_ASSIGN_OR_RETURN(Model model,
                              aitune::frontend::ModelFromBytes(bytes, load));
      return std::make_shared<const Model>(std::move(model));
    };
    found = references_.emplace(dtype, make()).first;
  }
  if (!found->second.ok()) return found->second.status();
  return found->second->get();
}

const Model* BackendChecker::WithCasts(DataType dtype) {
  auto found = with_casts_.find(dtype);
  if (found == with_casts_.end()) {
    const auto make = [&]() -> absl::StatusOr<std::shared_ptr<const Model>> {
      AITUNE_ASSIGN_OR_RETURN(const auto there, source_->ModelOn(gpu_));
      AITUNE_ASSIGN_OR_RETURN(Model model,
                              aitune::frontend::WithAutocast(*there, dtype));
      return std::make_shared<const Model>(std::move(model));
    };
    found = with_casts_.emplace(dtype, make()).first;
  }
  return found->second.ok() ? found->second->get() : nullptr;
}

absl::Status BackendChecker::Check(const aitune::Backend& backend,
                                   const aitune::Sample& sample) {
  AITUNE_ASSIGN_OR_RETURN(const ValueList arguments,
                          source_->Unflatten(Values(sample)));
  AITUNE_ASSIGN_OR_RETURN(const std::shared_ptr<const Model> model,
                          source_->ModelOn(gpu_));
  aitune::frontend::CheckOptions options;
  options.tolerance = tolerance_;
  options.reference = [this](DataType dtype) { return Reference(dtype); };
  options.gpu = gpu_;
  options.source = &source_->model();
  options.narrowed_to = backend.narrowed_to();
  if (options.narrowed_to) options.with_casts = WithCasts(*options.narrowed_to);
  const aitune::frontend::RunFunction run =
      [&](const ValueList& given) -> absl::StatusOr<c10::IValue> {
    AITUNE_ASSIGN_OR_RETURN(const aitune::Sample inputs,
                            source_->Flatten(given));
    AITUNE_ASSIGN_OR_RETURN(const std::vector<aitune::OwnedValue> outputs,
                            backend.Infer(Values(inputs)));
    return source_->UnflattenResult(outputs);
  };
  const aitune::frontend::InputCase input = {
      "sample", aitune::frontend::ToCpu(arguments)};
  return StatusOf(
      aitune::frontend::CheckAgainstEager(run, *model, {input}, options));
}

}  // namespace ait
