// Implements SourceModel with a TorchScript model. It converts between nested
// LibTorch values and flat lists of leaves.
//
// Backends, guards and strategies see tensors by reference and no types of
// LibTorch. The source remembers the nesting of arguments and results: that of
// the first call, or of the example that it was made with. Calls with another
// nesting are refused. A leaf that is no tensor, or a tensor on a GPU, is an
// opaque value that holds an IValue.
//
// A model may have state, which its calls change (ModelState). Where LibTorch
// runs such a model, calls run one after another. What is derived from the
// model (its hash, compiled versions, a checkpoint) is of the state that the
// model had then; StateNumber tells whether it still has it. Where LibTorch
// runs a copy (on a GPU, or with the casts of autocast) the copy is given the
// state before its calls, and the model what they made of it.
#ifndef AITUNE_FRONTEND_BACKENDS_TORCHSCRIPT_SOURCE_H_
#define AITUNE_FRONTEND_BACKENDS_TORCHSCRIPT_SOURCE_H_

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "frontend/torchscript/input_queries.h"
#include "frontend/torchscript/model.h"
#include "frontend/trace/trace.h"
#include "frontend/values/value_list.h"
#include "runtime/backend/source_model.h"
#include "runtime/device/device.h"

namespace aitune::frontend {

struct CompileSettings;

// Thread-safe.
class TorchScriptSource : public SourceModel {
 public:
  // `name` is used in messages. Calls must have the nesting of `example` or, if
  // that is not set, of the first call. `sha256` is the model's hash if it is
  // known, otherwise empty.
  TorchScriptSource(std::shared_ptr<const Model> model, std::string name,
                    const std::optional<ValueList>& example = std::nullopt,
                    std::string sha256 = "");
  ~TorchScriptSource() override;

  // A source of `model`, which takes and gives what this one's model does, with
  // the nesting that this one has learnt or will learn.
  std::shared_ptr<TorchScriptSource> WithModel(
      std::shared_ptr<const Model> model) const;

  std::string name() const override { return name_; }
  const Model& model() const { return *model_; }
  const std::shared_ptr<const Model>& shared_model() const { return model_; }

  // ModelSha256 of the model with the state that it has now, computed when it
  // is not known; the hash that was given to the constructor as long as the
  // state is the one of then or shared.
  absl::StatusOr<std::string> Sha256() const;

  // Whether LibTorch must run each call, with the arguments themselves
  // (InputQueries::own_arguments).
  bool NeedsOwnArguments() const {
    return !input_queries_.own_arguments.empty();
  }

  // Whether a call may change the model's state.
  bool HasState() const { return watched_ != nullptr; }
  // Excludes Call and others who hold the state, for as long as the result
  // lives; of a model without state nobody. A thread may hold it repeatedly.
  // Who takes a lock of a backend holds that one before.
  std::unique_lock<std::recursive_mutex> HoldState() const;
  // Whether compiled code shares its state with the model (ModelState::live):
  // none of it is built in.
  bool SharesState() const;
  // Holds the state of such a model, which what compiled code has on `device`
  // then is - the model's own tensors, or on a GPU GpuState - whatever calls of
  // others have left. Errors as StateNumber, and those of GpuState.
  absl::StatusOr<std::unique_lock<std::recursive_mutex>> HoldSharedState(
      const Device& device) const;
  // A number for the state that the model has now: another one than at the last
  // call if anyone has changed the state meanwhile. 0 for a model without
  // state. Gives the model the state that calls of its copies have left, keeps
  // a copy of it, and compares with that. kInternal with LibTorch's text when
  // the state can't be read.
  absl::StatusOr<int64_t> StateNumber() const;

  // For a call of `copy`, which is the model, a copy of it on `device`
  // (ModelOn), or another program on the modules of one: gives it the state
  // that the calls before have left, whichever of these they were made of. The
  // caller holds the state until the call has ended. Errors as StateNumber.
  absl::Status UseState(const std::shared_ptr<const Model>& copy,
                        const Device& device) const;

  // The model itself for the CPU; for a GPU with its weights there, in a copy
  // that all callers share while one of them keeps it. Errors:
  // kUnimplemented when LibTorch can't save the model, and LibTorch's own.
  absl::StatusOr<std::shared_ptr<const Model>> ModelOn(
      const Device& device) const;

  // Sets how backends that are built from now on compile the model
  // (compile_settings.h). Null: only by their configurations.
  void SetCompileSettings(std::shared_ptr<const CompileSettings> settings);
  std::shared_ptr<const CompileSettings> compile_settings() const;

