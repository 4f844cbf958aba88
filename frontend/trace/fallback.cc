#include "frontend/trace/fallback.h"

#include <ATen/Functions.h>
#include <ATen/core/Dict.h>
#include <ATen/core/List.h>
#include <c10/core/InferenceMode.h>

#include <algorithm>
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
#include "frontend/trace/out_variant.h"
#include "frontend/values/torch_util.h"

namespace aitune::frontend {
namespace {

class LibTorchRegion : public FallbackRegion {
 public:
  LibTorchRegion(std::shared_ptr<const RecordedTrace> trace,
                 std::vector<int> ops, std::vector<ValueId> inputs,
                 std::vector<ValueId> outputs, const Device& device)
      : trace_(std::move(trace)),
        ops_(std::move(ops)),
        inputs_(std::move(inputs)),
        outputs_(std::move(outputs)),
        device_(device) {
    for (size_t i = 0; i < outputs_.size(); ++i)
      output_numbers_.emplace(outputs_[i], i);
    for (const int index : ops_) {
      const auto op = static_cast<size_t>(index);
      if (op >= trace_->schemas.size()) break;
      const auto& [name, overload] = trace_->schemas[op];
      if (!WritesAnOutput(trace_->ops[op])) continue;
      std::optional<OutVariant> variant = FindOutVariant(name, overload);
      if (!variant) continue;
      out_variants_[index].variant = std::move(variant);
      for (const ResultTemplate& result : trace_->ops[op].results)
        written_.insert(result.value);
    }
  }

  bool OwnsOutput(int output) const override {
    const ValueId id = outputs_[static_cast<size_t>(output)];
    return trace_->values[static_cast<size_t>(id)].kind ==
               TraceValue::Kind::kTensor &&
           written_.count(id) == 0;
  }

  absl::Status Run(absl::Span<const RegionValue> inputs,
                   absl::Span<const int64_t> symbols,
                   absl::Span<RegionValue> outputs) const override {
    if (inputs.size() != inputs_.size() || outputs.size() != outputs_.size()) {
      return absl::InternalError(
          "a LibTorch region was given another number of inputs or outputs "
          "than it has");
    }
    const c10::InferenceMode inference;
    std::unordered_map<ValueId, c10::IValue> values;
    std::vector<at::Tensor> borrowed;
    for (size_t i = 0; i < inputs.size(); ++i) {
      if (const auto* view = std::get_if<TensorView>(&inputs[i])) {
        borrowed.push_back(TensorOn(*view, device_));
        values[inputs_[i]] = borrowed.back();
        continue;
      }
      const OpaqueValue& opaque = std::get<OpaqueValue>(inputs[i]);
      if (opaque == nullptr)
        return absl::InternalError(
            "a LibTorch region reads a value that was not computed");
      values[inputs_[i]] = *static_cast<const c10::IValue*>(opaque.get());
    }
    for (const int index : ops_) {
      const RecordedOp& op = trace_->ops[static_cast<size_t>(index)];
      const absl::Status status =
          CatchExceptions(absl::StatusCode::kInternal, op.name, [&] {
            RunOne(index, symbols, values, borrowed, outputs);
            return absl::OkStatus();
          });
      if (!status.ok()) return status;
    }
    return CatchExceptions(absl::StatusCode::kInternal, Names(), [&] {
      return Deliver(values, symbols, borrowed, outputs);
    });
  }

 private:
  struct IntoMemory {
    std::optional<OutVariant> variant;          // set
    mutable std::atomic<bool> refuses = false;  // the memory that it was given
  };

