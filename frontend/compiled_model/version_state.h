// The state of a model that has several versions. A version that does not share
// the state (ModelState::live) holds the one that the model had when it was
// made: the first call that changes it leaves versions of other sizes behind.
#ifndef AITUNE_FRONTEND_COMPILED_MODEL_VERSION_STATE_H_
#define AITUNE_FRONTEND_COMPILED_MODEL_VERSION_STATE_H_

#include <memory>
#include <mutex>
#include <optional>

#include "absl/status/statusor.h"
#include "frontend/compiled_model/compiled_model.h"
#include "frontend/torchscript/model.h"
#include "frontend/torchscript/model_state.h"
#include "runtime/device/device.h"

namespace aitune::frontend {

// LibTorch runs every call that may change the state, on one model: that of
// the versions or, on a GPU, a copy there. Once a call has changed the state,
// it runs all calls, until the state is that of the versions again. What others
// change is found at the first call that LibTorch runs. Used by one thread at a
// time.
class VersionState {
 public:
  // Null for a model without state. `model` must outlive the result, has the
  // state of the versions, and runs on `device`. May throw LibTorch's
  // exceptions.
  static std::unique_ptr<VersionState> Of(const Model& model,
                                          const Device& device);

  // The same for any model, where LibTorch runs all calls.
  static std::unique_ptr<VersionState> OfAny(const Model& model,
                                             const Device& device);

  // Excludes other calls while it lives.
  std::unique_lock<std::mutex> Hold() {
    return std::unique_lock<std::mutex>(mutex_);
  }

  // Whether the state is not that of the versions. kInternal with LibTorch's
  // text when the state can't be read.
  absl::StatusOr<bool> HasChanged();

  // Whether a call that `version` fits must be made by Run instead of by it.
  // Errors as HasChanged.
  absl::StatusOr<bool> LibTorchRuns(const CompiledModel& version);

  // Has LibTorch run one call, with arguments on the device. The result has
  // memory of its own. Errors as Model::RunEager.
  absl::StatusOr<c10::IValue> Run(const ValueList& arguments);

 private:
  VersionState(const Model& model, const Device& device)
      : model_(model), device_(device) {}
  // The model that LibTorch runs, whose state is watched from now on.
  absl::StatusOr<const Model*> Watched();
  // Gives the model on the GPU, if there is one and it does not share the
  // state, that of the model again where it was restored there since.
  absl::Status FollowRestores();

  const Model& model_;
  const Device device_;
  std::mutex mutex_;
  // Whether versions on a GPU share the state (GpuState): it is then passed on
  // to the model that LibTorch runs, and back, at each such call.
  bool on_gpu_shared_ = false;
  std::optional<Model> on_gpu_;  // made when it is first run
  int64_t restores_ = 0;  // CountRestores of model_, as on_gpu_ has its state
  std::unique_ptr<ModelState> state_;  // of the versions; of Watched()
  bool changed_ = false;  // as last seen, or whether it may have since
};

}  // namespace aitune::frontend

#endif  // AITUNE_FRONTEND_COMPILED_MODEL_VERSION_STATE_H_
