// The state that a TorchScriptSource keeps of its model, for its sources alone.
#ifndef AITUNE_FRONTEND_BACKENDS_WATCHED_STATE_H_
#define AITUNE_FRONTEND_BACKENDS_WATCHED_STATE_H_

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>

#include "frontend/backends/torchscript_source.h"
#include "frontend/torchscript/gpu_state.h"
#include "frontend/torchscript/model_state.h"

namespace aitune::frontend {

struct TorchScriptSource::WatchedState {
  explicit WatchedState(const Model& model) : state(model) {}

  // Null for a model without state.
  static std::unique_ptr<WatchedState> Of(const Model& model) {
    auto watched = std::make_unique<WatchedState>(model);
    return watched->state.exists() ? std::move(watched) : nullptr;
  }

  std::recursive_mutex mutex;
  ModelState state;    // as it was last seen
  int64_t number = 0;  // 0: not seen yet
  // The copy whose calls have made the present state, and its device. Null: the
  // model has it.
  std::shared_ptr<const Model> newest;
  std::unique_ptr<ModelState> state_of_newest;
  std::optional<Device> gpu_of_newest;
  // The same of calls of compiled code; never beside `newest`.
  std::shared_ptr<GpuState> newest_shared;
  // By GPU, while compiled code there keeps it.
  std::map<int, std::weak_ptr<GpuState>> on_gpu;
};

}  // namespace aitune::frontend

#endif  // AITUNE_FRONTEND_BACKENDS_WATCHED_STATE_H_
