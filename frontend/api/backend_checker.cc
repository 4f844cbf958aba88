#include "frontend/api/backend_checker.h"

#include <ATen/core/ivalue.h>

#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "frontend/check/check.h"
#include "frontend/check/repair.h"
#include "frontend/torchscript/autocast.h"
#include "frontend/torchscript/model_bytes.h"
#include "frontend/values/gpu.h"
#include "runtime/status/status_macros.h"

namespace ait {
namespace {

using aitune::DataType;
using aitune::frontend::InputCase;
using aitune::frontend::Model;
using aitune::frontend::ValueList;

absl::Status StatusOf(const aitune::frontend::CheckReport& report) {
  return report.agrees() ? absl::OkStatus()
                         : absl::FailedPreconditionError(report.Problem());
}

}  // namespace

BackendChecker::BackendChecker(CheckSubject subject)
    : subject_(std::move(subject)),
      references_(
          [this](const aitune::frontend::LoadOptions& load)
              -> absl::StatusOr<Model> {
            AITUNE_ASSIGN_OR_RETURN(const std::string bytes,
                                    ModelBytes(subject_.source->model()));
            return aitune::frontend::ModelFromBytes(bytes, load);
          },
          subject_.device) {}

void BackendChecker::AddSizes(const std::vector<std::vector<int64_t>>& sizes) {
  sizes_.insert(sizes.begin(), sizes.end());
}

const Model* BackendChecker::WithCasts(DataType dtype) {
  auto found = with_casts_.find(dtype);
  if (found == with_casts_.end()) {
    const auto make = [&]() -> absl::StatusOr<std::shared_ptr<const Model>> {
      AITUNE_ASSIGN_OR_RETURN(const auto there,
                              subject_.source->ModelOn(subject_.device));
      AITUNE_ASSIGN_OR_RETURN(Model model,
                              aitune::frontend::WithAutocast(*there, dtype));
      return std::make_shared<const Model>(std::move(model));
    };
    found = with_casts_.emplace(dtype, make()).first;
  }
  return found->second.ok() ? found->second->get() : nullptr;
}

absl::StatusOr<std::vector<InputCase>> BackendChecker::Cases(
    const aitune::Sample& sample) {
  if (subject_.inputs.has_value())
    return CheckCases(*subject_.inputs, subject_.seed,
                      std::vector(sizes_.begin(), sizes_.end()));
  AITUNE_ASSIGN_OR_RETURN(const ValueList arguments,
                          subject_.source->Unflatten(sample));
  return std::vector<InputCase>{{std::string(aitune::frontend::kSampleCase),
                                 aitune::frontend::ToCpu(arguments)}};
}

absl::Status BackendChecker::Check(aitune::Backend& backend,
                                   const aitune::Sample& sample) {
  const std::string key = backend.Key();
  if (subject_.inputs.has_value() && reports_.count(key) > 0)
    return StatusOf(reports_[key]);
  AITUNE_ASSIGN_OR_RETURN(const std::vector<InputCase> cases, Cases(sample));
  sizes_.clear();
  AITUNE_ASSIGN_OR_RETURN(const std::shared_ptr<const Model> model,
                          subject_.source->ModelOn(subject_.device));
  aitune::frontend::CheckOptions options;
  options.tolerance = subject_.tolerance;
  options.reference = [this](DataType dtype) { return references_.Get(dtype); };
  options.progress = subject_.progress;
  options.device = subject_.device;
  options.source = &subject_.source->model();
  if (!options.tolerance) options.bound = backend.accuracy_bound();
  options.narrowed_to = backend.narrowed_to();
  if (options.narrowed_to) options.with_casts = WithCasts(*options.narrowed_to);
  const aitune::frontend::RunFunction run =
      [&](const ValueList& given) -> absl::StatusOr<c10::IValue> {
    // As a call of the module: what it makes of sizes is seen in the arguments.
    AITUNE_ASSIGN_OR_RETURN(const aitune::Sample inputs,
                            subject_.source->NeedsOwnArguments()
                                ? subject_.source->FlattenCall(given)
                                : subject_.source->Flatten(given));
    AITUNE_ASSIGN_OR_RETURN(const std::vector<aitune::OwnedValue> outputs,
                            backend.Infer(Values(inputs)));
    // What the call changed in a copy is what the check looks at and restores.
    AITUNE_RETURN_IF_ERROR(subject_.source->StateNumber().status());
    AITUNE_ASSIGN_OR_RETURN(c10::IValue result,
                            subject_.source->UnflattenResult(outputs));
    if (!subject_.device.is_gpu()) return result;
    // The copy waits for what the GPU may find.
    result = aitune::frontend::ToCpu(result);
    AITUNE_RETURN_IF_ERROR(backend.TakeFailedCheck());
    return result;
  };
  aitune::frontend::CheckReport& report = reports_[key];
  report = aitune::frontend::CheckAndRepair(
      run, *model, cases, options,
      [&](const ValueList& failed) -> absl::StatusOr<bool> {
        AITUNE_ASSIGN_OR_RETURN(
            const aitune::Sample inputs,
            subject_.source->Flatten(
                subject_.device.is_gpu()
                    ? aitune::frontend::ToDevice(failed, subject_.device)
                    : failed));
        return backend.Repair(Values(inputs));
      });
  return StatusOf(report);
}

}  // namespace ait
