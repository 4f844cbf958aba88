// A tuned model as one file or one folder: the TorchScript model, the backend's
// state and its compiled artifacts.
//
//   SaveCheckpoint(*backend, *source, "bert.aitune", BundleFormat::kFile);
//   auto loaded = LoadCheckpoint("bert.aitune");
//   loaded->backend->Deploy(std::nullopt);      // or Activate()
//
// On the kind of machine that a checkpoint was saved on, loading it compiles
// nothing and needs no compiler: a program without LLVM can deploy it. On
// another kind of machine the backend logs the difference and compiles anew, or
// fails in a program without the compiler. The model is stored as
// torch.jit.save writes it; nothing else in a checkpoint is a pickle. Weights
// of which all versions hold quantised codes are stored as these
// (weight_codes.h).
//
// A checkpoint is a program: it holds machine code, and what its model.pt does
// says nothing of that. Load those of people that you trust, and compare the
// digest (SECURITY.md).
#ifndef AITUNE_FRONTEND_CHECKPOINT_CHECKPOINT_H_
#define AITUNE_FRONTEND_CHECKPOINT_CHECKPOINT_H_

#include <filesystem>
#include <memory>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "frontend/backends/torchscript_source.h"
#include "runtime/backend/backend.h"
#include "runtime/bundle/bundle.h"

namespace aitune::frontend {

// Saves a backend that was built from `source`, with the state that the model
// has now; calls of a loaded checkpoint start from that. Versions that hold
// another state are not saved: LibTorch runs the calls until it is built again.
// Returns the checkpoint's digest (see bundle.h). Errors: those of
// Backend::ToDict and WriteBundle, kUnimplemented when LibTorch can't save the
// model, and kAborted when a call changes the state meanwhile.
absl::StatusOr<std::string> SaveCheckpoint(const Backend& backend,
                                           const TorchScriptSource& source,
                                           const std::filesystem::path& path,
                                           BundleFormat format);

struct LoadedCheckpoint {
  std::shared_ptr<TorchScriptSource> source;
  std::unique_ptr<Backend> backend;  // CHECKPOINT_LOADED
};

// Loads a checkpoint. `digest` is the result of SaveCheckpoint; if it is empty
// it is not compared. Errors: those of ReadBundle and BackendFromDict;
// kInvalidArgument for another version; kDataLoss for parts that were not saved
// together, such as the model of another checkpoint; kFailedPrecondition when
// the checkpoint was made with a replacement of an operator (SubstituteInGraph)
// that this process lacks, because a model compiled after loading would compute
// something else.
absl::StatusOr<LoadedCheckpoint> LoadCheckpoint(
    const std::filesystem::path& path,
    std::optional<std::string_view> digest = {});

// The same from the bytes of a checkpoint that was saved as one file. Takes the
// model's memory beside `bytes`, as LoadCheckpoint does beside nothing.
absl::StatusOr<LoadedCheckpoint> LoadCheckpointBytes(
    std::string_view bytes, std::optional<std::string_view> digest = {});

}  // namespace aitune::frontend

#endif  // AITUNE_FRONTEND_CHECKPOINT_CHECKPOINT_H_
