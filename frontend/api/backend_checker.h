// Checks a backend against eager when a module is tuned, in the same way as
// `aitune tune` does (frontend/check/check.h): on the inputs of the caller if
// they are known, otherwise on the samples, with the bound that the backend's
// configuration promises.
#ifndef AITUNE_FRONTEND_API_BACKEND_CHECKER_H_
#define AITUNE_FRONTEND_API_BACKEND_CHECKER_H_

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "frontend/backends/torchscript_source.h"
#include "frontend/check/check.h"
#include "frontend/check/reference_models.h"
#include "frontend/torchscript/model.h"
#include "frontend/torchscript/model_inputs.h"
#include "runtime/backend/backend.h"
#include "runtime/device/device.h"
#include "runtime/tensor/data_type.h"

namespace ait {

// The model to check against, and how to check.
struct CheckSubject {
  std::shared_ptr<aitune::frontend::TorchScriptSource> source;
  aitune::Device device;            // the device that backends run on
  std::optional<double> tolerance;  // TuneOptions::tolerance
  // TuneOptions::inputs, with the seed of random elements.
  std::optional<aitune::frontend::ModelInputs> inputs;
  uint64_t seed = 0;
  // Called with the number of cases done and of all cases; may be null.
  std::function<void(int done, int total)> progress;
};

// Not thread-safe; nobody else may call the model during a check.
class BackendChecker {
 public:
  explicit BackendChecker(CheckSubject subject);

  // Adds combinations of sizes at which to check, if CheckSubject::inputs is
  // set: those of BoundarySizes, where the backend that is checked next
  // switches to another version.
  void AddSizes(const std::vector<std::vector<int64_t>>& sizes);

  // Checks that `backend` computes the same as the model: with
  // CheckSubject::inputs, for the cases of CheckCases (once for each backend,
  // whatever the samples), otherwise for `sample`, which is on the device. The
  // outputs of a backend that narrows (Backend::narrowed_to) may have the
  // errors of its dtype, and are also compared with LibTorch's autocast to it;
  // those of a backend that quantises must keep its Backend::accuracy_bound;
  // others may have the errors of the model's own arithmetic. A backend that
  // differs is repaired (frontend/check/repair.h). kFailedPrecondition names
  // the output and says how it still differs, or why nothing could be compared.
  absl::Status Check(aitune::Backend& backend, const aitune::Sample& sample);

  // The reports of all checks, by the backend's key.
  const std::map<std::string, aitune::frontend::CheckReport>& reports() const {
    return reports_;
  }

 private:
  using Models =
      std::map<aitune::DataType,
               absl::StatusOr<std::shared_ptr<const aitune::frontend::Model>>>;

  absl::StatusOr<std::vector<aitune::frontend::InputCase>> Cases(
      const aitune::Sample& sample);
  // The model with autocast's casts, or null when they can't be made.
  const aitune::frontend::Model* WithCasts(aitune::DataType dtype);

  const CheckSubject subject_;
  std::set<std::vector<int64_t>> sizes_;
  std::map<std::string, aitune::frontend::CheckReport> reports_;
  aitune::frontend::ReferenceModels references_;
  Models with_casts_;
};

}  // namespace ait

#endif  // AITUNE_FRONTEND_API_BACKEND_CHECKER_H_
