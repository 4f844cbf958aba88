#include "frontend/backends/torchscript_source.h"

#include <ATen/core/ivalue.h>

#include <algorithm>
#include <atomic>
#include <utility>

#include "absl/strings/str_cat.h"
#include "frontend/backends/call_leaves.h"
#include "frontend/backends/own_results.h"
#include "frontend/backends/watched_state.h"
#include "frontend/torchscript/dict_order.h"
#include "frontend/torchscript/model_bytes.h"
#include "frontend/torchscript/model_tensors.h"
#include "frontend/trace/leaf_value.h"
#include "frontend/trace/structure.h"
#include "frontend/trace/structure_internal.h"
#include "frontend/values/borrowed_memory.h"
#include "frontend/values/gpu.h"
#include "frontend/values/torch_util.h"
#include "runtime/logging/logging.h"
#include "runtime/status/status_macros.h"

namespace aitune::frontend {

struct TorchScriptSource::LearnedNesting {
  explicit LearnedNesting(std::string what) : what(std::move(what)) {}

  // Null until a nesting was learned; constant afterwards.
  const Structure* Known() const {
    return known.load(std::memory_order_acquire) ? &structure : nullptr;
  }

  // Takes `seen` unless a nesting is known; the one that is.
  const Structure& Learn(Structure seen) {
    std::lock_guard<std::mutex> lock(mutex);
    if (!known.load(std::memory_order_relaxed)) {
      structure = std::move(seen);
      known.store(true, std::memory_order_release);
    }
    return structure;
  }

  absl::Status Differs(const std::string& given) const {
    return absl::InvalidArgumentError(absl::StrCat(
        "the ", what, " are nested in another way than before: ", given,
        "; use a module of its own for each nesting"));
  }

  absl::StatusOr<std::vector<OwnedValue>> Flatten(
      const std::vector<c10::IValue>& values) {
    const Structure* nesting = Known();
    if (nesting == nullptr) nesting = &Learn(NestingOf(values));
    absl::StatusOr<std::vector<OwnedValue>> leaves =
        FlattenLeaves(*nesting, values);
    if (absl::IsInvalidArgument(leaves.status()))
      return Differs(ValueList(values).Describe());
    return leaves;
  }

  // One value for each child.
  absl::StatusOr<std::vector<c10::IValue>> Unflatten(
      std::vector<c10::IValue> leaves) const {
    const Structure* nesting = Known();
    if (nesting == nullptr)
      return absl::FailedPreconditionError(
          absl::StrCat("the nesting of the ", what, " is not known yet"));
    absl::StatusOr<c10::IValue> values =
        UnflattenLeaves(*nesting, std::move(leaves));
    if (!values.ok())
      return absl::Status(
          values.status().code(),
          absl::StrCat("the ", what, ": ", values.status().message()));
    return values->toTupleRef().elements().vec();
  }

