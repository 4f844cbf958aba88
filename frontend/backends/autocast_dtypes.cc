#include "frontend/backends/autocast_dtypes.h"

#include <ATen/core/Tensor.h>
#include <c10/core/ScalarType.h>

#include <algorithm>
#include <optional>
#include <utility>
#include <variant>

#include "absl/strings/str_cat.h"
#include "frontend/trace/leaf_value.h"
#include "frontend/values/pytree.h"
#include "frontend/values/torch_util.h"

namespace aitune::frontend {
namespace {

int32_t DtypeOf(const c10::IValue& value) {
  if (!value.isTensor() || !value.toTensor().defined()) return 0;
  const std::optional<DataType> dtype =
      FromScalarType(value.toTensor().scalar_type());
  return dtype ? static_cast<int32_t>(*dtype) : 0;
}

std::vector<int32_t> DtypesOf(absl::Span<const RegionValue> values) {
  std::vector<int32_t> dtypes;
  dtypes.reserve(values.size());
  for (const RegionValue& value : values) {
    const auto* view = std::get_if<TensorView>(&value);
    dtypes.push_back(view != nullptr ? static_cast<int32_t>(view->dtype)
                                     : DtypeOf(ToIValue(value)));
  }
  return dtypes;
}

// What the floating tensors among the arguments promote to; float32 if there is
// none.
at::ScalarType PromotedDtype(absl::Span<const RegionValue> arguments) {
  std::optional<at::ScalarType> promoted;
  const auto add = [&](at::ScalarType dtype) {
    if (at::isFloatingType(dtype))
      promoted = promoted ? at::promoteTypes(*promoted, dtype) : dtype;
  };
  for (const RegionValue& argument : arguments) {
    if (const auto* view = std::get_if<TensorView>(&argument)) {
      add(ToScalarType(view->dtype));
      continue;
    }
    MapTensors(ToIValue(argument), [&](const at::Tensor& tensor, int) {
      add(tensor.scalar_type());
      return tensor;
    });
  }
  return promoted.value_or(at::kFloat);
}

// Whether it is one of the dtypes that autocast changes to one another.
bool IsCast(at::ScalarType dtype, at::ScalarType narrow) {
  return dtype == at::kFloat || dtype == narrow;
}

}  // namespace

AutocastDtypes::AutocastDtypes(absl::Span<const RegionValue> arguments,
                               absl::Span<const OwnedValue> results)
    : argument_dtypes_(DtypesOf(arguments)) {
  for (const OwnedValue& result : results)
    result_dtypes_.push_back(DtypeOf(ToIValue(result.value, result.owner)));
}

std::vector<OwnedValue> AutocastDtypes::Restore(
    absl::Span<const RegionValue> arguments, std::vector<OwnedValue> results,
    DataType narrow) const {
  const at::ScalarType narrowed = ToScalarType(narrow);
  const bool is_learned = results.size() == result_dtypes_.size() &&
                          DtypesOf(arguments) == argument_dtypes_;
  std::optional<at::ScalarType> promoted;
  const auto widen = [&](const at::Tensor& tensor, int) {
    if (tensor.scalar_type() != narrowed) return tensor;
    if (!promoted) promoted = PromotedDtype(arguments);
    return tensor.to(*promoted);
  };
  for (size_t i = 0; i < results.size(); ++i) {
    const c10::IValue value = ToIValue(results[i].value, results[i].owner);
    if (!value.isTensor()) {
      if (IsContainer(value)) {
        results[i].value = OpaqueValue(
            std::make_shared<c10::IValue>(MapTensors(value, widen)));
        results[i].owner = nullptr;
      }
      continue;
    }
    const at::Tensor& tensor = value.toTensor();
    if (!tensor.defined() || !IsCast(tensor.scalar_type(), narrowed)) continue;
    const int32_t learned = is_learned ? result_dtypes_[i] : 0;
    const at::ScalarType wanted =
        learned == 0 ? at::ScalarType::Undefined
                     : ToScalarType(static_cast<DataType>(learned));
    const at::Tensor restored =
        wanted == at::kFloat || at::isReducedFloatingType(wanted)
            ? tensor.to(wanted)
            : widen(tensor, 0);
    if (restored.scalar_type() != tensor.scalar_type())
      results[i] = ToOwned(restored);
  }
  return results;
}

void AutocastDtypes::Save(TorchBackendStateProto* state) const {
  state->mutable_argument_dtypes()->Add(argument_dtypes_.begin(),
                                        argument_dtypes_.end());
  state->mutable_output_dtypes()->Add(result_dtypes_.begin(),
                                      result_dtypes_.end());
}

absl::Status AutocastDtypes::Load(const TorchBackendStateProto& state) {
  argument_dtypes_.assign(state.argument_dtypes().begin(),
                          state.argument_dtypes().end());
  result_dtypes_.assign(state.output_dtypes().begin(),
                        state.output_dtypes().end());
  for (const std::vector<int32_t>* dtypes :
       {&argument_dtypes_, &result_dtypes_}) {
    for (const int32_t dtype : *dtypes) {
      if (dtype != 0 && !IsDataType(dtype))
        return absl::DataLossError(absl::StrCat(
            "the stored state of the backend is damaged: it has the unknown "
            "dtype ",
            dtype, "; save the checkpoint again"));
    }
  }
  return absl::OkStatus();
}

}  // namespace aitune::frontend
