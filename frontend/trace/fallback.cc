#include "frontend/trace/fallback.h"

#include <ATen/Functions.h>
#include <ATen/core/Dict.h>
#include <ATen/core/List.h>
#include <c10/core/InferenceMode.h>

#include <atomic>
#include <exception>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "frontend/torchscript/gpu_state.h"
#include "frontend/trace/out_variant.h"
#include "frontend/trace/region_constants.h"
#include "frontend/trace/region_frame.h"
#include "frontend/trace/region_results.h"
#include "frontend/trace/region_steps.h"
#include "frontend/values/host_arguments.h"
#include "frontend/values/torch_util.h"
#include "runtime/status/status_macros.h"

namespace aitune::frontend {
namespace {

class LibTorchRegion : public FallbackRegion {
 public:
  LibTorchRegion(std::shared_ptr<const RecordedTrace> trace,
                 const std::vector<int>& ops,
                 const std::vector<ValueId>& inputs,
                 std::vector<ValueId> outputs, const RegionPlace& place)
      : trace_(std::move(trace)),
        outputs_(std::move(outputs)),
        device_(place.device),
        is_trial_(place.is_trial),
        state_(place.state),
        steps_(MakeRegionSteps(*trace_, ops, inputs, outputs_)),
        constants_(*trace_, steps_, device_),
        frames_(steps_.slot_count),
        written_inputs_(inputs.size()) {
    for (size_t i = 0; i < outputs_.size(); ++i)
      output_numbers_.emplace(outputs_[i], i);
    into_memory_.resize(ops.size());
    for (size_t i = 0; i < ops.size(); ++i) {
      const auto op = static_cast<size_t>(ops[i]);
      NoteLent(trace_->ops[op]);
      NoteWritten(trace_->ops[op], inputs);
      if (op >= trace_->schemas.size()) break;
      const auto& [name, overload] = trace_->schemas[op];
      if (WritesInPlace(i) || !WritesAnOutput(trace_->ops[op])) continue;
      std::optional<OutVariant> variant = FindOutVariant(name, overload);
      if (!variant) continue;
      into_memory_[i] = std::make_unique<IntoMemory>();
      into_memory_[i]->variant = std::move(variant);
      for (const ResultTemplate& result : trace_->ops[op].results)
        written_.insert(result.value);
    }
  }

  absl::Status CheckCounts(size_t inputs, size_t outputs) const override {
    if (inputs == written_inputs_.size() && outputs == outputs_.size())
      return absl::OkStatus();
    return absl::InvalidArgumentError(absl::StrCat(
        "LibTorch's ", Names(), ": takes ", written_inputs_.size(),
        " values and gives ", outputs_.size(), ", but the plan has ", inputs,
        " and ", outputs, " for it; compile the model again"));
  }

  bool OwnsOutput(int output) const override {
    const ValueId id = outputs_[static_cast<size_t>(output)];
    return !has_lent_ &&
           trace_->values[static_cast<size_t>(id)].kind ==
               TraceValue::Kind::kTensor &&
           written_.count(id) == 0;
  }

  bool LendsOutput(int output) const override {
    return !is_trial_ && lent_.count(outputs_[static_cast<size_t>(output)]) > 0;
  }

  bool WritesInput(int input) const override {
    return !is_trial_ && written_inputs_[static_cast<size_t>(input)];
  }

  int64_t BytesOnDevice() const override { return constants_.BytesOnDevice(); }

  absl::Status Run(absl::Span<const RegionValue> inputs,
                   absl::Span<const int64_t> symbols,
                   absl::Span<RegionValue> outputs) const override {
    AITUNE_RETURN_IF_ERROR(CheckCounts(inputs.size(), outputs.size()));
    const c10::InferenceMode inference;
    const BorrowedFrame frame(frames_);
    const Call call = {*this, frame.get(), symbols, outputs};
    for (size_t i = 0; i < inputs.size(); ++i) {
      const int slot = steps_.input_slots[i];
      c10::IValue value;
      if (const auto* view = std::get_if<TensorView>(&inputs[i])) {
        if (slot < 0) continue;
        at::Tensor tensor = TensorOn(*view, device_);
        if (!written_inputs_[i]) call.frame.borrowed.push_back(tensor);
        value = std::move(tensor);
      } else {
        const OpaqueValue& opaque = std::get<OpaqueValue>(inputs[i]);
        if (opaque == nullptr)
          return absl::InternalError(
              "a LibTorch region reads a value that was not computed");
        if (slot < 0) continue;
        value = *static_cast<const c10::IValue*>(opaque.get());
      }
      call.frame.slots[static_cast<size_t>(slot)] = std::move(value);
    }
    for (size_t i = 0; i < steps_.steps.size(); ++i) {
      const absl::Status status =
          CatchExceptions(absl::StatusCode::kInvalidArgument,
                          steps_.steps[i].op->name, [&call, i] {
                            call.region.RunStep(i, call);
                            return absl::OkStatus();
                          });
      if (!status.ok()) return status;
    }
    const absl::Status status =
        CatchExceptions(absl::StatusCode::kInternal, "",
                        [this, &call] { return Deliver(call); });
    if (status.ok()) return status;
    return absl::Status(status.code(),
                        absl::StrCat(Names(), ": ", status.message()));
  }