  const std::string what;
  std::mutex mutex;
  std::atomic<bool> known{false};
  Structure structure;  // a tuple; constant once known
};

TorchScriptSource::~TorchScriptSource() = default;

TorchScriptSource::TorchScriptSource(std::shared_ptr<const Model> model,
                                     std::string name,
                                     const std::optional<ValueList>& example,
                                     std::string sha256)
    : TorchScriptSource(std::move(model), std::move(name),
                        std::make_shared<LearnedNesting>("arguments"),
                        std::make_shared<LearnedNesting>("outputs")) {
  if (example) arguments_->Learn(NestingOf(example->values()));
  if (sha256.empty()) return;
  const absl::StatusOr<int64_t> state = StateNumber();
  if (!state.ok()) return;
  hashed_state_ = *state;
  sha256_ = std::move(sha256);
}

TorchScriptSource::TorchScriptSource(std::shared_ptr<const Model> model,
                                     std::string name,
                                     std::shared_ptr<LearnedNesting> arguments,
                                     std::shared_ptr<LearnedNesting> result)
    : model_(std::move(model)),
      name_(std::move(name)),
      input_queries_(FindInputQueries(*model_)),
      sees_dict_order_(SeesDictOrder(*model_)),
      arguments_(std::move(arguments)),
      result_(std::move(result)),
      watched_(WatchedState::Of(*model_)) {}

std::shared_ptr<TorchScriptSource> TorchScriptSource::WithModel(
    std::shared_ptr<const Model> model) const {
  std::shared_ptr<TorchScriptSource> source(
      new TorchScriptSource(std::move(model), name_, arguments_, result_));
  source->SetCompileSettings(compile_settings());
  return source;
}

absl::StatusOr<std::string> TorchScriptSource::Sha256() const {
  const auto held = HoldState();
  AITUNE_ASSIGN_OR_RETURN(const int64_t state, StateNumber());
  const std::lock_guard<std::mutex> lock(hash_mutex_);
  if (!sha256_ || (hashed_state_ != state && !SharesState())) {
    sha256_ = ModelSha256(*model_);
    hashed_state_ = state;
  }
  return *sha256_;
}

void TorchScriptSource::SetCompileSettings(
    std::shared_ptr<const CompileSettings> settings) {
  std::lock_guard<std::mutex> lock(settings_mutex_);
  settings_ = std::move(settings);
}

std::shared_ptr<const CompileSettings> TorchScriptSource::compile_settings()
    const {
  std::lock_guard<std::mutex> lock(settings_mutex_);
  return settings_;
}

absl::StatusOr<std::shared_ptr<const Model>> TorchScriptSource::ModelOn(
    const Device& device) const {
  if (!device.is_gpu()) return model_;
  const auto held = HoldState();
  std::lock_guard<std::mutex> lock(copies_mutex_);
  std::weak_ptr<const Model>& copy = copies_[device.gpu()];
  if (std::shared_ptr<const Model> made = copy.lock()) return made;
  // Through bytes: LibTorch's own copies share the code, which names devices.
  AITUNE_ASSIGN_OR_RETURN(const std::string bytes, ModelBytes(*model_));
  LoadOptions options;
  options.device = device;
  AITUNE_ASSIGN_OR_RETURN(Model moved, ModelFromBytes(bytes, options));
  auto made = std::make_shared<const Model>(std::move(moved));
  copy = made;
  return std::shared_ptr<const Model>(std::move(made));
}

absl::StatusOr<Sample> TorchScriptSource::Flatten(
    const ValueList& arguments) const {
  AITUNE_RETURN_IF_ERROR(CheckQueries(input_queries_, arguments));
  AITUNE_RETURN_IF_ERROR(CheckWrites(input_queries_, arguments));
  AITUNE_ASSIGN_OR_RETURN(Sample leaves,
                          arguments_->Flatten(arguments.values()));
  if (sees_dict_order_) {
    AITUNE_RETURN_IF_ERROR(
        CheckKeyOrder(*arguments_->Known(), arguments.values()));
  }
  return leaves;
}

absl::StatusOr<Sample> TorchScriptSource::FlattenCall(
    const ValueList& arguments) const {
  const size_t most = model_->parameters().size();
  if (static_cast<size_t>(arguments.size()) > most)
    return absl::InvalidArgumentError(absl::StrCat(
        "a call gives ", arguments.size(), " arguments, but the model takes ",
        most, ": ", model_->Signature()));
  // Of leaves other lists and dicts than the caller's are made.
  std::string why = input_queries_.own_arguments;
  if (!input_queries_.container_write.empty())
    why = absl::StrCat("the program changes a list or dict that it is given (",
                       input_queries_.container_write,
                       "); have it return a new one instead");
  if (!why.empty()) {
    if (!has_told_.exchange(true))
      Log(LogChannel::kWarning,
          absl::StrCat(name_, ": LibTorch runs its calls, as ", why));
    return WholeCall(arguments);
  }
  absl::StatusOr<Sample> leaves = Flatten(arguments);
  if (!absl::IsInvalidArgument(leaves.status())) return leaves;
  return WholeCall(arguments);
}

TorchScriptSource::ArgumentsThere TorchScriptSource::ArgumentsOn(
    const Device& device, const ValueList& here) const {
  if (input_queries_.write.empty())
    return {ToDevice(here, device), [] { return absl::OkStatus(); }};
  ValueList there = ToDeviceTogether(here, device);
  // The call may give the copies other sizes and strides.
  const ValueList memory =
      there.MapTensors([](const at::Tensor& tensor) { return tensor.alias(); });
  return {std::move(there), [here, memory] {
            return CatchExceptions(absl::StatusCode::kInternal, "an argument",
                                   [&] {
                                     CopyChangesBack(memory, here);
                                     return absl::OkStatus();
                                   });
          }};
}

absl::Status TorchScriptSource::LearnArguments(const Structure& inputs) const {
  const Structure* known = arguments_->Known();
  if (known == nullptr) known = &arguments_->Learn(inputs);
  if (SameNesting(*known, inputs)) return absl::OkStatus();
  return arguments_->Differs("those that it was compiled for");
}

absl::StatusOr<ValueList> TorchScriptSource::Nested(
    std::vector<c10::IValue> leaves) const {
  if (leaves.size() == 1 && HoldsArguments(leaves[0]))
    return ValueList(leaves[0].toTupleRef().elements().vec());
  // A model of tensors is called with its leaves from the start.
  if (arguments_->Known() == nullptr) return ValueList(std::move(leaves));
  AITUNE_ASSIGN_OR_RETURN(std::vector<c10::IValue> values,
                          arguments_->Unflatten(std::move(leaves)));
  return ValueList(std::move(values));
}

absl::StatusOr<ValueList> TorchScriptSource::Unflatten(
    absl::Span<const RegionValue> inputs) const {
  std::vector<c10::IValue> leaves;
  leaves.reserve(inputs.size());
  for (const RegionValue& input : inputs) leaves.push_back(ToIValue(input));
  return Nested(std::move(leaves));
}

absl::StatusOr<ValueList> TorchScriptSource::Unflatten(
    const Sample& sample) const {
  std::vector<c10::IValue> leaves;
  leaves.reserve(sample.size());
  for (const OwnedValue& input : sample)
    leaves.push_back(ToIValue(input.value, input.owner));
  return Nested(std::move(leaves));
}

absl::StatusOr<std::vector<OwnedValue>> TorchScriptSource::Call(
    absl::Span<const RegionValue> inputs,
    const std::shared_ptr<const Model>& model, const Device& device,
    const std::function<absl::StatusOr<c10::IValue>(const ValueList&)>& run)
    const {
  std::vector<c10::IValue> leaves;
  std::vector<at::Tensor> tensors;
  for (const RegionValue& input : inputs) {
    leaves.push_back(ToIValue(input));
    if (std::holds_alternative<TensorView>(input))
      tensors.push_back(leaves.back().toTensor());
  }
  // As a sample is given; FlattenCall gives arguments as they are.
  if (NeedsOwnArguments())
    std::for_each(tensors.begin(), tensors.end(), LetResize);
  else if (!input_queries_.write.empty() && !device.is_gpu())
    ShareStorages(tensors);
  BorrowedMemory borrowed;
  for (size_t i = 0, next = 0; i < inputs.size(); ++i) {
    if (!std::holds_alternative<TensorView>(inputs[i])) continue;
    borrowed.Add(tensors[next]);
    leaves[i] = std::move(tensors[next++]);
  }
  absl::StatusOr<c10::IValue> result;
  {
    AITUNE_ASSIGN_OR_RETURN(const ValueList arguments,
                            Nested(std::move(leaves)));
    const auto held = HoldState();
    AITUNE_RETURN_IF_ERROR(UseState(model, device));
    result = run(arguments);
    if (watched_ != nullptr && result.ok())
      result = OwnResult(*std::move(result));
  }
  borrowed.Release();
  if (!result.ok()) return result.status();
  return FlattenResult(*result);
}

absl::StatusOr<std::vector<OwnedValue>> TorchScriptSource::FlattenResult(
    const c10::IValue& result) const {
  absl::StatusOr<std::vector<OwnedValue>> leaves = result_->Flatten({result});
  // Leaves are nested by the first result, which has its order of keys.
  const bool is_nested_so =
      leaves.ok() ? CheckKeyOrder(*result_->Known(), {result}).ok()
                  : !absl::IsInvalidArgument(leaves.status());
  if (is_nested_so) return leaves;
  return std::vector<OwnedValue>{{OpaqueValue(std::make_shared<c10::IValue>(
                                      c10::ivalue::Tuple::create({result}))),
                                  nullptr}};
}

absl::StatusOr<std::vector<OwnedValue>> TorchScriptSource::FlattenResult(
    const Structure& structure, std::vector<OwnedValue> leaves) const {
  // What LibTorch computed from data may be nested itself.
  const bool nested = std::any_of(leaves.begin(), leaves.end(), HoldsContainer);
  if (!nested) {
    const Structure* known = result_->Known();
    if (known == nullptr)
      known = &result_->Learn(
          ContainerStructure(Structure::Kind::kTuple, {structure}, {}));
    if (known->children.size() == 1 &&
        SameNesting(known->children[0], structure))
      return leaves;
  }
  std::vector<c10::IValue> values;
  for (const OwnedValue& leaf : leaves)
    values.push_back(ToIValue(leaf.value, leaf.owner));
  AITUNE_ASSIGN_OR_RETURN(const c10::IValue result,
                          UnflattenLeaves(structure, std::move(values)));
  return FlattenResult(result);
}

absl::StatusOr<c10::IValue> TorchScriptSource::UnflattenResult(
    absl::Span<const OwnedValue> outputs) const {
  if (outputs.size() == 1 && HoldsContainer(outputs[0]))
    return ToIValue(outputs[0].value).toTupleRef().elements()[0];
  std::vector<c10::IValue> leaves;
  leaves.reserve(outputs.size());
  for (const OwnedValue& output : outputs)
    leaves.push_back(ToIValue(output.value, output.owner));
  AITUNE_ASSIGN_OR_RETURN(std::vector<c10::IValue> values,
                          result_->Unflatten(std::move(leaves)));
  return std::move(values[0]);
}

absl::StatusOr<std::vector<OwnedValue>> TorchScriptSource::Infer(
    absl::Span<const RegionValue> inputs) {
  const Device device = DeviceOf(inputs);
  AITUNE_ASSIGN_OR_RETURN(const std::shared_ptr<const Model> model,
                          ModelOn(device));
  return Call(inputs, model, device, [&](const ValueList& arguments) {
    return model->RunEager(arguments);
  });
}

}  // namespace aitune::frontend
