// A TorchScript model as the model that backends are built from: nested
// LibTorch values on one side, flat lists of leaves on the other.
//
// Backends, guards and strategies see tensors by reference and nothing of
// LibTorch. The nesting of arguments and results is the source's: it is that of
// the first call (or of the example it was made with), and calls of another
// nesting are refused. A leaf that is no tensor, or one of a GPU, is an opaque
// value that holds an IValue.
#ifndef AITUNE_FRONTEND_BACKENDS_TORCHSCRIPT_SOURCE_H_
#define AITUNE_FRONTEND_BACKENDS_TORCHSCRIPT_SOURCE_H_

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "frontend/torchscript/model.h"
#include "frontend/trace/structure.h"
#include "frontend/values/value_list.h"
#include "runtime/backend/source_model.h"
#include "runtime/guards/input_description.h"

namespace aitune::frontend {

struct CompileSettings;

// Thread-safe.
class TorchScriptSource : public SourceModel {
 public:
  // `name` is for texts. Calls have the nesting of `example`; nothing: of the
  // first call. `sha256` is what Sha256 gave for the model before it was saved;
  // empty: not known.
  TorchScriptSource(std::shared_ptr<const Model> model, std::string name,
                    const std::optional<ValueList>& example = std::nullopt,
                    std::string sha256 = "");

  std::string name() const override { return name_; }
  const Model& model() const { return *model_; }
  const std::shared_ptr<const Model>& shared_model() const { return model_; }

  // ModelSha256 of the model, hashed once; the one it was made with if there is
  // one.
  absl::StatusOr<std::string> Sha256() const;

  // The model with its weights on GPU `gpu`, shared while somebody has it; -1:
  // on the CPU, as it is. Errors: kUnimplemented when LibTorch can't save the
  // model, and LibTorch's own.
  absl::StatusOr<std::shared_ptr<const Model>> ModelOn(int gpu) const;

  // How backends compile the model that are built from now on
  // (compile_settings.h); null: as their configurations say.
  void SetCompileSettings(std::shared_ptr<const CompileSettings> settings);
  std::shared_ptr<const CompileSettings> compile_settings() const;

  // The leaves of arguments. Tensors are made contiguous where they are not.
  // kInvalidArgument for another nesting than before, and for tensors that are
  // not contiguous where the program asks how they lie in memory.
  absl::StatusOr<Sample> Flatten(const ValueList& arguments) const;
  // Arguments have the nesting of `inputs`, a tuple of one child for each: what
  // compiled code numbers its leaves by. kInvalidArgument when they are known
  // to have another one, of which the order of a dict's keys is a part.
  absl::Status LearnArguments(const Structure& inputs) const;
  // The inverse of Flatten. The values refer to the memory of `inputs`.
  // kInvalidArgument for another number of leaves; kFailedPrecondition before
  // the nesting is known.
  absl::StatusOr<ValueList> Unflatten(
      absl::Span<const RegionValue> inputs) const;

  // The leaves of a result, and back. Errors as above.
  absl::StatusOr<std::vector<OwnedValue>> FlattenResult(
      const c10::IValue& result) const;
  // Likewise of a result that is `leaves` in the nesting of `structure`.
  absl::StatusOr<std::vector<OwnedValue>> FlattenResult(
      const Structure& structure, std::vector<OwnedValue> leaves) const;
  absl::StatusOr<c10::IValue> UnflattenResult(
      absl::Span<const OwnedValue> outputs) const;

  // In eager, on the GPU if one of the inputs is there.
  absl::StatusOr<std::vector<OwnedValue>> Infer(
      absl::Span<const RegionValue> inputs) override;

  // Of the model, and of its copies on GPUs that somebody has.
  absl::StatusOr<std::function<absl::Status()>> SaveState() override;

 private:
  // Nothing until the first value was seen.
  struct LearnedNesting;

  const std::shared_ptr<const Model> model_;
  const std::string name_;
  const std::string layout_query_;  // of FindLayoutQuery
  const std::shared_ptr<LearnedNesting> arguments_, result_;
  mutable std::mutex copies_mutex_;
  mutable std::map<int, std::weak_ptr<const Model>> copies_;  // by GPU
  mutable std::mutex settings_mutex_;
  std::shared_ptr<const CompileSettings> settings_;
  mutable std::once_flag hashed_;
  mutable absl::StatusOr<std::string> sha256_;
};

// The GPU of the first of `inputs` that is on one; -1: none is.
int GpuOf(absl::Span<const RegionValue> inputs);

// The inputs of a call as guards see them; they refer to `inputs`.
// kInvalidArgument for leaves that no guard can compare.
absl::StatusOr<std::vector<CallInput>> CallInputsOf(
    absl::Span<const RegionValue> inputs);

}  // namespace aitune::frontend

#endif  // AITUNE_FRONTEND_BACKENDS_TORCHSCRIPT_SOURCE_H_