 private:
  struct IntoMemory {
    std::optional<OutVariant> variant;          // set
    mutable std::atomic<bool> refuses = false;  // the memory that it was given
  };

  struct Call {
    const LibTorchRegion& region;  // so that what refers to a call is small
    RegionFrame& frame;
    absl::Span<const int64_t> symbols;
    absl::Span<RegionValue> outputs;
  };

  void NoteLent(const RecordedOp& op) {
    const std::shared_ptr<const bool>& lends = op.program.lends_memory;
    has_lent_ |= lends != nullptr;
    if (lends == nullptr || !*lends) return;
    for (const ResultTemplate& result : op.results) {
      if (result.value >= 0 &&
          trace_->values[static_cast<size_t>(result.value)].kind ==
              TraceValue::Kind::kTensor)
        lent_.insert(result.value);
    }
  }

  void NoteWritten(const RecordedOp& op, const std::vector<ValueId>& inputs) {
    if (!op.program.gives_input) return;
    for (size_t i = 0; i < inputs.size(); ++i) {
      if (inputs[i] == op.arguments.at(0).value) written_inputs_[i] = true;
    }
  }

  // Of the operators, for messages.
  std::string Names() const {
    return absl::StrJoin(steps_.steps, ", ",
                         [](std::string* out, const RegionStep& step) {
                           absl::StrAppend(out, step.op->name);
                         });
  }

  // Whether a step writes to a tensor that the region has made. On a GPU the
  // result is to be in the plan's memory, where recorded calls find it.
  bool WritesInPlace(size_t step) const {
    return steps_.steps[step].in_place.has_value() && !device_.is_gpu();
  }

  // Whether all results are plain values, and one of them is an output.
  bool WritesAnOutput(const RecordedOp& op) const {
    bool found = false;
    for (const ResultTemplate& result : op.results) {
      if (result.kind != ResultTemplate::Kind::kValue || result.value < 0 ||
          trace_->values[static_cast<size_t>(result.value)].kind !=
              TraceValue::Kind::kTensor)
        return false;
      found |= output_numbers_.count(result.value) > 0;
    }
    return found;
  }

  // What operator `op` writes its results to: the plan's memory for outputs.
  // Empty if an output is no tensor with elements of the operator's dtype.
  std::vector<at::Tensor> Destinations(
      const RecordedOp& op, absl::Span<const RegionValue> outputs) const {
    std::vector<at::Tensor> tensors;
    for (const ResultTemplate& result : op.results) {
      const auto number = output_numbers_.find(result.value);
      if (number == output_numbers_.end()) {
        const TraceValue& value =
            trace_->values[static_cast<size_t>(result.value)];
        tensors.push_back(
            at::empty({0}, at::TensorOptions()
                               .dtype(ToScalarType(value.type.dtype))
                               .device(DeviceOf(device_))));
        continue;
      }
      const auto* view = std::get_if<TensorView>(&outputs[number->second]);
      const DataType computed =
          trace_->values[static_cast<size_t>(result.value)].type.dtype;
      if (view == nullptr || ElementCount(view->sizes) == 0 ||
          view->dtype != computed)
        return {};
      tensors.push_back(TensorOn(*view, device_));
    }
    return tensors;
  }

  // Leaves the stack empty; after an error the frame's return does.
  void RunStep(size_t number, const Call& call) const {
    const RegionStep& step = steps_.steps[number];
    RegionFrame& frame = call.frame;
    std::vector<c10::IValue>& stack = frame.stack;
    for (const RegionArgument& argument : step.arguments) Push(argument, call);
    if (device_.is_gpu()) {
      for (c10::IValue& value : stack)
        value = constants_.OnDevice(std::move(value));
      MoveToHost(step.op->name, stack);
    }
    if (step.makes_object) {
      for (c10::IValue& value : stack) value = Detached(value, frame.borrowed);
    }
    if (WritesInPlace(number) && step.writes_zeros) {
      const at::Tensor zeros = stack[0].toTensor();
      stack[0] = at::zeros(zeros.sizes(), zeros.options());
    }
    // Views of it hold its memory.
    if (WritesInPlace(number) &&
        stack[0].toTensor().storage().use_count() == 1) {
      step.in_place->callBoxed(stack);
      StoreResults(step, frame);
      return;
    }
    const IntoMemory* into = into_memory_[number].get();
    std::vector<at::Tensor> destinations;
    if (into != nullptr && !into->refuses &&
        into->variant->argument_count == stack.size())
      destinations = Destinations(*step.op, call.outputs);
    frame.borrowed.insert(frame.borrowed.end(), destinations.begin(),
                          destinations.end());
    if (destinations.empty() ||
        !RunInto(into->variant->handle, destinations, frame)) {
      const RecordedFunction& run = FunctionOf(*step.op);
      run(stack);
      if (!destinations.empty()) into->refuses = true;
    }
    StoreResults(step, frame);
  }

