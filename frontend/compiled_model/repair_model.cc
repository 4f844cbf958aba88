// CompiledModel::Repair: a version that was wrong, built again.
#include <algorithm>
#include <utility>

#include "frontend/compiled_model/compiled_model.h"
#include "frontend/compiled_model/model_versions.h"
#include "frontend/values/gpu.h"
#include "runtime/status/status_macros.h"

namespace aitune::frontend {

struct CompiledModel::Origin {
  const Model& model;
  const ModelInputs inputs;
  const BuildOptions options;
};

CompiledModel::CompiledModel() = default;
CompiledModel::~CompiledModel() = default;
CompiledModel& CompiledModel::operator=(CompiledModel&&) = default;

void CompiledModel::Remember(const Model& model, const ModelInputs& inputs,
                             const BuildOptions& options, bool dynamic) {
  if (dynamic && options.all_sizes) {
    others_ = std::make_unique<ModelVersions>(model, inputs, options);
    others_->LeaveOut(report_.wrong);
  }
  BuildOptions again = options;
  again.all_sizes = false;
  again.compile.progress = nullptr;
  again.trace.progress = nullptr;
  again.repair.reset();
  origin_ =
      std::make_unique<const Origin>(Origin{model, inputs, std::move(again)});
}

absl::StatusOr<bool> CompiledModel::Repair(const ValueList& arguments,
                                           const BuildProgress& progress) {
  const ValueList there =
      device_.is_gpu() ? ToDevice(arguments, device_) : arguments;
  if (!Fits(there)) {
    if (others_ != nullptr) return others_->Repair(arguments, there, progress);
    return absl::InvalidArgumentError(
        "the model was not built for these arguments");
  }
  if (origin_ == nullptr)
    return absl::FailedPreconditionError(
        "the model was loaded, and what it was built of is not known; build it "
        "again");
  BuildOptions options = origin_->options;
  options.compile.progress = progress;
  options.repair = RepairRequest{arguments, report_.wrong};
  AITUNE_ASSIGN_OR_RETURN(std::unique_ptr<CompiledModel> rebuilt,
                          Build(origin_->model, origin_->inputs, options));
  for (const auto& [phase, seconds] : phase_seconds_) {
    auto& laps = rebuilt->phase_seconds_;
    const auto same = std::find_if(
        laps.begin(), laps.end(),
        [&phase = phase](const auto& lap) { return lap.first == phase; });
    if (same != laps.end())
      same->second += seconds;
    else
      laps.emplace_back(phase, seconds);
  }
  const bool changed = std::any_of(
      rebuilt->report_.wrong.begin(), rebuilt->report_.wrong.end(),
      [&](const WrongCandidate& wrong) {
        return std::none_of(
            report_.wrong.begin(), report_.wrong.end(),
            [&](const WrongCandidate& known) { return IsSame(wrong, known); });
      });
  rebuilt->others_ = std::move(others_);
  rebuilt->origin_ = std::move(origin_);
  *this = std::move(*rebuilt);
  if (others_ != nullptr) others_->LeaveOut(report_.wrong);
  return changed;
}

}  // namespace aitune::frontend
