// Quantised weights in checkpoints: only as codes and scales, one byte an
// element, once for all versions. The model in the checkpoint lacks the weights
// themselves. Once it is loaded it has what the codes stand for in their place,
// which is made when something first reads it (coded_weights.h): LibTorch
// computes with that. Versions that are compiled later find it to be what the
// codes stand for, and take these. Calls of the versions in the checkpoint do
// not read it. Those that LibTorch runs in part are traced when they are
// loaded, with weights that go again.
//
// The codes stay beside the loaded model, to make the weights of and to be
// saved again. A version whose kernels read them as they are refers to them;
// one that has them in an order of its own, as most on a CPU, or on a GPU has
// them once more.
#ifndef AITUNE_FRONTEND_CHECKPOINT_WEIGHT_CODES_H_
#define AITUNE_FRONTEND_CHECKPOINT_WEIGHT_CODES_H_

#include <map>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "frontend/backends/torchscript_source.h"
#include "frontend/checkpoint/checkpoint.pb.h"
#include "frontend/compiled_model/artifact.h"
#include "frontend/torchscript/model.h"
#include "runtime/bundle/bundle.h"

namespace aitune::frontend {

// Whether a checkpoint has these parts.
bool HasCodes(const Blobs& blobs);

// Moves the codes of quantised weights from `artifacts`, the stored versions of
// the source's model, to parts of the checkpoint, if there are any, and
// replaces the hash of the model in `proto` and the artifacts by one of the
// model as it will be once it is loaded. Returns the model to be stored: that
// of the source, but for weights that no kernel of a version reads and whose
// codes are there; nothing if there are none, and for a model whose state is
// built in, which keeps its weights. Parts of a version that LibTorch runs read
// what the codes stand for once the model is loaded. Errors: kInvalidArgument
// for an artifact that can't be read, and LibTorch's own.
absl::StatusOr<std::optional<Model>> TakeOutWeights(
    const TorchScriptSource& source,
    std::map<std::string, ArtifactBlobs>* artifacts, CheckpointProto* proto,
    Blobs* blobs);

// Gives the model of a checkpoint with these parts, which was loaded and which
// nothing else uses yet, weights in place of those that were taken out, and the
// codes beside them, which are moved out of `blobs`. The weights are not made
// yet, but for a model with state that compiled code can't share
// (ModelState::live). kInvalidArgument for parts that don't fit the model.
// `path` is what errors call the checkpoint.
absl::Status PutBackWeights(const std::string& path, Blobs* blobs,
                            Model* model);

}  // namespace aitune::frontend

#endif  // AITUNE_FRONTEND_CHECKPOINT_WEIGHT_CODES_H_