  // Takes the results of `step` from the stack.
  static void StoreResults(const RegionStep& step, RegionFrame& frame) {
    std::vector<c10::IValue>& stack = frame.stack;
    if (stack.size() < step.results.size())
      throw std::runtime_error(
          "it gives fewer results than when it was traced");
    for (size_t i = 0; i < step.results.size(); ++i)
      Store(step.results[i], std::move(stack[i]), frame.slots);
    stack.clear();
  }

  // Whether `handle` took `destinations`. Some operators give them other sizes
  // on the way to those of the result, which memory of the plan can't have.
  // What else they raise for, the operator without destinations raises for too.
  static bool RunInto(const c10::OperatorHandle& handle,
                      const std::vector<at::Tensor>& destinations,
                      RegionFrame& frame) {
    std::vector<c10::IValue>& stack = frame.with_destinations;
    stack = frame.stack;
    stack.insert(stack.end(), destinations.begin(), destinations.end());
    try {
      handle.callBoxed(stack);
    } catch (const std::exception&) {
      stack.clear();
      return false;
    }
    frame.stack.swap(stack);
    stack.clear();
    return true;
  }

  // Puts the value of `argument` on the stack.
  void Push(const RegionArgument& argument, const Call& call) const {
    using Kind = RegionArgument::Kind;
    RegionFrame& frame = call.frame;
    switch (argument.kind) {
      case Kind::kFixed:
        frame.stack.push_back(constants_.Fixed(argument));
        return;
      case Kind::kSlot: {
        c10::IValue& value = frame.slots[static_cast<size_t>(argument.slot)];
        if (argument.is_last_use)
          frame.stack.push_back(std::move(value));
        else
          frame.stack.push_back(value);
        return;
      }
      case Kind::kConstant:
        frame.borrowed.push_back(constants_.Constant(argument));
        frame.stack.emplace_back(frame.borrowed.back());
        return;
      case Kind::kOutside:
        throw std::runtime_error("it reads a value outside its region");
      case Kind::kSize:
        frame.stack.emplace_back(argument.recipe->size.Evaluate(call.symbols));
        return;
      case Kind::kContainer: {
        const size_t first = frame.stack.size();
        for (const RegionArgument& child : argument.children) Push(child, call);
        c10::IValue container = MakeContainer(
            *argument.recipe, absl::MakeSpan(frame.stack).subspan(first));
        frame.stack.resize(first);
        frame.stack.push_back(std::move(container));
        return;
      }
    }
  }

  // What runs `op` here; a GPU's is made when it is first run.
  const RecordedFunction& FunctionOf(const RecordedOp& op) const {
    if (op.program.gives_input) return gives_input_;
    const bool gives_state = op.program.state.defined();
    if (!gives_state && (!device_.is_gpu() || op.program.on_device == nullptr))
      return op.program.run;
    const std::lock_guard<std::mutex> lock(mutex_);
    RecordedFunction& function = functions_[&op];
    if (function != nullptr) return function;
    function = gives_state ? GivesState(op.program.state)
                           : op.program.on_device(DeviceOf(device_));
    return function;
  }

  // What gives the model's tensor `own` here.
  RecordedFunction GivesState(const at::Tensor& own) const {
    at::Tensor here = own;
    if (state_ != nullptr) {
      const at::Tensor* const found = state_->Find(own);
      if (found == nullptr)
        throw std::runtime_error("the model's own tensor is not on the GPU");
      here = *found;
    } else if (device_.is_gpu()) {
      here = own.to(DeviceOf(device_));
    }
    return [here, is_trial = is_trial_](std::vector<c10::IValue>& stack) {
      stack.assign(1, is_trial ? here.clone() : here);
    };
  }

  // The argument of the operator, named with its overload and place, that
  // LibTorch takes there alone.
  static void MoveToHost(absl::string_view name,
                         std::vector<c10::IValue>& stack) {
    const std::optional<size_t> position =
        HostArgument(name.substr(0, name.find(' ')));
    if (!position || *position >= stack.size() || !stack[*position].isTensor())
      return;
    stack[*position] = stack[*position].toTensor().cpu();
  }