  // The leaves of arguments. Tensors that are not contiguous are copied.
  // kInvalidArgument for another nesting than before, and for tensors that are
  // not contiguous if the program asks for their memory layout or writes to an
  // argument.
  absl::StatusOr<Sample> Flatten(const ValueList& arguments) const;
  // The same for a call, of which nothing is refused: arguments that Flatten
  // refuses are one opaque leaf, which holds them as they are (IsWholeCall).
  // LibTorch runs such a call. Errors: kInternal with LibTorch's text when it
  // can't copy a tensor.
  absl::StatusOr<Sample> FlattenCall(const ValueList& arguments) const;
  // Sets the nesting of arguments to that of `inputs`, a tuple with one child
  // for each argument, by which compiled code numbers the leaves.
  // kInvalidArgument when another nesting is already known; a different order
  // of a dict's keys is another nesting.
  absl::Status LearnArguments(const Structure& inputs) const;
  // The inverse of Flatten. The values refer to the memory of `inputs`.
  // kInvalidArgument for another number of leaves; kFailedPrecondition before
  // the nesting is known.
  absl::StatusOr<ValueList> Unflatten(
      absl::Span<const RegionValue> inputs) const;
  // The same, but the values keep the memory of `sample` alive.
  absl::StatusOr<ValueList> Unflatten(const Sample& sample) const;

  // Calls `run`, which calls `model` as UseState describes it, with the values
  // of flattened `inputs`, read in place, and returns the leaves of its result.
  // Holds the state meanwhile. Tensors of the result that are views of an input
  // on the CPU, and those that the model keeps in its state, get a copy of the
  // input's memory, which the caller may free. Errors: those of Unflatten,
  // UseState, `run` and FlattenResult.
  absl::StatusOr<std::vector<OwnedValue>> Call(
      absl::Span<const RegionValue> inputs,
      const std::shared_ptr<const Model>& model, const Device& device,
      const std::function<absl::StatusOr<c10::IValue>(const ValueList&)>& run)
      const;

  // The leaves of a result. A result that is nested in another way than the
  // first one is a single opaque leaf: a tuple that holds it.
  // kInternal with LibTorch's text when it can't copy a tensor.
  absl::StatusOr<std::vector<OwnedValue>> FlattenResult(
      const c10::IValue& result) const;
  // The leaves of a result that is given as `leaves` in the nesting of
  // `structure`.
  absl::StatusOr<std::vector<OwnedValue>> FlattenResult(
      const Structure& structure, std::vector<OwnedValue> leaves) const;
  // The inverse of FlattenResult. Errors as Unflatten.
  absl::StatusOr<c10::IValue> UnflattenResult(
      absl::Span<const OwnedValue> outputs) const;

  // The arguments of a call on a GPU.
  struct ArgumentsThere {
    ValueList values;  // copies of those that are not there
    // Gives the caller's what the call has written to the copies. kInternal
    // with LibTorch's text.
    std::function<absl::Status()> bring_back;
  };
  // May throw LibTorch's exceptions.
  ArgumentsThere ArgumentsOn(const Device& device, const ValueList& here) const;

  // Runs the model in eager, on the GPU if one of the inputs is there.
  absl::StatusOr<std::vector<OwnedValue>> Infer(
      absl::Span<const RegionValue> inputs) override;

  // Saves the state of the model, and of those copies on GPUs that are in use,
  // and what calls write of `inputs`. The result refers to this source and must
  // not outlive it. Errors: those of Unflatten; kInternal with LibTorch's text.
  absl::StatusOr<std::function<absl::Status()>> SaveState(
      absl::Span<const RegionValue> inputs) override;
  // The same for arguments as a caller gives them, of whatever nesting.
  absl::StatusOr<std::function<absl::Status()>> SaveState(
      const ValueList& arguments);
  // The part of it that is of the arguments (saved_arguments.h).
  absl::StatusOr<std::function<absl::Status()>> SaveArguments(
      const ValueList& arguments) const;

 private:
  // A nesting, which is not set until the first value was seen.
  struct LearnedNesting;
  // The state of a model that has one.
  struct WatchedState;

  TorchScriptSource(std::shared_ptr<const Model> model, std::string name,
                    std::shared_ptr<LearnedNesting> arguments,
                    std::shared_ptr<LearnedNesting> result);
  // Gives the model the state that calls of a copy have left. The state is
  // held. kInternal with LibTorch's text.
  absl::Status BringStateHome() const;
  // SaveState without inputs.
  absl::StatusOr<std::function<absl::Status()>> SaveModelState();
  absl::StatusOr<ValueList> Nested(std::vector<c10::IValue> leaves) const;

  const std::shared_ptr<const Model> model_;
  const std::string name_;
  const InputQueries input_queries_;
  const bool sees_dict_order_;  // the result of SeesDictOrder
  // Whether the log has why LibTorch runs the calls.
  mutable std::atomic<bool> has_told_ = false;
  const std::shared_ptr<LearnedNesting> arguments_, result_;
  mutable std::mutex copies_mutex_;
  mutable std::map<int, std::weak_ptr<const Model>> copies_;  // by GPU
  mutable std::mutex settings_mutex_;
  std::shared_ptr<const CompileSettings> settings_;
  const std::unique_ptr<WatchedState> watched_;  // null without state
  mutable std::mutex hash_mutex_;
  mutable std::optional<absl::StatusOr<std::string>> sha256_;
  mutable int64_t hashed_state_ = 0;  // StateNumber that sha256_ is of
};

}  // namespace aitune::frontend

#endif  // AITUNE_FRONTEND_BACKENDS_TORCHSCRIPT_SOURCE_H_
