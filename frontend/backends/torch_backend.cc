#include "frontend/backends/torch_backend.h"

#include <ATen/core/Tensor.h>
#include <ATen/core/ivalue.h>

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "frontend/backends/call_leaves.h"
#include "frontend/torchscript/autocast.h"
#include "frontend/trace/leaf_value.h"
#include "frontend/values/gpu.h"
#include "frontend/values/torch_util.h"
#include "runtime/bundle/message_bytes.h"
#include "runtime/cuda/profiler_range.h"
#include "runtime/status/status_macros.h"

namespace aitune::frontend {

absl::StatusOr<std::shared_ptr<TorchScriptSource>> AsTorchScript(
    const std::shared_ptr<SourceModel>& model) {
  auto source = std::dynamic_pointer_cast<TorchScriptSource>(model);
  if (source != nullptr) return source;
  return absl::InvalidArgumentError(absl::StrCat(
      "this backend runs TorchScript models, ",
      model == nullptr ? "and none was given"
                       : absl::StrCat("which ", model->name(), " is not")));
}

absl::Status CheckTorchDevice(const Device& device) {
  return device.is_gpu() ? LookForLibTorchCuda() : absl::OkStatus();
}

TorchBackend::TorchBackend(bool autocast_enabled, std::optional<DataType> dtype)
    : autocast_enabled_(autocast_enabled), autocast_dtype_(dtype) {}

absl::Status TorchBackend::Build(BuildContext& context) {
  AITUNE_ASSIGN_OR_RETURN(source_, AsTorchScript(context.model()));
  dtypes_ = AutocastDtypes();
  if (autocast_enabled_) {
    if (context.samples().empty())
      return absl::InvalidArgumentError(
          "autocast needs a sample: outputs keep the dtypes they have without "
          "it, which only a call tells");
    AITUNE_ASSIGN_OR_RETURN(const std::vector<OwnedValue> outputs,
                            context.CallSample(0));
    dtypes_ = AutocastDtypes(Values(context.samples()[0]), outputs);
  }
  return Ready(context.device(), &context);
}

absl::Status TorchBackend::Ready(const Device& device, BuildContext* context) {
  device_ = device.is_gpu() ? Device::Gpu(device.gpu()) : Device();
  if (device_.is_gpu()) AITUNE_RETURN_IF_ERROR(StartLibTorchCuda(device_));
  AITUNE_ASSIGN_OR_RETURN(model_,
                          ModelOn(*source_, runs_model() ? device_ : Device()));
  weight_bytes_ = source_->model().WeightBytes();
  absl::Status status = Prepare(context);
  if (!status.ok()) model_ = nullptr;
  return status;
}

MemoryUse TorchBackend::Memory() const {
  MemoryUse use;
  if (weight_bytes_ == 0) return use;
  const Model& model = source_->model();
  use.model = weight_bytes_ - model.UnmadeBytes() + model.BesideBytes();
  if (!device_.is_gpu()) return use;
  std::lock_guard<std::mutex> lock(eager_mutex_);
  if (runs_model() || eager_ != nullptr) use.model += weight_bytes_;
  return use;
}

DataType TorchBackend::autocast_dtype() const {
  return autocast_dtype_.value_or(device_.is_gpu() ? DataType::kFloat16
                                                   : DataType::kBFloat16);
}

std::optional<DataType> TorchBackend::narrowed_to() const {
  if (!autocast_enabled_) return std::nullopt;
  return autocast_dtype();
}

absl::StatusOr<std::shared_ptr<const Model>> TorchBackend::ModelOn(
    const TorchScriptSource& source, const Device& device) const {
  // The copy has the state that the model has when it is made.
  const auto held = source.HoldState();
  AITUNE_RETURN_IF_ERROR(source.StateNumber().status());
  AITUNE_ASSIGN_OR_RETURN(std::shared_ptr<const Model> model,
                          source.ModelOn(device));
  if (!autocast_enabled_) return model;
  AITUNE_ASSIGN_OR_RETURN(Model changed,
                          WithAutocast(*model, autocast_dtype()));
  return std::make_shared<const Model>(std::move(changed));
}

absl::StatusOr<std::shared_ptr<const Model>> TorchBackend::EagerModel() const {
  if (!device_.is_gpu() || runs_model()) return model_;
  const auto held = source_->HoldState();
  std::lock_guard<std::mutex> lock(eager_mutex_);
  if (eager_ == nullptr) {
    AITUNE_ASSIGN_OR_RETURN(eager_, ModelOn(*source_, device_));
  }
  return eager_;
}

absl::StatusOr<std::shared_ptr<const Model>> TorchBackend::EagerModelForOnce()
    const {
  if (!device_.is_gpu() || runs_model()) return model_;
  const auto held = source_->HoldState();
  {
    std::lock_guard<std::mutex> lock(eager_mutex_);
    if (eager_ != nullptr) return eager_;
  }
  return ModelOn(*source_, device_);
}

std::string TorchBackend::model_id() const { return ModelId(*source_); }

std::string TorchBackend::ModelId(const TorchScriptSource& source) const {
  const absl::StatusOr<std::string> hash = source.Sha256();
  if (!hash.ok()) return "";
  if (!autocast_enabled_) return *hash;
  return absl::StrCat(*hash, " autocast ", std::string(Name(autocast_dtype())));
}

absl::Status TorchBackend::Activate(const Device& device) {
  const cuda::ProfilerRange range("aitune activate");
  return Ready(device, nullptr);
}
absl::Status TorchBackend::Deploy(const Device& device) {
  return Ready(device, nullptr);
}

absl::Status TorchBackend::Deactivate() {
  // The model takes the state over from copies that go.
  AITUNE_RETURN_IF_ERROR(source_->StateNumber().status());
  Release();
  model_ = nullptr;
  eager_ = nullptr;
  return absl::OkStatus();
}

absl::StatusOr<std::vector<OwnedValue>> TorchBackend::Infer(
    absl::Span<const RegionValue> inputs) const {
  if (device_.is_gpu() && IsWholeCall(inputs)) {
    AITUNE_ASSIGN_OR_RETURN(const ValueList arguments,
                            source_->Unflatten(inputs));
    const auto there = source_->ArgumentsOn(device_, arguments);
    auto outputs = InferThere(Values(WholeCall(there.values)));
    AITUNE_RETURN_IF_ERROR(there.bring_back());
    return outputs;
  }
  const auto is_on_cpu = [](const RegionValue& input) {
    return std::holds_alternative<TensorView>(input);
  };
  if (!device_.is_gpu() ||
      std::none_of(inputs.begin(), inputs.end(), is_on_cpu))
    return InferThere(inputs);
  std::vector<c10::IValue> values;
  for (const RegionValue& input : inputs) values.push_back(ToIValue(input));
  const auto there =
      source_->ArgumentsOn(device_, ValueList(std::move(values)));
  Sample moved;
  moved.reserve(inputs.size());
  for (size_t i = 0; i < inputs.size(); ++i) {
    const c10::IValue& value = there.values.values()[i];
    const bool moves = value.isTensor() && value.toTensor().defined();
    moved.push_back(moves ? ToOwned(value.toTensor())
                          : OwnedValue{inputs[i], nullptr});
  }
  auto outputs = InferThere(Values(moved));
  AITUNE_RETURN_IF_ERROR(there.bring_back());
  return outputs;
}

absl::StatusOr<std::vector<OwnedValue>> TorchBackend::InferThere(
    absl::Span<const RegionValue> inputs) const {
  AITUNE_ASSIGN_OR_RETURN(std::vector<OwnedValue> outputs, Run(inputs));
  if (!autocast_enabled_) return outputs;
  return dtypes_.Restore(inputs, std::move(outputs), autocast_dtype());
}

absl::Status TorchBackend::Save(BackendStateProto* state) const {
  // All of it is of one state.
  const auto held = source_->HoldState();
  TorchBackendStateProto more;
  AITUNE_ASSIGN_OR_RETURN(const std::string hash, source_->Sha256());
  more.set_model_sha256(hash);
  dtypes_.Save(&more);
  AITUNE_RETURN_IF_ERROR(SaveMore(state, &more));
  AITUNE_ASSIGN_OR_RETURN(*state->mutable_implementation(), MessageBytes(more));
  return absl::OkStatus();
}

absl::Status TorchBackend::SaveFor(const std::shared_ptr<SourceModel>& model,
                                   BackendStateProto* state) const {
  AITUNE_ASSIGN_OR_RETURN(const auto source, AsTorchScript(model));
  TorchBackendStateProto more;
  AITUNE_ASSIGN_OR_RETURN(const std::string hash, source->Sha256());
  more.set_model_sha256(hash);
  dtypes_.Save(&more);
  AITUNE_ASSIGN_OR_RETURN(const std::shared_ptr<const Model> changed,
                          ModelOn(*source, Device()));
  AITUNE_RETURN_IF_ERROR(SaveMoreFor(*changed, ModelId(*source), state, &more));
  AITUNE_ASSIGN_OR_RETURN(*state->mutable_implementation(), MessageBytes(more));
  return absl::OkStatus();
}

absl::Status TorchBackend::Load(std::shared_ptr<SourceModel> model,
                                const BackendStateProto& state) {
  AITUNE_ASSIGN_OR_RETURN(auto source, AsTorchScript(model));
  TorchBackendStateProto more;
  if (!more.ParseFromString(state.implementation()))
    return absl::DataLossError(
        "the stored state of the backend can't be read; save the checkpoint "
        "again");
  AITUNE_ASSIGN_OR_RETURN(const std::string hash, source->Sha256());
  if (hash != more.model_sha256())
    return absl::InvalidArgumentError(
        absl::StrCat("the state_dict is of another model than ", source->name(),
                     ": its program or weights differ"));
  AITUNE_RETURN_IF_ERROR(dtypes_.Load(more));
  source_ = std::move(source);
  return LoadMore(state, more);
}

absl::Status TorchBackend::SaveMore(BackendStateProto*,
                                    TorchBackendStateProto*) const {
  return absl::OkStatus();
}

absl::Status TorchBackend::SaveMoreFor(const Model& /*changed*/,
                                       const std::string& /*id*/,
                                       BackendStateProto* state,
                                       TorchBackendStateProto* more) const {
  return SaveMore(state, more);
}

absl::Status TorchBackend::LoadMore(const BackendStateProto&,
                                    const TorchBackendStateProto&) {
  return absl::OkStatus();
}

}  // namespace aitune::frontend
