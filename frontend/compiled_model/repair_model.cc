// CompiledModel::Repair: a version that was wrong, built again.
#include <ATen/ATen.h>

#include <algorithm>
#include <limits>
#include <set>
#include <string>
#include <utility>

#include "frontend/check/accuracy.h"
#include "frontend/compiled_model/compiled_model.h"
#include "frontend/compiled_model/dropped_layers.h"
#include "frontend/compiled_model/model_versions.h"
#include "frontend/compiled_model/version_state.h"
#include "frontend/torchscript/model_state.h"
#include "frontend/values/gpu.h"
#include "frontend/values/pytree.h"
#include "frontend/values/torch_util.h"
#include "quant/options.h"
#include "runtime/status/status_macros.h"

namespace aitune::frontend {

namespace {

// The greatest of the outputs of both (accuracy.h); infinity where ours alone
// is not finite.
double GreatestExcess(const c10::IValue& ours, const c10::IValue& eager,
                      const AccuracyBound& bound) {
  const std::vector<at::Tensor> a = TensorLeaves(ours), b = TensorLeaves(eager);
  double greatest = 0;
  for (size_t i = 0; i < a.size() && i < b.size(); ++i) {
    if (!b[i].defined() || !a[i].defined()) continue;
    const at::Tensor x = a[i].cpu(), y = b[i].cpu();
    if (!IsPlainTensor(y) || x.sizes() != y.sizes() ||
        x.scalar_type() != y.scalar_type())
      continue;
    if (x.isfinite().logical_not().logical_and(y.isfinite()).any().item<bool>())
      return std::numeric_limits<double>::infinity();
    greatest = std::max(greatest, ExcessNoise(AccuracyOf(x, y), bound));
  }
  return greatest;
}

}  // namespace

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
    others_ = std::make_unique<ModelVersions>(model, inputs, options, device_);
    others_->LeaveOut(report_.wrong);
  }
  if (!input_queries_.own_arguments.empty())
    whole_calls_ = VersionState::OfAny(model, device_);
  BuildOptions again = options;
  again.all_sizes = false;
  again.compile.progress = nullptr;
  again.trace.progress = nullptr;
  again.repair.reset();
  origin_ =
      std::make_unique<const Origin>(Origin{model, inputs, std::move(again)});
}

absl::StatusOr<LayersWithSchemes> CompiledModel::LayersTooMany(
    const ValueList& arguments, const ValueList& there) const {
  const std::string& asked = origin_->options.compile.quantization;
  if (asked.empty()) return LayersWithSchemes();
  AITUNE_ASSIGN_OR_RETURN(const quant::QuantizationOptions quantization,
                          quant::ParseQuantizationOptions(asked));
  if (quantization.verdict == quant::Verdict::kOff) return LayersWithSchemes();
  ModelState state(origin_->model);
  const ScopedModelState restore(state);
  const absl::StatusOr<c10::IValue> eager =
      origin_->model.RunEager(arguments.Clone());
  const absl::StatusOr<c10::IValue> ours = Run(there.Clone());
  // Whatever it is that fails is no matter of the layers.
  if (!eager.ok() || !ours.ok()) return LayersWithSchemes();
  return LayersToDrop(report_.quantized_layers,
                      GreatestExcess(*ours, *eager, quantization.bound));
}

absl::StatusOr<bool> CompiledModel::Repair(const ValueList& arguments,
                                           const BuildProgress& progress) {
  const ValueList there = ToDevice(arguments, device_);
  if (!Fits(there)) {
    if (others_ != nullptr) return others_->Repair(arguments, there, progress);
    return absl::InvalidArgumentError(
        "the model was not built for these arguments");
  }
  if (origin_ == nullptr)
    return absl::FailedPreconditionError(
        "the model was loaded, and what it was built of is not known; build it "
        "again");
  AITUNE_ASSIGN_OR_RETURN(const LayersWithSchemes dropped,
                          LayersTooMany(arguments, there));
  BuildOptions options = origin_->options;
  options.compile.progress = progress;
  options.compile.layers.dropped.insert(dropped.begin(), dropped.end());
  options.repair = RepairRequest{arguments, report_.wrong,
                                 /*looks_through=*/dropped.empty()};
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
  const bool changed =
      !dropped.empty() || !outlined_.empty() ||
      std::any_of(rebuilt->report_.wrong.begin(), rebuilt->report_.wrong.end(),
                  [&](const WrongCandidate& wrong) {
                    return std::none_of(report_.wrong.begin(),
                                        report_.wrong.end(),
                                        [&](const WrongCandidate& known) {
                                          return IsSame(wrong, known);
                                        });
                  });
  rebuilt->others_ = std::move(others_);
  if (dropped.empty()) rebuilt->origin_ = std::move(origin_);
  *this = std::move(*rebuilt);
  if (others_ != nullptr) others_->LeaveOut(report_.wrong);
  return changed;
}

}  // namespace aitune::frontend
