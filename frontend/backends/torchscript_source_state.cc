// Who has the model's newest state, and how it gets to the others: the part of
// TorchScriptSource that models with state need.
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "frontend/backends/torchscript_source.h"
#include "frontend/backends/watched_state.h"
#include "frontend/torchscript/gpu_state.h"
#include "frontend/torchscript/model_state.h"
#include "frontend/torchscript/saved_arguments.h"
#include "frontend/values/torch_util.h"
#include "runtime/status/status_macros.h"

namespace aitune::frontend {

std::unique_lock<std::recursive_mutex> TorchScriptSource::HoldState() const {
  if (watched_ == nullptr) return {};
  return std::unique_lock<std::recursive_mutex>(watched_->mutex);
}

bool TorchScriptSource::SharesState() const {
  return watched_ != nullptr && watched_->state.live() != nullptr;
}

absl::StatusOr<std::unique_lock<std::recursive_mutex>>
TorchScriptSource::HoldSharedState(const Device& device) const {
  if (!SharesState()) return std::unique_lock<std::recursive_mutex>();
  auto held = HoldState();
  if (!device.is_gpu()) {
    AITUNE_RETURN_IF_ERROR(UseState(model_, device));
    return held;
  }
  std::weak_ptr<GpuState>& known = watched_->on_gpu[device.gpu()];
  std::shared_ptr<GpuState> there = known.lock();
  if (there == nullptr) {
    AITUNE_ASSIGN_OR_RETURN(there, GpuState::Of(*model_, device));
    known = there;
  }
  if (there == watched_->newest_shared) return held;
  AITUNE_RETURN_IF_ERROR(BringStateHome());
  AITUNE_RETURN_IF_ERROR(there->TakeFromModel());
  watched_->newest_shared = std::move(there);
  return held;
}

absl::StatusOr<int64_t> TorchScriptSource::StateNumber() const {
  if (watched_ == nullptr) return 0;
  const auto held = HoldState();
  AITUNE_RETURN_IF_ERROR(BringStateHome());
  AITUNE_RETURN_IF_ERROR(
      CatchExceptions(absl::StatusCode::kInternal, "reading the state", [&] {
        if (watched_->number > 0 && !watched_->state.HasChanged())
          return absl::OkStatus();
        watched_->state.Save();
        ++watched_->number;
        return absl::OkStatus();
      }));
  return watched_->number;
}

absl::Status TorchScriptSource::BringStateHome() const {
  if (watched_ == nullptr) return absl::OkStatus();
  if (watched_->newest_shared != nullptr) {
    AITUNE_RETURN_IF_ERROR(watched_->newest_shared->GiveToModel());
    watched_->newest_shared = nullptr;
  }
  if (watched_->newest == nullptr) return absl::OkStatus();
  return CatchExceptions(
      absl::StatusCode::kInternal, "passing the state on", [&] {
        watched_->state_of_newest->CopyTo(
            *model_, watched_->gpu_of_newest ? std::optional<Device>(Device())
                                             : std::nullopt);
        watched_->state_of_newest = nullptr;
        watched_->newest = nullptr;
        return absl::OkStatus();
      });
}

absl::Status TorchScriptSource::UseState(
    const std::shared_ptr<const Model>& copy, const Device& device) const {
  if (watched_ == nullptr || copy == watched_->newest) return absl::OkStatus();
  AITUNE_RETURN_IF_ERROR(BringStateHome());
  if (copy == model_) return absl::OkStatus();
  return CatchExceptions(
      absl::StatusCode::kInternal, "passing the state on", [&] {
        watched_->gpu_of_newest =
            device.is_gpu() ? std::optional<Device>(device) : std::nullopt;
        watched_->state.CopyTo(*copy, watched_->gpu_of_newest);
        watched_->state_of_newest = std::make_unique<ModelState>(*copy);
        watched_->newest = copy;
        return absl::OkStatus();
      });
}

absl::StatusOr<std::function<absl::Status()>> TorchScriptSource::SaveState(
    absl::Span<const RegionValue> inputs) {
  if (inputs.empty() || input_queries_.written_arguments.empty())
    return SaveModelState();
  AITUNE_ASSIGN_OR_RETURN(const ValueList arguments, Unflatten(inputs));
  return SaveState(arguments);
}

absl::StatusOr<std::function<absl::Status()>> TorchScriptSource::SaveState(
    const ValueList& arguments) {
  AITUNE_ASSIGN_OR_RETURN(std::function<absl::Status()> put_back,
                          SaveArguments(arguments));
  AITUNE_ASSIGN_OR_RETURN(std::function<absl::Status()> restore,
                          SaveModelState());
  return InTurn(std::move(put_back), std::move(restore));
}

absl::StatusOr<std::function<absl::Status()>> TorchScriptSource::SaveArguments(
    const ValueList& arguments) const {
  return frontend::SaveArguments(input_queries_, arguments);
}

absl::StatusOr<std::function<absl::Status()>>
TorchScriptSource::SaveModelState() {
  std::vector<std::shared_ptr<const Model>> models = {model_};
  const auto held = HoldState();
  AITUNE_RETURN_IF_ERROR(StateNumber().status());
  {
    std::lock_guard<std::mutex> lock(copies_mutex_);
    for (const auto& [gpu, copy] : copies_) {
      if (std::shared_ptr<const Model> made = copy.lock())
        models.push_back(std::move(made));
    }
  }
  std::vector<const Model*> with_states;
  for (const auto& model : models) with_states.push_back(model.get());
  AITUNE_ASSIGN_OR_RETURN(std::function<absl::Status()> restore,
                          SaveStates(with_states));
  if (restore == nullptr) return restore;
  return std::function<absl::Status()>(
      [this, models = std::move(models), restore = std::move(restore)] {
        const auto held = HoldState();
        AITUNE_RETURN_IF_ERROR(BringStateHome());
        return restore();
      });
}

}  // namespace aitune::frontend