  static void Store(const RegionResult& result, c10::IValue value,
                    std::vector<c10::IValue>& slots) {
    if (!result.is_container) {
      if (result.slot >= 0)
        slots[static_cast<size_t>(result.slot)] = std::move(value);
      return;
    }
    std::vector<c10::IValue> entries;  // a dict's
    c10::ArrayRef<c10::IValue> elements;
    if (value.isTuple()) {
      elements = value.toTupleRef().elements();
    } else if (value.isList()) {
      elements = value.toListRef();
    } else {
      for (const auto& entry : value.toGenericDict())
        entries.push_back(entry.value());
      elements = entries;
    }
    if (elements.size() != result.children.size()) {
      throw std::runtime_error(
          "its list of results has another length than when it was traced");
    }
    for (size_t i = 0; i < elements.size(); ++i)
      Store(result.children[i], elements[i], slots);
  }

  // No two outputs share memory: what is given away counts as borrowed.
  absl::Status Deliver(const Call& call) const {
    std::vector<at::Tensor>& borrowed = call.frame.borrowed;
    for (size_t i = 0; i < outputs_.size(); ++i) {
      const int slot = steps_.output_slots[i];
      if (slot < 0) return absl::InternalError("an output is not computed");
      c10::IValue& computed = call.frame.slots[static_cast<size_t>(slot)];
      RegionValue& output = call.outputs[i];
      const TraceValue& traced =
          trace_->values[static_cast<size_t>(outputs_[i])];
      // What two views negate is so by its elements, where the first was
      // copied.
      if (traced.kind == TraceValue::Kind::kTensor && computed.isTensor() &&
          computed.toTensor().defined() && computed.toTensor().is_neg())
        computed = computed.toTensor().resolve_neg();
      if (auto* view = std::get_if<TensorView>(&output)) {
        AITUNE_RETURN_IF_ERROR(
            CheckTensor(computed, view->dtype, view->sizes, device_));
        if (view->data == nullptr && LendsOutput(static_cast<int>(i)))
          view->data = computed.toTensor().data_ptr();
        else
          CopyTo(*view, computed.toTensor(), device_);
        continue;
      }
      c10::IValue value = Detached(computed, borrowed);
      if (traced.kind == TraceValue::Kind::kTensor) {
        std::vector<int64_t> sizes;
        for (const SizeExpression& size : traced.type.sizes)
          sizes.push_back(size.Evaluate(call.symbols));
        AITUNE_RETURN_IF_ERROR(
            CheckTensor(value, traced.type.dtype, sizes, device_));
        value = value.toTensor().contiguous();
        borrowed.push_back(value.toTensor());
      }
      output = std::make_shared<c10::IValue>(std::move(value));
    }
    return absl::OkStatus();
  }

  const std::shared_ptr<const RecordedTrace> trace_;
  const std::vector<ValueId> outputs_;
  const Device device_;
  const bool is_trial_;
  const std::shared_ptr<const GpuState> state_;  // RegionPlace::state
  // Whether operators have RecordedProgram::lends_memory, and their tensors.
  bool has_lent_ = false;
  std::unordered_set<ValueId> lent_;
  const RegionSteps steps_;
  const RegionConstants constants_;
  mutable RegionFrames frames_;
  // By input: whether calls write the tensor itself, which is all that is done
  // with this input.
  std::vector<bool> written_inputs_;
  const RecordedFunction gives_input_ =
      [is_trial = is_trial_](std::vector<c10::IValue>& stack) {
        if (is_trial) stack.at(0) = stack.at(0).toTensor().clone();
      };
  std::unordered_map<ValueId, size_t> output_numbers_;
  // By step: set for an operator that computes an output and has a variant.
  std::vector<std::unique_ptr<IntoMemory>> into_memory_;
  std::unordered_set<ValueId> written_;  // results of these operators
  mutable std::mutex mutex_;
  // What runs operators on a GPU or gives the model's tensors; guarded by the
  // mutex.
  mutable std::unordered_map<const RecordedOp*, RecordedFunction> functions_;
};

}  // namespace

std::unique_ptr<FallbackRegion> MakeFallbackRegion(
    std::shared_ptr<const RecordedTrace> trace,
    const std::vector<int>& op_indices, const std::vector<ValueId>& inputs,
    const std::vector<ValueId>& outputs, const RegionPlace& place) {
  return std::make_unique<LibTorchRegion>(std::move(trace), op_indices, inputs,
                                          outputs, place);
}

}  // namespace aitune::frontend