  std::string Names() const {
    return absl::StrJoin(ops_, ", ", [&](std::string* out, int index) {
      absl::StrAppend(out, trace_->ops[static_cast<size_t>(index)].name);
    });
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

  // `borrowed` are the tensors in the plan's memory and the constants.
  void RunOne(int index, absl::Span<const int64_t> symbols,
              std::unordered_map<ValueId, c10::IValue>& values,
              std::vector<at::Tensor>& borrowed,
              absl::Span<const RegionValue> outputs) const {
    const RecordedOp& op = trace_->ops[static_cast<size_t>(index)];
    const auto read = [&](ValueId id) -> c10::IValue {
      if (const auto found = values.find(id); found != values.end())
        return found->second;
      const TraceValue& value = trace_->values[static_cast<size_t>(id)];
      if (value.kind != TraceValue::Kind::kConstant)
        throw std::runtime_error("it reads a value outside its region");
      borrowed.push_back(Constant(value.constant));
      return borrowed.back();
    };
    std::vector<c10::IValue> stack;
    for (const ArgumentTemplate& argument : op.arguments)
      stack.push_back(OnDevice(Materialize(argument, symbols, read)));
    std::vector<at::Tensor> destinations;
    const auto variant = out_variants_.find(index);
    if (variant != out_variants_.end() && !variant->second.refuses &&
        variant->second.variant->argument_count == stack.size())
      destinations = Destinations(op, outputs);
    borrowed.insert(borrowed.end(), destinations.begin(), destinations.end());
    if (destinations.empty() ||
        !RunInto(variant->second.variant->handle, destinations, stack)) {
      FunctionOf(op)(stack);
      if (!destinations.empty()) variant->second.refuses = true;
    }
    if (stack.size() < op.results.size())
      throw std::runtime_error(
          "it gives fewer results than when it was traced");
    for (size_t i = 0; i < op.results.size(); ++i)
      Store(op.results[i], stack[i], values);
  }

  // Whether `handle` took `destinations`. Some operators give them other sizes
  // on the way to those of the result, which memory of the plan can't have.
  // What else they raise for, the operator without destinations raises for too.
  static bool RunInto(const c10::OperatorHandle& handle,
                      const std::vector<at::Tensor>& destinations,
                      std::vector<c10::IValue>& stack) {
    std::vector<c10::IValue> with_destinations = stack;
    with_destinations.insert(with_destinations.end(), destinations.begin(),
                             destinations.end());
    try {
      handle.callBoxed(with_destinations);
    } catch (const std::exception&) {
      return false;
    }
    stack = std::move(with_destinations);
    return true;
  }

  // What runs `op` here; a GPU's is made when it is first run.
  const RecordedFunction& FunctionOf(const RecordedOp& op) const {
    if (!device_.is_gpu() || op.program.on_device == nullptr)
      return op.program.run;
    const std::lock_guard<std::mutex> lock(mutex_);
    RecordedFunction& function = functions_[&op];
    if (function == nullptr) function = op.program.on_device(DeviceOf(device_));
    return function;
  }

  // Constant number `index`; a GPU's copy is made when it is first read.
  at::Tensor Constant(int index) const {
    const TensorView& view = trace_->constants[static_cast<size_t>(index)].view;
    if (!device_.is_gpu()) return TensorOn(view);
    const std::lock_guard<std::mutex> lock(mutex_);
    at::Tensor& copy = on_gpu_[index];
    if (!copy.defined()) copy = TensorOn(view).to(DeviceOf(device_));
    return copy;
  }

  // An argument recorded on the CPU as one for the GPU: tensors of one element
  // may stay, LibTorch takes them as numbers.
  c10::IValue OnDevice(c10::IValue value) const {
    if (!device_.is_gpu()) return value;
    if (value.isDevice()) return DeviceOf(device_);
    if (value.isTensor() && value.toTensor().defined() &&
        value.toTensor().device().is_cpu() && value.toTensor().dim() > 0) {
      return value.toTensor().to(DeviceOf(device_));
    }
    return value;
  }

  static void Store(const ResultTemplate& result, const c10::IValue& value,
                    std::unordered_map<ValueId, c10::IValue>& values) {
    if (result.kind == ResultTemplate::Kind::kValue) {
      if (result.value >= 0) values[result.value] = value;
      return;
    }
    std::vector<c10::IValue> elements;
    if (value.isTuple()) {
      elements = value.toTupleRef().elements().vec();
    } else if (value.isList()) {
      elements = value.toListRef().vec();
    } else {
      for (const auto& entry : value.toGenericDict())
        elements.push_back(entry.value());
    }
    if (elements.size() != result.children.size()) {
      throw std::runtime_error(
          "its list of results has another length than when it was traced");
    }
    for (size_t i = 0; i < elements.size(); ++i)
      Store(result.children[i], elements[i], values);
  }

  // kInternal if it is no tensor on the device, or another than expected.
  absl::Status CheckTensor(const c10::IValue& value, DataType dtype,
                           const std::vector<int64_t>& sizes) const {
    if (!value.isTensor() || !IsPlainTensor(value.toTensor(), device_)) {
      return absl::InternalError(
          absl::StrCat(Names(), ": gave ", Describe(value),
                       " where the plan expects a tensor"));
    }
    const at::Tensor& tensor = value.toTensor();
    if (FromScalarType(tensor.scalar_type()) == dtype &&
        tensor.sizes() == at::IntArrayRef(sizes))
      return absl::OkStatus();
    return absl::InternalError(absl::StrCat(
        Names(), ": gave ", Describe(value), ", the plan expects ",
        std::string(Name(dtype)), "[", absl::StrJoin(sizes, ","), "]"));
  }

  // Adds what is given away to `borrowed`: no two outputs share memory.
  absl::Status Deliver(const std::unordered_map<ValueId, c10::IValue>& values,
                       absl::Span<const int64_t> symbols,
                       std::vector<at::Tensor>& borrowed,
                       absl::Span<RegionValue> outputs) const {
    for (size_t i = 0; i < outputs_.size(); ++i) {
      const auto found = values.find(outputs_[i]);
      if (found == values.end())
        return absl::InternalError(
            absl::StrCat(Names(), ": an output is not computed"));
      auto* view = std::get_if<TensorView>(&outputs[i]);
      const TraceValue& traced =
          trace_->values[static_cast<size_t>(outputs_[i])];
      if (view == nullptr) {
        c10::IValue value = Detached(found->second, borrowed);
        if (traced.kind == TraceValue::Kind::kTensor) {
          std::vector<int64_t> sizes;
          for (const SizeExpression& size : traced.type.sizes)
            sizes.push_back(size.Evaluate(symbols));
          const absl::Status status =
              CheckTensor(value, traced.type.dtype, sizes);
          if (!status.ok()) return status;
          value = value.toTensor().contiguous();
          borrowed.push_back(value.toTensor());
        }
        outputs[i] = std::make_shared<c10::IValue>(std::move(value));
        continue;
      }
      const absl::Status status =
          CheckTensor(found->second, view->dtype, view->sizes);
      if (!status.ok()) return status;
      const at::Tensor& tensor = found->second.toTensor();
      const bool is_there =
          tensor.data_ptr() == view->data && tensor.is_contiguous();
      if (tensor.numel() > 0 && !is_there)
        TensorOn(*view, device_).copy_(tensor);
    }
    return absl::OkStatus();
  }

  // `value` without references to the plan's memory, which will be reused.
  static c10::IValue Detached(const c10::IValue& value,
                              const std::vector<at::Tensor>& borrowed) {
    if (value.isTensor()) {
      const at::Tensor& tensor = value.toTensor();
      const bool shares =
          tensor.defined() && tensor.has_storage() &&
          std::any_of(borrowed.begin(), borrowed.end(),
                      [&](const at::Tensor& other) {
                        return other.storage().is_alias_of(tensor.storage());
                      });
      return shares ? tensor.clone() : tensor;
    }
    if (value.isTuple()) {
      std::vector<c10::IValue> elements;
      for (const c10::IValue& element : value.toTupleRef().elements())
        elements.push_back(Detached(element, borrowed));
      const auto type = value.type()->cast<c10::TupleType>();
      if (type && type->schema())
        return c10::ivalue::Tuple::createNamed(std::move(elements), type);
      return c10::ivalue::Tuple::create(std::move(elements));
    }
    if (value.isList()) {
      c10::impl::GenericList list(
          value.type()->expect<c10::ListType>()->getElementType());
      for (const c10::IValue& element : value.toListRef())
        list.push_back(Detached(element, borrowed));
      return list;
    }
    if (value.isGenericDict()) {
      const c10::impl::GenericDict dict = value.toGenericDict();
      c10::impl::GenericDict copy(dict.keyType(), dict.valueType());
      for (const auto& entry : dict)
        copy.insert(entry.key(), Detached(entry.value(), borrowed));
      return copy;
    }
    return value;
  }

  std::shared_ptr<const RecordedTrace> trace_;
  std::vector<int> ops_;
  std::vector<ValueId> inputs_, outputs_;
  const Device device_;
  std::unordered_map<ValueId, size_t> output_numbers_;
  // By operator that computes an output, if it has one.
  std::unordered_map<int, IntoMemory> out_variants_;
  std::unordered_set<ValueId> written_;  // results of these operators
  mutable std::mutex mutex_;
  mutable std::unordered_map<int, at::Tensor> on_gpu_;  // constants
  mutable std::unordered_map<const RecordedOp*, RecordedFunction> functions_;
};

}  // namespace

std::unique_ptr<FallbackRegion> MakeFallbackRegion(
    std::shared_ptr<const RecordedTrace> trace,
    const std::vector<int>& op_indices, const std::vector<ValueId>& inputs,
    const std::vector<ValueId>& outputs, const Device& device) {
  return std::make_unique<LibTorchRegion>(std::move(trace), op_indices, inputs,
                                          outputs, device);
}

}  // namespace aitune::frontend
