// A stored compiled model for the same program with other weights, without
// compiling it.
#ifndef AITUNE_FRONTEND_COMPILED_MODEL_REPLACE_WEIGHTS_H_
#define AITUNE_FRONTEND_COMPILED_MODEL_REPLACE_WEIGHTS_H_

#include <string_view>

#include "absl/status/statusor.h"
#include "frontend/compiled_model/artifact.h"
#include "frontend/torchscript/model.h"

namespace aitune::frontend {

// A model, and its hash (ModelSha256) or the name that stands for it.
struct IdentifiedModel {
  const Model& model;
  std::string_view sha256;
};

// The artifact that `stored`, which was compiled from `old`, is for `changed`,
// which is Model::WithWeights of it. Kernels and plan stay. What tracing
// computes from weights alone is computed anew; packed layouts and the plan's
// initialization are made when an artifact is loaded. `gpu` as ReadArtifact.
//
// kFailedPrecondition where the compiled code depends on the old elements. The
// text names the weight and what was made of it: a number in the code (tensors
// of one element), bounds that were proved (tensors of integers), a rearranged
// filter, a quantised layer, the program's own decisions. Also for an artifact
// that does not say what it was traced for. Otherwise the errors of
// ReadArtifact, MakeTrace and WriteArtifact. Traces the model twice, which
// takes seconds for large ones. Thread-safe.
absl::StatusOr<ArtifactBlobs> ReplaceWeights(const ArtifactBlobs& stored,
                                             const IdentifiedModel& old,
                                             const IdentifiedModel& changed,
                                             std::string_view gpu = {});

}  // namespace aitune::frontend

#endif  // AITUNE_FRONTEND_COMPILED_MODEL_REPLACE_WEIGHTS_H_
