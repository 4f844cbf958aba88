#include "frontend/backends/call_leaves.h"

#include <ATen/core/Tensor.h>
#include <ATen/core/ivalue.h>

#include <limits>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "frontend/trace/leaf_value.h"
#include "frontend/values/torch_util.h"

namespace aitune::frontend {
namespace {

// "cuda:0", for as long as the process lives.
std::string_view GpuName(int number) {
  static const auto* const names = [] {
    auto* made = new std::vector<std::string>;
    for (int i = 0; i <= std::numeric_limits<c10::DeviceIndex>::max(); ++i)
      made->push_back(absl::StrCat("cuda:", i));
    return made;
  }();
  return (*names)[number];
}

}  // namespace

Sample WholeCall(const ValueList& arguments) {
  return {{OpaqueValue(std::make_shared<c10::IValue>(
               c10::ivalue::Tuple::create(arguments.values()))),
           nullptr}};
}

bool IsWholeCall(absl::Span<const RegionValue> inputs) {
  if (inputs.size() != 1) return false;
  const auto* opaque = std::get_if<OpaqueValue>(&inputs[0]);
  return opaque != nullptr && *opaque != nullptr &&
         HoldsArguments(*static_cast<const c10::IValue*>(opaque->get()));
}

bool HoldsArguments(const c10::IValue& leaf) {
  // A leaf of any nesting is no tuple.
  return leaf.isTuple();
}

Device DeviceOf(absl::Span<const RegionValue> inputs) {
  for (const RegionValue& input : inputs) {
    const auto* opaque = std::get_if<OpaqueValue>(&input);
    if (opaque == nullptr || *opaque == nullptr) continue;
    const auto* value = static_cast<const c10::IValue*>(opaque->get());
    if (value->isTensor() && value->toTensor().is_cuda())
      return Device::Gpu(value->toTensor().get_device());
  }
  return Device();
}

absl::StatusOr<std::vector<CallInput>> CallInputsOf(
    absl::Span<const RegionValue> inputs) {
  std::vector<CallInput> call;
  call.reserve(inputs.size());
  for (const RegionValue& input : inputs) {
    if (const auto* view = std::get_if<TensorView>(&input)) {
      call.push_back(CallInput::Tensor(*view));
      continue;
    }
    const auto* value =
        static_cast<const c10::IValue*>(std::get<OpaqueValue>(input).get());
    if (value == nullptr || value->isNone()) {
      call.push_back(CallInput::None());
    } else if (value->isInt()) {
      call.push_back(CallInput::Int(value->toInt()));
    } else if (value->isDouble()) {
      call.push_back(CallInput::Float(value->toDouble()));
    } else if (value->isBool()) {
      call.push_back(CallInput::Bool(value->toBool()));
    } else if (value->isString()) {
      const std::string& text = value->toStringRef();
      call.push_back(CallInput::String(text));
    } else if (value->isTensor() && value->toTensor().is_cuda() &&
               IsPlainTensor(value->toTensor(),
                             Device::Gpu(value->toTensor().get_device()))) {
      const at::Tensor& tensor = value->toTensor();
      CallInput described;
      described.dtype = *FromScalarType(tensor.scalar_type());
      // Whatever the layout: compiled code is given a contiguous copy.
      described.device = GpuName(tensor.get_device());
      described.sizes = {tensor.sizes().data(), tensor.sizes().size()};
      call.push_back(described);
    } else {
      return absl::InvalidArgumentError(absl::StrCat(
          "input ", call.size(), " is ", Describe(*value),
          ", which no compiled code takes; only dense tensors, numbers, "
          "strings and None can be inputs"));
    }
  }
  return call;
}

}  // namespace aitune::frontend
