// The check of a backend against eager that tuning a module makes: that of
// `aitune tune` (frontend/check/check.h), on the samples, by the bound that
// the backend's configuration promises.
#ifndef AITUNE_FRONTEND_API_BACKEND_CHECKER_H_
#define AITUNE_FRONTEND_API_BACKEND_CHECKER_H_

#include <map>
#include <memory>
#include <optional>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "frontend/backends/torchscript_source.h"
#include "frontend/torchscript/model.h"
#include "runtime/backend/backend.h"
#include "runtime/tensor/data_type.h"

namespace ait {

// Not thread-safe; nobody else may call the model while it checks.
class BackendChecker {
 public:
  // On `gpu`; -1: the CPU. `tolerance` is TuneOptions::tolerance.
  BackendChecker(std::shared_ptr<aitune::frontend::TorchScriptSource> source,
                 int gpu, std::optional<double> tolerance);

  // Whether `backend` computes what the model does for `sample`, which is on
  // the device. A backend that narrows (Backend::narrowed_to) is held to its
  // dtype, beside LibTorch's autocast to it; others to the dtypes of the
  // model's own arithmetic. kFailedPrecondition names the output and says how
  // it differs, or why nothing could be compared.
  absl::Status Check(const aitune::Backend& backend,
                     const aitune::Sample& sample);

 private:
  using Models =
      std::map<aitune::DataType,
               absl::StatusOr<std::shared_ptr<const aitune::frontend::Model>>>;

  // The model in a wider dtype.
  absl::StatusOr<const aitune::frontend::Model*> Reference(
      aitune::DataType dtype);
  // The model with autocast's casts, or null when they can't be made.
  const aitune::frontend::Model* WithCasts(aitune::DataType dtype);

  const std::shared_ptr<aitune::frontend::TorchScriptSource> source_;
  const int gpu_;
  const std::optional<double> tolerance_;
  Models references_, with_casts_;
};

}  // namespace ait

#endif  // AITUNE_FRONTEND_API_BACKEND_CHECKER_H_
