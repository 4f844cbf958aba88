#include "frontend/compiled_model/version_state.h"

#include <ATen/Functions.h>
#include <ATen/core/ivalue.h>

#include <string>
#include <utility>

#include "frontend/torchscript/gpu_state.h"
#include "frontend/torchscript/model_bytes.h"
#include "frontend/torchscript/model_internal.h"
#include "frontend/values/pytree.h"
#include "frontend/values/torch_util.h"
#include "runtime/status/status_macros.h"

namespace aitune::frontend {
namespace {

// Gives `to`, the same model on `device`, the state of `from`.
absl::Status Pass(const Model& from, const Model& to, const Device& device) {
  return CatchExceptions(absl::StatusCode::kInternal, "passing the state on",
                         [&] {
                           ModelState(from).CopyTo(to, device);
                           return absl::OkStatus();
                         });
}

}  // namespace

std::unique_ptr<VersionState> VersionState::Of(const Model& model,
                                               const Device& device) {
  if (!ModelState(model).exists()) return nullptr;
  return OfAny(model, device);
}

std::unique_ptr<VersionState> VersionState::OfAny(const Model& model,
                                                  const Device& device) {
  auto state = std::make_unique<ModelState>(model);
  std::unique_ptr<VersionState> made(new VersionState(model, device));
  if (device.is_gpu()) {
    made->on_gpu_shared_ = state->live() != nullptr;
    return made;
  }
  state->Save();
  made->state_ = std::move(state);
  return made;
}

absl::StatusOr<const Model*> VersionState::Watched() {
  if (!device_.is_gpu()) return &model_;
  if (!on_gpu_) {
    // Through bytes: LibTorch's own copies share the code, which names devices.
    restores_ = CountRestores(*model_.impl().bare_module._ivalue());
    AITUNE_ASSIGN_OR_RETURN(const std::string bytes, ModelBytes(model_));
    LoadOptions options;
    options.device = device_;
    AITUNE_ASSIGN_OR_RETURN(on_gpu_, ModelFromBytes(bytes, options));
    state_ = std::make_unique<ModelState>(*on_gpu_);
    state_->Save();
  }
  return &*on_gpu_;
}

absl::Status VersionState::FollowRestores() {
  if (!on_gpu_ || on_gpu_shared_) return absl::OkStatus();
  const int64_t restores = CountRestores(*model_.impl().bare_module._ivalue());
  if (restores == restores_) return absl::OkStatus();
  AITUNE_RETURN_IF_ERROR(Pass(model_, *on_gpu_, device_));
  restores_ = restores;
  return absl::OkStatus();
}

absl::StatusOr<bool> VersionState::HasChanged() {
  // Only what LibTorch runs changes it; versions that share it see that.
  if (!changed_ || on_gpu_shared_) return false;
  AITUNE_RETURN_IF_ERROR(FollowRestores());
  AITUNE_RETURN_IF_ERROR(
      CatchExceptions(absl::StatusCode::kInternal, "reading the state", [&] {
        changed_ = state_->HasChanged();
        return absl::OkStatus();
      }));
  return changed_;
}

absl::StatusOr<bool> VersionState::LibTorchRuns(const CompiledModel& version) {
  if (!version.report().LibTorchRunsAll()) return HasChanged();
  // Its region has the model's own state; on a GPU it would have another copy.
  changed_ = true;
  return device_.is_gpu();
}

absl::StatusOr<c10::IValue> VersionState::Run(const ValueList& arguments) {
  AITUNE_ASSIGN_OR_RETURN(const Model* const model, Watched());
  AITUNE_RETURN_IF_ERROR(FollowRestores());
  // A call that raises may have changed it before.
  changed_ = true;
  std::shared_ptr<GpuState> shared;
  if (on_gpu_shared_) {
    AITUNE_ASSIGN_OR_RETURN(shared, GpuState::Of(model_, device_));
    AITUNE_RETURN_IF_ERROR(shared->GiveToModel());
    AITUNE_RETURN_IF_ERROR(Pass(model_, *model, device_));
  }
  const absl::StatusOr<c10::IValue> result = model->RunEager(arguments);
  if (shared != nullptr) {
    AITUNE_RETURN_IF_ERROR(Pass(*model, model_, Device()));
    AITUNE_RETURN_IF_ERROR(shared->TakeFromModel());
  }
  if (!result.ok()) return result.status();
  return MapTensors(*result, [](const at::Tensor& tensor, int /*index*/) {
    return tensor.clone();
  });
}

}  // namespace aitune::frontend
