#include "frontend/backends/compiled/version_inputs.h"

#include <ATen/Functions.h>
#include <ATen/core/Tensor.h>
#include <ATen/core/ivalue.h>

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "frontend/values/pytree.h"
#include "frontend/values/torch_util.h"
#include "runtime/plan/plan.h"

namespace aitune::frontend {
namespace {

// No tensor that has elements has a longer axis.
constexpr int64_t kLongestAxis = int64_t{1} << 48;

int64_t LargestSize(const AxisRange& range, int64_t size, int reach) {
  if (range.max != AxisRange::kUnbounded) return range.max;
  if (reach <= 1 || size > kLongestAxis / reach)
    return std::max(size, range.min + 1);
  int64_t largest = 1;
  while (largest < size * reach) largest *= 2;
  return largest;
}

// Sets the axes of the tensors of `spec`, which are the leaves from `leaf` on.
void SetAxes(absl::Span<const InputDescription> wanted, int reach,
             InputSpec& spec, size_t& leaf, bool& dynamic) {
  if (spec.kind == InputSpec::Kind::kTuple ||
      spec.kind == InputSpec::Kind::kList) {
    for (InputSpec& child : spec.children)
      SetAxes(wanted, reach, child, leaf, dynamic);
    return;
  }
  const size_t number = leaf++;
  if (spec.kind != InputSpec::Kind::kTensor || number >= wanted.size()) return;
  for (size_t axis = 0;
       axis < spec.axes.size() && axis < wanted[number].axes.size(); ++axis) {
    const AxisRange& range = wanted[number].axes[axis];
    if (!range.dynamic()) continue;
    AxisSpec& axis_spec = spec.axes[axis];
    axis_spec.max = LargestSize(range, axis_spec.min, reach);
    axis_spec.min = range.min;
    axis_spec.name = range.symbol >= 0 ? absl::StrCat("s", range.symbol)
                                       : absl::StrCat("i", number, "a", axis);
    dynamic = true;
  }
}

}  // namespace

ModelInputs InputsToBuild(absl::Span<const InputDescription> wanted,
                          const ValueList& arguments, int reach) {
  ModelInputs inputs;
  inputs.source = "a call";
  absl::StatusOr<std::vector<InputSpec>> specs = SpecsOf(arguments);
  bool dynamic = false;
  if (specs.ok()) {
    inputs.specs = *std::move(specs);
    size_t leaf = 0;
    for (InputSpec& spec : inputs.specs)
      SetAxes(wanted, reach, spec, leaf, dynamic);
  }
  if (dynamic) return inputs;
  inputs.samples = arguments;
  return inputs;
}

std::vector<InputDescription> InputsOfVersion(
    std::vector<InputDescription> wanted, const ExecutablePlan& plan) {
  int tensor = 0;
  for (InputDescription& input : wanted) {
    if (input.kind != InputKind::kTensor) continue;
    if (tensor >= plan.inputs_size()) break;
    const TensorTypeProto& type = plan.inputs(tensor++);
    for (int axis = 0;
         axis < type.sizes_size() && axis < static_cast<int>(input.axes.size());
         ++axis) {
      const SizeExpressionProto& size = type.sizes(axis);
      AxisRange& range = input.axes[axis];
      const AxisRange asked = range;
      if (size.kind() == SizeExpressionProto::SYMBOL && size.value() >= 0 &&
          size.value() < plan.symbols_size()) {
        const auto symbol = static_cast<int>(size.value());
        range = {plan.symbols(symbol).min(), plan.symbols(symbol).max(),
                 symbol};
      } else {
        range = {size.value(), size.value(), -1};
      }
      range.narrowed = asked.max != AxisRange::kUnbounded &&
                       (asked.min < range.min || range.max < asked.max);
    }
  }
  return wanted;
}

std::vector<SizeConstraint> ConstraintsOfVersion(const ExecutablePlan& plan) {
  std::vector<SizeConstraint> constraints;
  for (const SizeConstraintProto& proto : plan.constraints()) {
    absl::StatusOr<SizeConstraint> constraint =
        FromProto(proto, plan.symbols_size());
    // A loaded plan is valid.
    if (constraint.ok()) constraints.push_back(*std::move(constraint));
  }
  return constraints;
}

void ForEachDynamicAxis(
    std::vector<InputDescription>& inputs, const ValueList& arguments,
    const std::function<void(AxisRange& range, int64_t size)>& visit) {
  size_t number = 0;
  for (const c10::IValue& argument : arguments.values()) {
    for (const Leaf& leaf : Leaves(argument)) {
      if (number >= inputs.size()) return;
      InputDescription& input = inputs[number++];
      if (!leaf.value->isTensor()) continue;
      const at::Tensor& tensor = leaf.value->toTensor();
      for (size_t axis = 0; axis < input.axes.size() &&
                            static_cast<int64_t>(axis) < tensor.dim();
           ++axis) {
        if (input.axes[axis].dynamic())
          visit(input.axes[axis], tensor.size(static_cast<int64_t>(axis)));
      }
    }
  }
}

ValueList InputsOf(absl::Span<const InputDescription> inputs) {
  std::vector<c10::IValue> leaves;
  for (const InputDescription& input : inputs) {
    switch (input.kind) {
      case InputKind::kTensor: {
        std::vector<int64_t> sizes;
        int64_t count = 1;
        for (const AxisRange& axis : input.axes) {
          const int64_t last =
              axis.max == AxisRange::kUnbounded ? axis.min : axis.max;
          sizes.push_back(axis.min + (last - axis.min) / 2);
          count *= sizes.back();
        }
        const c10::ScalarType dtype = ToScalarType(input.dtype);
        leaves.emplace_back(
            at::isFloatingType(dtype)
                ? at::linspace(0, 1, count).to(dtype).view(sizes)
                : at::zeros(sizes, dtype));
        break;
      }
      case InputKind::kNone:
        leaves.emplace_back();
        break;
      case InputKind::kInt:
        leaves.emplace_back(input.integer);
        break;
      case InputKind::kFloat:
        leaves.emplace_back(input.number);
        break;
      case InputKind::kBool:
        leaves.emplace_back(input.integer != 0);
        break;
      case InputKind::kString:
        leaves.emplace_back(input.text);
        break;
    }
  }
  return ValueList(std::move(leaves));
}

InputDescriptionProto ToProto(const InputDescription& input) {
  InputDescriptionProto proto;
  proto.set_kind(static_cast<int32_t>(input.kind));
  proto.set_source(static_cast<int32_t>(input.source));
  proto.set_name(input.name);
  proto.set_dtype(static_cast<int32_t>(input.dtype));
  proto.set_layout(static_cast<int32_t>(input.layout));
  proto.set_device(input.device);
  for (const AxisRange& axis : input.axes) {
    AxisRangeProto& stored = *proto.add_axes();
    stored.set_min(axis.min);
    stored.set_max(axis.max);
    stored.set_symbol(axis.symbol);
    stored.set_narrowed(axis.narrowed);
  }
  proto.set_integer(input.integer);
  proto.set_number(input.number);
  proto.set_text(input.text);
  return proto;
}

absl::StatusOr<InputDescription> FromProto(const InputDescriptionProto& proto) {
  const auto within = [](int32_t value, auto last) {
    return value >= 0 && value <= static_cast<int32_t>(last);
  };
  if (!within(proto.kind(), InputKind::kString) ||
      !within(proto.source(), InputSource::kGlobal) ||
      !IsDataType(proto.dtype()) ||
      !within(proto.layout(), MemoryLayout::kStrided))
    return absl::InvalidArgumentError(
        "the stored description of an input is damaged; save the checkpoint "
        "again");
  InputDescription input;
  input.kind = static_cast<InputKind>(proto.kind());
  input.source = static_cast<InputSource>(proto.source());
  input.name = proto.name();
  input.dtype = static_cast<DataType>(proto.dtype());
  input.layout = static_cast<MemoryLayout>(proto.layout());
  input.device = proto.device();
  for (const AxisRangeProto& axis : proto.axes())
    input.axes.push_back(
        {axis.min(), axis.max(), axis.symbol(), axis.narrowed()});
  input.integer = proto.integer();
  input.number = proto.number();
  input.text = proto.text();
  return input;
}

}  // namespace aitune::frontend
