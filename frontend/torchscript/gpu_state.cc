#include "frontend/torchscript/gpu_state.h"

#include <ATen/Functions.h>
#include <c10/core/InferenceMode.h>

#include <algorithm>
#include <map>

#include "frontend/torchscript/live_state.h"
#include "frontend/torchscript/model_internal.h"
#include "frontend/torchscript/model_state.h"
#include "frontend/values/gpu.h"
#include "frontend/values/torch_util.h"
#include "runtime/status/status_macros.h"

namespace aitune::frontend {
namespace {

// Those that somebody keeps, by their GPU (-1: the CPU) and the model's
// tensors.
struct Registry {
  using Key = std::pair<int, std::vector<const c10::TensorImpl*>>;

  static Registry& Get() {
    static auto* const registry = new Registry;
    return *registry;
  }

  std::mutex mutex;
  std::map<Key, std::weak_ptr<GpuState>> states;
};

}  // namespace

absl::StatusOr<std::shared_ptr<GpuState>> GpuState::Of(const Model& model,
                                                       const Device& device) {
  std::shared_ptr<GpuState> state;
  AITUNE_RETURN_IF_ERROR(CatchExceptions(
      absl::StatusCode::kInternal, "making room for the state on the GPU",
      [&]() -> absl::Status {
        const ModelState of_model(model);
        if (of_model.live() == nullptr) return absl::OkStatus();
        Registry::Key key{device.gpu(), {}};
        for (const at::Tensor& own : of_model.live()->tensors())
          key.second.push_back(own.unsafeGetTensorImpl());
        Registry& registry = Registry::Get();
        const std::lock_guard<std::mutex> lock(registry.mutex);
        std::weak_ptr<GpuState>& known = registry.states[key];
        state = known.lock();
        if (state == nullptr) {
          const c10::InferenceMode inference;
          std::vector<Tensor> tensors;
          for (const at::Tensor& own : of_model.live()->tensors())
            tensors.push_back(
                {own,
                 at::empty_strided(own.sizes(), own.strides(),
                                   own.options().device(DeviceOf(device)))});
          state.reset(new GpuState(std::move(tensors), device));
          if (device.is_gpu()) {
            AITUNE_ASSIGN_OR_RETURN(state->gpu_,
                                    cuda::Device::Open(device.gpu()));
            AITUNE_ASSIGN_OR_RETURN(state->last_,
                                    cuda::Event::Create(*state->gpu_, false));
          }
          AITUNE_RETURN_IF_ERROR(state->TakeFromModel());
          known = state;
        }
        state->Watch(model);
        // Of models that are gone.
        for (auto it = registry.states.begin(); it != registry.states.end();)
          it = it->second.expired() ? registry.states.erase(it) : std::next(it);
        return absl::OkStatus();
      }));
  return state;
}

void GpuState::Watch(const Model& model) {
  const auto module = model.impl().bare_module._ivalue();
  const std::lock_guard<std::mutex> lock(mutex_);
  const bool is_known =
      std::any_of(programs_.begin(), programs_.end(),
                  [&](const Program& known) { return known.module == module; });
  if (!is_known) programs_.push_back({module, CountRestores(*module)});
}

bool GpuState::WasRestored() const {
  return std::any_of(
      programs_.begin(), programs_.end(), [](const Program& program) {
        return CountRestores(*program.module) != program.restores;
      });
}

const at::Tensor* GpuState::Find(const at::Tensor& own) const {
  for (const Tensor& tensor : tensors_) {
    if (tensor.own.is_same(own)) return &tensor.there;
  }
  return nullptr;
}

absl::Status GpuState::WaitOn(CUstream stream) const {
  if (gpu_ == nullptr || !last_stream_) return absl::OkStatus();
  AITUNE_ASSIGN_OR_RETURN(const cuda::StreamKey key,
                          cuda::KeyOf(gpu_->driver(), stream));
  if (*last_stream_ == key) return absl::OkStatus();
  return gpu_->driver().Check(
      gpu_->driver().cuStreamWaitEvent(stream, last_.get(), 0),
      "waiting for the last call that used the model's state");
}

void GpuState::RecordUse(CUstream stream) {
  if (gpu_ == nullptr) return;
  // Were it not recorded, another stream would not wait: wait now.
  if (!last_.Record(stream).ok()) gpu_->driver().cuStreamSynchronize(stream);
  // No stream's key where it is not known: all wait.
  last_stream_ = cuda::KeyOf(gpu_->driver(), stream).value_or(0);
}

CUstream GpuState::CurrentStreamOrNull() const {
  return gpu_ == nullptr ? nullptr
                         : static_cast<CUstream>(CurrentStream(device_));
}

absl::Status GpuState::Copy(at::Tensor Tensor::* from,
                            at::Tensor Tensor::* to) const {
  return CatchExceptions(absl::StatusCode::kInternal, "copying the state", [&] {
    const c10::InferenceMode inference;
    for (const Tensor& tensor : tensors_) (tensor.*to).copy_(tensor.*from);
    return absl::OkStatus();
  });
}

absl::Status GpuState::Take(CUstream stream) {
  AITUNE_RETURN_IF_ERROR(WaitOn(stream));
  AITUNE_RETURN_IF_ERROR(Copy(&Tensor::own, &Tensor::there));
  for (Program& program : programs_)
    program.restores = CountRestores(*program.module);
  return absl::OkStatus();
}

absl::Status GpuState::TakeFromModel() {
  const std::lock_guard<std::mutex> lock(mutex_);
  const CUstream stream = CurrentStreamOrNull();
  AITUNE_RETURN_IF_ERROR(Take(stream));
  RecordUse(stream);
  return absl::OkStatus();
}

absl::Status GpuState::GiveToModel() {
  const std::lock_guard<std::mutex> lock(mutex_);
  AITUNE_RETURN_IF_ERROR(WaitOn(CurrentStreamOrNull()));
  AITUNE_RETURN_IF_ERROR(Copy(&Tensor::there, &Tensor::own));
  for (Program& program : programs_) {
    AddRestore(*program.module);
    program.restores = CountRestores(*program.module);
  }
  return absl::OkStatus();
}

bool GpuState::IsRecorded(CUstream stream) const {
  return gpu_ != nullptr && cuda::IsRecording(gpu_->driver(), stream);
}

absl::Status GpuState::Enter(CUstream stream) {
  mutex_.lock();
  absl::Status status;
  const bool takes = WasRestored();
  if (IsRecorded(stream)) {
    if (takes)
      status = absl::FailedPreconditionError(
          "the model's state was restored, and can't be copied to the GPU "
          "while a graph is recorded; make a call before");
  } else if (!takes) {
    status = WaitOn(stream);
  } else {
    std::optional<ScopedStream> current;
    if (gpu_ != nullptr) current.emplace(device_, stream);
    status = Take(stream);
  }
  if (!status.ok()) mutex_.unlock();
  return status;
}

void GpuState::Leave(CUstream stream) {
  if (!IsRecorded(stream)) RecordUse(stream);
  mutex_.unlock();
}

}  // namespace aitune::frontend
