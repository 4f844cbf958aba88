// The further versions of a compiled model, for sizes that its first version is
// not right for.
//
// A program that decides by a size (`if x.size(0) > 20`) has one version for
// each of its paths. The first is made for the sample, or for the largest
// sizes. Another is made when a call has sizes that are in the ranges of the
// inputs but that no version covers.
#ifndef AITUNE_FRONTEND_COMPILED_MODEL_MODEL_VERSIONS_H_
#define AITUNE_FRONTEND_COMPILED_MODEL_MODEL_VERSIONS_H_

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "frontend/compiled_model/compiled_model.h"
#include "frontend/compiled_model/version_state.h"
#include "frontend/torchscript/model_inputs.h"

namespace aitune::frontend {

// Thread-safe.
class ModelVersions {
 public:
  // `model` and the objects that `options` points to must outlive this.
  // Versions are built with `options`, but without progress and without a
  // search for schedules. `model` has the state of the first version, which is
  // on `device`. May throw LibTorch's exceptions.
  ModelVersions(const Model& model, ModelInputs inputs,
                const BuildOptions& options, const Device& device);

  // The state of the model, which calls must hold; null for one without.
  VersionState* state() const { return state_.get(); }

  // The version that covers the sizes of `arguments`, which is compiled if
  // there is none. It lives as long as this object. Errors: kInvalidArgument
  // for sizes outside of the ranges of the inputs, and those of
  // CompiledModel::Build. Sizes for which the model raised are not tried again.
  // Null where there is none and the state is another than that of the versions
  // (VersionState): LibTorch must run the call.
  absl::StatusOr<const CompiledModel*> Find(const ValueList& arguments);

  // Repairs the version that covers the sizes of `arguments`, which are on the
  // CPU, as CompiledModel::Repair. `there` are the same arguments on the
  // versions' device. No other call may run meanwhile.
  absl::StatusOr<bool> Repair(const ValueList& arguments,
                              const ValueList& there,
                              const BuildProgress& progress);

  // Lets versions that are built from now on take nothing of `wrong`. Called
  // while no other call runs.
  void LeaveOut(absl::Span<const WrongCandidate> wrong);

  // All versions, in the order in which they were made.
  std::vector<const CompiledModel*> all() const;

 private:
  CompiledModel* Match(const ValueList& arguments) const;
  // A version for these sizes of the symbols, which `arguments` have: for all
  // sizes of the ranges that the program treats alike, or where it raises at
  // others of them for these alone.
  absl::StatusOr<std::unique_ptr<CompiledModel>> BuildFor(
      const std::vector<int64_t>& sizes, const ValueList& arguments) const;

  const Model& model_;
  const ModelInputs inputs_;
  BuildOptions options_;
  const std::unique_ptr<VersionState> state_;  // null for a model without state
  // Held while compiling: one version at a time. Taken before mutex_.
  std::mutex compile_mutex_;
  // For sizes of the symbols whether a version was built for them: kOk, or why
  // the model refuses them. Guarded by compile_mutex_.
  std::map<std::vector<int64_t>, absl::Status> tried_;
  mutable std::mutex mutex_;
  std::vector<std::unique_ptr<CompiledModel>> versions_;
};

// Combinations of sizes at which to compare with eager, each with one size for
// each symbol of AssignSymbols(inputs.specs): on both sides of each boundary of
// the sizes that a version of `compiled` covers, and random ones between. Those
// of CheckCases are not among them.
absl::StatusOr<std::vector<std::vector<int64_t>>> BoundarySizes(
    const CompiledModel& compiled, const ModelInputs& inputs, uint64_t seed);

}  // namespace aitune::frontend

#endif  // AITUNE_FRONTEND_COMPILED_MODEL_MODEL_VERSIONS_H_
