// The versions of a compiled model for sizes that its first one is not right
// for.
//
// A program that decides by a size (`if x.size(0) > 20`) has one version for
// each of its ways. The first is made for the sample, or the largest sizes; the
// others when a call, or who asks for them ahead, has sizes in the ranges asked
// for that no version holds.
#ifndef AITUNE_FRONTEND_COMPILED_MODEL_MODEL_VERSIONS_H_
#define AITUNE_FRONTEND_COMPILED_MODEL_MODEL_VERSIONS_H_

#include <memory>
#include <mutex>
#include <vector>

#include "absl/status/statusor.h"
#include "frontend/compiled_model/compiled_model.h"
#include "frontend/compiled_model/model_inputs.h"

namespace aitune::frontend {

// Thread-safe.
class ModelVersions {
 public:
  // `model` and what `options` points to must outlive this. Versions are built
  // with `options`, but without progress and without a search for schedules.
  ModelVersions(const Model& model, ModelInputs inputs,
                const BuildOptions& options);

  // The version that holds the sizes of `arguments`, compiled if there is none;
  // it lives as long as this. Errors: kInvalidArgument for sizes outside of the
  // ranges asked for, and those of CompiledModel::Build.
  absl::StatusOr<const CompiledModel*> Find(const ValueList& arguments);

  // Those there are, in the order in which they were made.
  std::vector<const CompiledModel*> all() const;

 private:
  const CompiledModel* Match(const ValueList& arguments) const;

  const Model& model_;
  const ModelInputs inputs_;
  BuildOptions options_;
  // Held while compiling: one version at a time. Taken before mutex_.
  std::mutex compile_mutex_;
  mutable std::mutex mutex_;
  std::vector<std::unique_ptr<CompiledModel>> versions_;
};

// Combinations of sizes to compare with eager on, one size for each symbol of
// AssignSymbols(inputs.specs): both sides of each boundary of what `compiled`
// holds, and random ones between. Those of CheckCases are not among them.
absl::StatusOr<std::vector<std::vector<int64_t>>> BoundarySizes(
    const CompiledModel& compiled, const ModelInputs& inputs, uint64_t seed);

}  // namespace aitune::frontend

#endif  // AITUNE_FRONTEND_COMPILED_MODEL_MODEL_VERSIONS_H_
