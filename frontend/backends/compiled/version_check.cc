#include "frontend/backends/compiled/version_check.h"

#include <ATen/core/ivalue.h>

#include <utility>
#include <vector>

#include "frontend/check/check.h"
#include "frontend/check/eager_runs.h"
#include "frontend/check/reference_models.h"
#include "frontend/check/repair.h"
#include "frontend/torchscript/model_bytes.h"
#include "frontend/torchscript/model_state.h"
#include "frontend/values/gpu.h"
#include "runtime/status/status_macros.h"

namespace aitune::frontend {
namespace {

RunFunction RunOf(const VersionCheck& check, const CompiledModel& version) {
  return [&check,
          &version](const ValueList& given) -> absl::StatusOr<c10::IValue> {
    AITUNE_ASSIGN_OR_RETURN(c10::IValue result,
                            version.Run(given, check.constants));
    if (!check.device.is_gpu()) return result;
    // The copy waits for what the GPU may find.
    result = ToCpu(result);
    AITUNE_RETURN_IF_ERROR(version.TakeFailedCheck());
    return result;
  };
}

// Whether two calls of ours agree with one of eager, without a reference.
absl::StatusOr<bool> AgreesAtOnce(const VersionCheck& check,
                                  const ValueList& arguments,
                                  const CompiledModel& version) {
  AITUNE_ASSIGN_OR_RETURN(const std::shared_ptr<const Model> model,
                          check.on_device());
  EagerRuns runs(*model, {std::nullopt, check.device});
  const absl::StatusOr<c10::IValue> eager = runs.Run(arguments, 1);
  const TwoCalls ours = CallTwice(runs.AsCompared(RunOf(check, version)), {},
                                  ToDevice(arguments, check.device),
                                  {std::nullopt, check.device});
  if (!eager.ok())
    return check.unchecked_indices || (!ours.first.ok() && !ours.second.ok());
  if (!ours.first.ok() || !ours.second.ok() || ours.first_changed) return false;
  ComparisonOptions options;
  options.arithmetic = check.narrowed_to;
  options.bound = check.bound;
  return AllAgree(CompareResults(*ours.first, *eager, nullptr, options)) &&
         AllAgree(CompareResults(*ours.second, *eager, nullptr, options));
}

}  // namespace

absl::StatusOr<std::string> CheckVersion(const VersionCheck& check,
                                         const ValueList& arguments,
                                         CompiledModel& version) {
  const bool has_state = ModelState(check.model).exists();
  // Nothing to compare with; or nothing of ours: a model with state that
  // LibTorch runs whole is run as it is, others after passes of LibTorch's.
  if (version.report().draws_random_numbers ||
      (has_state && version.report().LibTorchRunsAll()))
    return "";
  if (!has_state) {
    AITUNE_ASSIGN_OR_RETURN(const bool agrees,
                            AgreesAtOnce(check, arguments, version));
    if (agrees) return "";
  }

  AITUNE_ASSIGN_OR_RETURN(const std::string bytes, ModelBytes(check.model));
  LoadOptions load;
  load.device = check.device;
  AITUNE_ASSIGN_OR_RETURN(const Model model, ModelFromBytes(bytes, load));
  ReferenceModels references(
      [&](const LoadOptions& wider) { return ModelFromBytes(bytes, wider); },
      check.device);
  CheckOptions options;
  options.device = check.device;
  options.narrowed_to = check.narrowed_to;
  options.bound = check.bound;
  options.reference = [&](DataType dtype) { return references.Get(dtype); };
  options.random_seed.reset();
  options.source = &check.model;
  const std::vector<InputCase> cases = {{std::string(kSampleCase), arguments}};
  const CheckReport report = CheckAndRepair(
      RunOf(check, version), model, cases, options,
      [&](const ValueList& failed) { return version.Repair(ToCpu(failed)); });
  if (!report.compared() || report.agrees()) return "";
  if (check.unchecked_indices && report.cases[0].missed_error) return "";
  return report.Problem();
}

}  // namespace aitune::frontend
