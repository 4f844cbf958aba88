// The check of a backend against eager that tuning a module makes: that of
// `aitune tune` (frontend/check/check.h), on the same inputs where they are
// known, else on the samples, by the bound that the backend's configuration
// promises.
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
#include "frontend/compiled_model/model_inputs.h"
#include "frontend/torchscript/model.h"
#include "runtime/backend/backend.h"
#include "runtime/tensor/data_type.h"

namespace ait {

// What to check on.
struct CheckSubject {
  std::shared_ptr<aitune::frontend::TorchScriptSource> source;
  int gpu = -1;                     // that backends run on; -1: the CPU
  std::optional<double> tolerance;  // TuneOptions::tolerance
  // TuneOptions::inputs, with the seed of random elements.
  std::optional<aitune::frontend::ModelInputs> inputs;
  uint64_t seed = 0;
  // Called with the cases done and in all; may be null.
  std::function<void(int done, int total)> progress;
};

// Not thread-safe; nobody else may call the model while it checks.
class BackendChecker {
 public:
  explicit BackendChecker(CheckSubject subject);

  // Sizes at which the backend that is checked next changes its ways, of
  // BoundarySizes: with inputs it is checked there too.
  void AddSizes(const std::vector<std::vector<int64_t>>& sizes);

  // Whether `backend` computes what the model does: with inputs, for the cases
  // of CheckCases (once for a backend, whatever the samples), else for
  // `sample`, which is on the device. A backend that narrows
  // (Backend::narrowed_to) is held to its dtype, beside LibTorch's autocast to
  // it; one that quantises to its Backend::min_cosine; others to the dtypes of
  // the model's own arithmetic. kFailedPrecondition names the output and says
  // how it differs, or why nothing could be compared.
  absl::Status Check(const aitune::Backend& backend,
                     const aitune::Sample& sample);

  // What came of it, by the backend's key.
  const std::map<std::string, aitune::frontend::CheckReport>& reports() const {
    return reports_;
  }

 private:
  using Models =
      std::map<aitune::DataType,
               absl::StatusOr<std::shared_ptr<const aitune::frontend::Model>>>;

  absl::StatusOr<std::vector<aitune::frontend::InputCase>> Cases(
      const aitune::Sample& sample);
  // The model in a wider dtype.
  absl::StatusOr<const aitune::frontend::Model*> Reference(
      aitune::DataType dtype);
  // The model with autocast's casts, or null when they can't be made.
  const aitune::frontend::Model* WithCasts(aitune::DataType dtype);

  const CheckSubject subject_;
  std::set<std::vector<int64_t>> sizes_;
  std::map<std::string, aitune::frontend::CheckReport> reports_;
  Models references_, with_casts_;
};

}  // namespace ait

#endif  // AITUNE_FRONTEND_API_BACKEND_CHECKER_H_
