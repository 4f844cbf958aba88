#include "runtime/executable/input_binding.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "runtime/status/status_macros.h"

namespace aitune {
namespace {

bool HasElements(const TensorView& tensor) {
  for (int64_t size : tensor.sizes) {
    if (size == 0) return false;
  }
  return true;
}

// The error of the plan's `part` `number`.
absl::Status OfPart(absl::string_view part, int number,
                    const absl::Status& status) {
  return absl::Status(status.code(), absl::StrCat("plan: ", part, " ", number,
                                                  ": ", status.message()));
}

}  // namespace

absl::StatusOr<InputBinding> InputBinding::Create(const ExecutablePlan& plan) {
  InputBinding binding;
  binding.symbols_.assign(plan.symbols().begin(), plan.symbols().end());
  for (int i = 0; i < plan.inputs_size(); ++i) {
    absl::StatusOr<PlanTensorType> type =
        FromProto(plan.inputs(i), plan.symbols_size());
    if (!type.ok()) return OfPart("input", i, type.status());
    Input input{type->dtype, {}};
    for (SizeExpression& size : type->sizes) {
      const int64_t constant = size.constant().value_or(-1);
      const bool is_symbol = size.kind() == SizeExpression::Kind::kSymbol;
      const int symbol = is_symbol ? size.symbol() : -1;
      input.axes.push_back({std::move(size), constant, symbol});
    }
    binding.inputs_.push_back(std::move(input));
  }
  for (int i = 0; i < plan.constraints_size(); ++i) {
    absl::StatusOr<SizeConstraint> constraint =
        FromProto(plan.constraints(i), plan.symbols_size());
    if (!constraint.ok()) return OfPart("constraint", i, constraint.status());
    binding.constraints_.push_back(*std::move(constraint));
  }
  return binding;
}

absl::Status InputBinding::Bind(absl::Span<const TensorView> inputs,
                                absl::Span<int64_t> symbols) const {
  if (inputs.size() != inputs_.size()) {
    return absl::InvalidArgumentError(
        absl::StrCat("the model takes ", inputs_.size(), " tensor inputs, but ",
                     inputs.size(), " were given"));
  }
  for (size_t i = 0; i < inputs.size(); ++i) {
    const TensorView& given = inputs[i];
    if (given.dtype != inputs_[i].dtype) {
      return absl::InvalidArgumentError(absl::StrCat(
          "input ", i, ": expected ", std::string(Name(inputs_[i].dtype)),
          ", got ", std::string(Name(given.dtype))));
    }
    if (given.sizes.size() != inputs_[i].axes.size()) {
      return absl::InvalidArgumentError(
          absl::StrCat("input ", i, ": expected a tensor of rank ",
                       inputs_[i].axes.size(), ", got one of rank ",
                       given.sizes.size(), " ", SizesToString(given.sizes)));
    }
  }
  for (size_t i = 0; i < symbols_.size(); ++i) {
    const SymbolProto& symbol = symbols_[i];
    const int64_t value = inputs[symbol.input()].sizes[symbol.axis()];
    if (value < symbol.min() || value > symbol.max()) {
      return absl::InvalidArgumentError(absl::StrCat(
          "input ", symbol.input(), ": axis ", symbol.axis(), " (", "s", i,
          ") must be in ", symbol.min(), "..", symbol.max(), ", got ", value,
          "; the sizes are ", SizesToString(inputs[symbol.input()].sizes)));
    }
    symbols[i] = value;
  }
  for (const SizeConstraint& constraint : constraints_) {
    if (constraint.Holds(symbols)) continue;
    std::string sizes;
    for (size_t i = 0; i < symbols_.size(); ++i)
      absl::StrAppend(&sizes, i == 0 ? "" : ", ", "s", i, " (axis ",
                      symbols_[i].axis(), " of input ", symbols_[i].input(),
                      ") is ", symbols[i]);
    return absl::InvalidArgumentError(absl::StrCat(
        "compiled for sizes where ", constraint.ToString(), ", but ", sizes));
  }
  for (size_t i = 0; i < inputs.size(); ++i) {
    for (size_t a = 0; a < inputs_[i].axes.size(); ++a) {
      const Axis& axis = inputs_[i].axes[a];
      const int64_t given = inputs[i].sizes[a];
      bool fits;
      if (axis.constant >= 0) {
        fits = given == axis.constant;
      } else if (axis.symbol >= 0) {
        fits = given == symbols[axis.symbol];
      } else {
        const absl::StatusOr<int64_t> value = EvaluateSize(axis.size, symbols);
        fits = value.ok() && given == *value;
      }
      if (!fits) {
        return Explain(static_cast<int>(i), inputs[i], a, symbols);
      }
    }
    if (inputs[i].data == nullptr && HasElements(inputs[i])) {
      return absl::InvalidArgumentError(
          absl::StrCat("input ", i, ": it has no data"));
    }
  }
  return absl::OkStatus();
}

absl::Status InputBinding::Explain(int input, const TensorView& given,
                                   size_t axis,
                                   absl::Span<const int64_t> symbols) const {
  const Axis& expected = inputs_[input].axes[axis];
  std::string text =
      absl::StrCat("input ", input, ": axis ", axis, " must be ");
  if (expected.constant >= 0) {
    absl::StrAppend(&text, expected.constant);
  } else if (expected.symbol >= 0) {
    const SymbolProto& symbol = symbols_[expected.symbol];
    absl::StrAppend(&text, symbols[expected.symbol], " like axis ",
                    symbol.axis(), " of input ", symbol.input(), " (s",
                    expected.symbol, ")");
  } else {
    AITUNE_ASSIGN_OR_RETURN(const int64_t value,
                            EvaluateSize(expected.size, symbols));
    absl::StrAppend(&text, value, " (", expected.size.ToString(), ")");
  }
  absl::StrAppend(&text, ", got ", given.sizes[axis], "; the sizes are ",
                  SizesToString(given.sizes));
  return absl::InvalidArgumentError(text);
}

}  // namespace aitune
