// A module's weights, replaced while it runs.
#include <map>
#include <memory>
#include <string>
#include <utility>

#include "frontend/api/module.h"
#include "frontend/backends/torchscript_source.h"
#include "runtime/backend/registry.h"
#include "runtime/status/status_macros.h"

namespace ait {
namespace {

// A backend that is as `backend`, but runs the model of `source`.
absl::StatusOr<std::shared_ptr<aitune::Backend>> Successor(
    const aitune::Backend& backend,
    const std::shared_ptr<aitune::frontend::TorchScriptSource>& source) {
  AITUNE_ASSIGN_OR_RETURN(const aitune::BackendStateProto state,
                          backend.ToDictFor(source));
  AITUNE_ASSIGN_OR_RETURN(std::shared_ptr<aitune::Backend> loaded,
                          aitune::BackendFromDict(source, state));
  AITUNE_RETURN_IF_ERROR(backend.state() == aitune::BackendState::kDeployed
                             ? loaded->Deploy(std::nullopt)
                             : loaded->Activate());
  return loaded;
}

}  // namespace

absl::Status Module::ReplaceWeights(
    const std::map<std::string, aitune::TensorView>& weights) {
  std::lock_guard<std::mutex> tuning(tune_mutex_);
  std::shared_ptr<aitune::frontend::TorchScriptSource> source;
  std::shared_ptr<aitune::Backend> backend;
  {
    std::lock_guard<std::mutex> lock(mutex_);
    source = source_;
    backend = backend_;
  }
  // With the state that calls of copies have left.
  AITUNE_RETURN_IF_ERROR(source->StateNumber().status());
  AITUNE_ASSIGN_OR_RETURN(aitune::frontend::Model changed,
                          source->model().WithWeights(weights));
  const auto next = source->WithModel(
      std::make_shared<const aitune::frontend::Model>(std::move(changed)));
  std::shared_ptr<aitune::Backend> successor;
  if (backend != nullptr) {
    AITUNE_ASSIGN_OR_RETURN(successor, Successor(*backend, next));
  }
  std::shared_ptr<const aitune::frontend::Model> unused;  // freed unlocked
  std::lock_guard<std::mutex> lock(mutex_);
  if (backend != nullptr) {
    // The successor counts from zero.
    const aitune::BackendUsage usage = backend->Usage();
    in_tuning_.calls -= usage.calls;
    in_tuning_.eager_calls -= usage.eager_calls;
    in_tuning_.recompilations -= usage.recompilations;
    in_tuning_.background_builds -= usage.background_builds;
    in_tuning_.background_failures -= usage.background_failures;
  }
  source_ = next;
  backend_ = std::move(successor);
  if (backend_ != nullptr) SetMemoryOf(*backend_);
  unused = std::exchange(eager_, nullptr);
  return absl::OkStatus();
}

}  // namespace ait
