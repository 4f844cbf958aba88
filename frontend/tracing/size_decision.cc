// How the program uses sizes: values that are functions of them, formulas, and
// decisions, which restrict the region that the trace is right for.
#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "frontend/trace/one_symbol_fit.h"
#include "frontend/tracing/interpreter.h"
#include "frontend/tracing/operator_traits.h"
#include "frontend/tracing/size_forms.h"
#include "frontend/values/torch_util.h"
#include "runtime/status/status_macros.h"

namespace aitune::frontend {
namespace {

using Kind = ProbedValue::Kind;
using Relation = SizeConstraint::Relation;

// Points at which a formula is fitted, and at which it is compared with a
// function that may differ from it anywhere: as many as SizeRegion::Restrict
// looks at.
constexpr size_t kFormulaPoints = 4096, kMostPoints = size_t{1} << 16;

bool IsListOf(const ProbedValue& value) {
  return value.kind == Kind::kList || value.kind == Kind::kTuple ||
         value.kind == Kind::kDict;
}

// The integers that `function` gives at the points; not set where it gives
// something else, or is not known.
std::optional<std::vector<int64_t>> IntegersAt(
    const SizeFunctionRef& function, const std::vector<SizePoint>& points) {
  std::vector<int64_t> integers;
  for (const SizePoint& point : points) {
    const absl::StatusOr<c10::IValue> value =
        SizeEvaluator(point, /*real=*/false).Evaluate(function);
    if (!value.ok()) return std::nullopt;
    if (value->isTensor()) {
      integers.push_back(value->toTensor().item<int64_t>());
    } else if (value->isInt()) {
      integers.push_back(value->toInt());
    } else {
      return std::nullopt;
    }
  }
  return integers;
}

// Whether the formula is what the function gives at all sizes of the region.
bool IsEverywhere(const SizeExpression& formula,
                  const SizeFunctionRef& function, const SizeRegion& region) {
  bool complete = false;
  const std::vector<SizePoint> points =
      region.Points(function->symbols, kMostPoints, &complete);
  if (!complete) return false;
  const std::optional<std::vector<int64_t>> integers =
      IntegersAt(function, points);
  for (size_t i = 0; integers && i < points.size(); ++i)
    if (formula.Evaluate(points[i]) != (*integers)[i]) return false;
  return integers.has_value();
}

}  // namespace

SizeFunctionRef Interpreter::FunctionOf(const ProbedRef& value) const {
  switch (value->kind) {
    case Kind::kPlain:
      if (value->uniform) return SizeFunction::Fixed(value->probes[0]);
      if (value->size) return SizeFunction::Size(*value->size);
      return value->function;
    case Kind::kTensor:
      if (value->storage->tainted) return nullptr;
      if (value->uniform && value->storage->constant) {
        // The program may write to a constant that it made itself.
        return SizeFunction::Fixed(value->storage->read_only.empty()
                                       ? c10::IValue(value->tensor().clone())
                                       : value->probes[0]);
      }
      return value->function_version == value->storage->version
                 ? value->function
                 : nullptr;
    case Kind::kList:
    case Kind::kTuple:
    case Kind::kDict: {
      std::vector<SizeFunctionRef> elements;
      for (const ProbedRef& element : value->elements) {
        elements.push_back(FunctionOf(element));
        if (elements.back() == nullptr) return nullptr;
      }
      return SizeFunction::Container(
          value->kind == Kind::kList    ? SizeFunction::Kind::kList
          : value->kind == Kind::kTuple ? SizeFunction::Kind::kTuple
                                        : SizeFunction::Kind::kDict,
          value->type_hint, value->keys, std::move(elements));
    }
    default:
      return nullptr;
  }
}

absl::Status Interpreter::KeepProbes(absl::string_view what) {
  for (const SizePoint& probe : fitter_.probes()) {
    if (!region_.Contains(probe))
      return absl::OutOfRangeError(absl::StrCat(what, " depends on the size (",
                                                absl::StrJoin(probe, ", "),
                                                " goes another way)"));
  }
  return absl::OkStatus();
}

std::string Interpreter::Reason(absl::string_view what) const {
  const std::string& location = builder_.site().location;
  return absl::StrCat(what, location.empty() ? "" : " at ", location);
}

absl::Status Interpreter::Divergence(const std::vector<int64_t>& values,
                                     absl::string_view what) {
  const std::string text = Reason(
      absl::StrCat(what, " depends on the size in a way that has no formula"));
  // A size of 1 may be the only trouble: it broadcasts.
  if (!region_.ExcludeOnes(text)) {
    std::vector<int> symbols = fitter_.DependsOn(values);
    if (symbols.empty()) symbols = AllSymbols();
    for (const int symbol : symbols) region_.Fix(symbol, text);
  }
  return absl::OutOfRangeError(
      absl::StrCat(what, " depends on the size in a way that has no formula (",
                   absl::StrJoin(values, ", "), ")"));
}

std::vector<int> Interpreter::AllSymbols() const {
  std::vector<int> symbols;
  for (size_t s = 0; s < region_.ranges().size(); ++s)
    symbols.push_back(static_cast<int>(s));
  return symbols;
}

absl::StatusOr<std::optional<SizeExpression>> Interpreter::SettleFormula(
    const ProbedRef& value, absl::string_view what) {
  const SizeFunctionRef function = FunctionOf(value);
  if (function == nullptr || !value->probes[0].isInt()) return std::nullopt;
  if (!region_.LooksAtAll(function->symbols)) {
    // Of fewer sizes a formula may be known to be right.
    region_.Shorten(function->symbols, SizeRegion::kMostLookedAt,
                    Reason(absl::StrCat(what, " depends on the size")));
    AITUNE_RETURN_IF_ERROR(KeepProbes(what));
    return SizeOf(value);
  }
  if (function->symbols.size() != 1) return std::nullopt;
  const int symbol = function->symbols[0];
  bool complete = false;
  const std::vector<SizePoint> points =
      region_.Points(function->symbols, kMostPoints, &complete);
  if (!complete) return std::nullopt;
  const std::optional<std::vector<int64_t>> values =
      IntegersAt(function, points);
  if (!values) return std::nullopt;
  std::vector<int64_t> sizes;
  for (const SizePoint& point : points)
    sizes.push_back(point[static_cast<size_t>(symbol)]);
  const auto anchor =
      std::find(points.begin(), points.end(), region_.anchor()) -
      points.begin();
  const std::optional<SizeExpression> formula =
      FitAround(symbol, sizes, *values, static_cast<size_t>(anchor));
  if (!formula) return std::nullopt;
  region_.Restrict(
      function->symbols,
      [&](absl::Span<const int64_t> point) {
        const auto at = std::lower_bound(sizes.begin(), sizes.end(),
                                         point[static_cast<size_t>(symbol)]);
        return at != sizes.end() &&
               formula->Evaluate(point) == (*values)[at - sizes.begin()];
      },
      {}, Reason(absl::StrCat(what, " depends on the size")));
  AITUNE_RETURN_IF_ERROR(KeepProbes(what));
  value->size = formula;
  return formula;
}

absl::Status Interpreter::Settle(const ProbedRef& value,
                                 absl::string_view what) {
  if (value->kind != Kind::kPlain || value->uniform) return absl::OkStatus();
  const SizeFunctionRef function = FunctionOf(value);
  const absl::StatusOr<c10::IValue> at_anchor =
      function == nullptr
          ? absl::UnavailableError("it is no function of sizes")
          : SizeEvaluator(region_.anchor(), /*real=*/false).Evaluate(function);
  if (absl::IsUnavailable(at_anchor.status())) {
    for (const int symbol : AllSymbols()) {
      if (region_.ranges()[static_cast<size_t>(symbol)].min <
          region_.ranges()[static_cast<size_t>(symbol)].max)
        region_.Fix(symbol, Reason(absl::StrCat(what, " depends on the size")));
    }
    AITUNE_RETURN_IF_ERROR(KeepProbes(what));
    value->uniform = true;
    return absl::OkStatus();
  }
  AITUNE_RETURN_IF_ERROR(at_anchor.status());
  const c10::IValue& expected = *at_anchor;
  const auto holds = [&](absl::Span<const int64_t> point) {
    const absl::StatusOr<c10::IValue> there =
        SizeEvaluator(point, /*real=*/false).Evaluate(function);
    return there.ok() && SamePlainValue(*there, expected);
  };
  const std::string reason = Reason(absl::StrCat(what, " depends on the size"));
  const std::vector<int>& symbols = function->symbols;
  const std::vector<SizeConstraint> forms =
      FormsOf(*function, expected, /*of_lists=*/!region_.LooksAtAll(symbols));
  region_.Restrict(symbols, holds, forms, reason);
  // Nothing is said of sizes that were not looked at.
  if (forms.empty() && !AsksForLayout(*function) &&
      !region_.LooksAtAll(symbols)) {
    region_.Shorten(symbols, SizeRegion::kMostLookedAt, reason);
    region_.Restrict(symbols, holds, {}, reason);
  }
  AITUNE_RETURN_IF_ERROR(KeepProbes(what));
  for (c10::IValue& probe : value->probes) probe = expected;
  value->uniform = true;
  return absl::OkStatus();
}

absl::StatusOr<bool> Interpreter::IsNonNegative(const SizeExpression& size,
                                                absl::string_view what) {
  if (size.constant()) return *size.constant() >= 0;
  const bool result = size.Evaluate(region_.anchor()) >= 0;
  const SizeConstraint constraint = {result ? size : size * -1 + -1,
                                     Relation::kNonNegative};
  const std::string reason = Reason(absl::StrCat(what, " depends on the size"));
  region_.Restrict(
      SymbolsOf(size),
      [&](absl::Span<const int64_t> point) { return constraint.Holds(point); },
      {constraint}, reason);
  AITUNE_RETURN_IF_ERROR(KeepProbes(what));
  return result;
}

ProbedRef Interpreter::MakeSize(const SizeExpression& size) {
  std::vector<c10::IValue> probes;
  for (const int64_t value : fitter_.Evaluate(size)) probes.emplace_back(value);
  ProbedRef plain = MakePlain(std::move(probes));
  plain->size = size;
  plain->uniform = size.constant().has_value();
  return plain;
}

std::optional<SizeExpression> Interpreter::FormulaOf(
    const SizeFunctionRef& function, const std::vector<int64_t>& values) {
  if (function == nullptr) return std::nullopt;
  if (std::optional<SizeExpression> formula = function->Formula())
    return formula;
  bool complete = false;
  const std::vector<SizePoint> points =
      region_.Points(function->symbols, kFormulaPoints, &complete);
  const std::optional<std::vector<int64_t>> integers =
      IntegersAt(function, points);
  if (!integers) return std::nullopt;
  const std::vector<int64_t>& there = *integers;
  const auto is_right = [&](const std::optional<SizeExpression>& fitted) {
    if (!fitted) return false;
    if (!complete && fitted->constant()) return false;
    for (size_t i = 0; i < points.size(); ++i)
      if (fitted->Evaluate(points[i]) != there[i]) return false;
    return complete || IsSmooth(*function) ||
           IsEverywhere(*fitted, function, region_);
  };
  std::optional<SizeExpression> fitted = fitter_.Fit(values);
  if (is_right(fitted)) return fitted;
  // The probes lie near each other and show little of a division.
  if (points.size() > values.size()) {
    fitted = fitter_.WithProbes(points).Fit(there);
    if (is_right(fitted)) return fitted;
  }
  if (!complete || function->symbols.size() != 1) return std::nullopt;
  const int symbol = function->symbols[0];
  std::vector<int64_t> sizes;
  for (const SizePoint& point : points)
    sizes.push_back(point[static_cast<size_t>(symbol)]);
  return FitRemainder(symbol, sizes, there);
}

void Interpreter::MarkDerived(const ProbedRef& result,
                              const SizeFunctionRef& function) {
  if (IsListOf(*result)) {
    for (size_t i = 0; i < result->elements.size(); ++i)
      MarkDerived(
          result->elements[i],
          function == nullptr ? nullptr : SizeFunction::Element(function, i));
    return;
  }
  if (result->kind != Kind::kPlain && !result->IsTensor()) return;
  if (result->kind == Kind::kPlain && result->probes[0].isNone() &&
      result->uniform)
    return;
  result->uniform = false;
  result->function = function;
  if (result->IsTensor()) result->function_version = result->storage->version;
}

std::vector<SizeFunctionRef> Interpreter::ResultFunctions(
    const Invocation& call) const {
  const bool sizes_only = IsSizeQuery(*call.schema);
  std::vector<SizeFunctionRef> arguments;
  for (const ProbedRef& argument : call.arguments) {
    SizeFunctionRef function = FunctionOf(argument);
    if (argument->is_list_of_known && sizes_only) function = argument->function;
    // Of tensors with input data in them only queries are functions.
    if (function == nullptr && KnownSizes(*argument) != nullptr &&
        IsMetadataQuery(*call.schema)) {
      if (sizes_only) {
        function = SizeFunction::Shape(argument->type.sizes,
                                       ToScalarType(argument->type.dtype));
      } else if (argument->IsTensor() && argument->has_type) {
        function = StridedShapeOf(*argument).value_or(nullptr);
      }
    }
    if (function == nullptr) return {call.result_count, nullptr};
    arguments.push_back(std::move(function));
  }
  std::vector<SizeFunctionRef> functions;
  for (size_t i = 0; i < call.result_count; ++i)
    functions.push_back(
        SizeFunction::Call(*call.schema, call.run, arguments, i));
  return functions;
}

absl::Status Interpreter::SettleLength(const SizeFunctionRef& function) {
  const auto length = [&](absl::Span<const int64_t> point) -> int64_t {
    const absl::StatusOr<c10::IValue> list =
        SizeEvaluator(point, /*real=*/false).Evaluate(function);
    if (!list.ok() || !list->isList()) return -1;
    return static_cast<int64_t>(list->toListRef().size());
  };
  const int64_t expected = length(region_.anchor());
  const char* const what = "the length of a list";
  region_.Restrict(
      function->symbols,
      [&](absl::Span<const int64_t> point) {
        return length(point) == expected;
      },
      {}, Reason(absl::StrCat(what, " depends on the size")));
  return KeepProbes(what);
}

}  // namespace aitune::frontend
