// Slices whose bounds depend on sizes, and operators that give parts of a
// tensor.
#include <ATen/core/dispatch/Dispatcher.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "frontend/tracing/interpreter.h"
#include "frontend/tracing/operator_traits.h"
#include "runtime/status/status_macros.h"

namespace aitune::frontend {
namespace {

using Kind = ProbedValue::Kind;

// Where a part of a tensor ends that begins at `start`, as far as `numbers`
// tell: the lengths of all `count` parts, or the indices between them. The last
// one ends at `size`, that of the axis. Where an index is negative, or beyond
// the axis, the part ends elsewhere.
std::optional<SizeExpression> EndOfPart(
    size_t part, size_t count,
    absl::Span<const std::optional<SizeExpression>> numbers,
    const SizeExpression& start, const SizeExpression& size) {
  if (part + 1 == count) return size;
  if (part >= numbers.size() || !numbers[part]) return std::nullopt;
  return numbers.size() == count ? start + *numbers[part] : *numbers[part];
}

}  // namespace

// Parts of a tensor as slices (or selections), one a part: no lists are needed.
absl::StatusOr<Interpreter::Results> Interpreter::EmitSlices(
    const Invocation& call) {
  const ProbedRef& source = call.arguments[0];
  AITUNE_ASSIGN_OR_RETURN(std::vector<std::vector<c10::IValue>> executed,
                          Execute(call));
  const bool select = call.schema->name() == "aten::unbind";
  const std::optional<size_t> position = FindArgument(*call.schema, "dim");
  if (!position)
    return absl::UnimplementedError(
        absl::StrCat(call.schema->name(), " has no axis"));
  AITUNE_ASSIGN_OR_RETURN(int64_t dim,
                          UniformInt(call.arguments[*position], "an axis"));
  const int64_t axis = dim < 0 ? dim + source->tensor().dim() : dim;

  auto list = std::make_shared<ProbedValue>();
  list->kind = Kind::kList;
  list->type_hint = c10::ListType::ofTensors();
  std::vector<int64_t> counts;
  for (const auto& results : executed)
    counts.push_back(static_cast<int64_t>(results[0].toTensorVector().size()));
  AITUNE_RETURN_IF_ERROR(SettlePartCount(call));
  for (const int64_t count : counts) {
    if (count != counts[0])
      return Divergence(counts, "the number of parts of a tensor");
  }
  std::vector<std::optional<SizeExpression>> numbers;
  if (call.arguments[1]->kind == Kind::kList) {
    for (const ProbedRef& number : call.arguments[1]->elements)
      numbers.push_back(SizeOf(number));
  }
  const SizeExpression size = source->type.sizes[static_cast<size_t>(axis)];
  SizeExpression start;
  std::vector<std::vector<SizeExpression>> expected;
  for (int64_t part = 0; part < counts[0]; ++part) {
    const auto operation = c10::Dispatcher::singleton().findSchemaOrThrow(
        select ? "aten::select" : "aten::slice", select ? "int" : "Tensor");
    Invocation slice;
    slice.schema = &operation.schema();
    slice.result_count = 1;
    SizeExpression end = start;
    if (select) {
      end = start + 1;
    } else {
      std::vector<int64_t> sizes, ends = fitter_.Evaluate(start);
      for (size_t probe = 0; probe < executed.size(); ++probe) {
        sizes.push_back(
            executed[probe][0].toTensorVector()[static_cast<size_t>(part)].size(
                axis));
        ends[probe] += sizes.back();
      }
      const std::optional<SizeExpression> told =
          EndOfPart(static_cast<size_t>(part), static_cast<size_t>(counts[0]),
                    numbers, start, size);
      if (told && fitter_.Matches(*told, ends)) {
        end = fitter_.Simplify(*told);
      } else {
        const std::optional<SizeExpression> length =
            fitter_.Fit(sizes, source->type.sizes,
                        SizeDivisors(*call.schema, call.arguments));
        if (!length) return Divergence(sizes, "the size of a part of a tensor");
        end = fitter_.Simplify(start + *length);
      }
    }
    slice.run = [operation](std::vector<c10::IValue>& stack) {
      operation.callBoxed(stack);
    };
    slice.arguments = {source, MakeSize(axis), MakeSize(start)};
    if (!select) {
      slice.arguments.push_back(MakeSize(end));
      slice.arguments.push_back(MakeSize(1));
    }
    AITUNE_ASSIGN_OR_RETURN(Results made, Invoke(slice));
    list->elements.push_back(made.at(0));
    expected.push_back(made.at(0)->type.sizes);
    start = end;
  }
  AITUNE_RETURN_IF_ERROR(CheckSizes(call, expected));
  return Results({list});
}

absl::Status Interpreter::CheckSelection(const Invocation& call) {
  const ProbedRef& self = call.arguments[0];
  const std::optional<SizeExpression> at = SizeOf(call.arguments[2]);
  if (!self->has_type || !at || call.arguments[1]->kind != Kind::kPlain)
    return absl::OkStatus();
  AITUNE_ASSIGN_OR_RETURN(int64_t dim,
                          UniformInt(call.arguments[1], "an axis"));
  const auto rank = static_cast<int64_t>(self->type.sizes.size());
  const int64_t axis = dim < 0 ? dim + rank : dim;
  if (axis < 0 || axis >= rank) return absl::OkStatus();
  const SizeExpression size = self->type.sizes[static_cast<size_t>(axis)];
  const char* const what = "which part is selected";
  AITUNE_ASSIGN_OR_RETURN(const bool from_start, IsNonNegative(*at, what));
  // What the call raises where it is not inside, its run tells.
  return IsNonNegative(
             fitter_.Simplify(from_start ? size + *at * -1 + -1 : *at + size),
             "whether the part that is selected is there")
      .status();
}

absl::Status Interpreter::SettleSqueeze(const Invocation& call) {
  const std::vector<SizeExpression>& sizes = call.arguments[0]->type.sizes;
  const auto rank = static_cast<int64_t>(sizes.size());
  std::vector<ProbedRef> given;
  if (call.arguments.size() > 1) {
    given = call.arguments[1]->elements;
    if (call.arguments[1]->kind == Kind::kPlain) given = {call.arguments[1]};
  }
  std::vector<int64_t> axes;
  for (const ProbedRef& axis : given) {
    AITUNE_ASSIGN_OR_RETURN(const int64_t at, UniformInt(axis, "an axis"));
    axes.push_back(at < 0 ? at + rank : at);
  }
  for (int64_t axis = 0; call.arguments.size() == 1 && axis < rank; ++axis)
    axes.push_back(axis);
  const char* const what = "the rank of a squeezed tensor";
  for (const int64_t axis : axes) {
    if (axis < 0 || axis >= rank) return absl::OkStatus();
    const SizeExpression& size = sizes[static_cast<size_t>(axis)];
    if (size.constant()) continue;
    const SizeConstraint decides = {size + -1,
                                    size.Evaluate(region_.anchor()) == 1
                                        ? SizeConstraint::Relation::kZero
                                        : SizeConstraint::Relation::kNonZero};
    region_.Restrict(
        SymbolsOf(size),
        [&](absl::Span<const int64_t> point) { return decides.Holds(point); },
        {decides}, Reason(absl::StrCat(what, " depends on the size")));
  }
  return KeepProbes(what);
}

absl::Status Interpreter::SettleDiagonal(const Invocation& call) {
  const std::vector<SizeExpression>& sizes = call.arguments[0]->type.sizes;
  const auto rank = static_cast<int64_t>(sizes.size());
  std::vector<int64_t> numbers;  // the offset and the two axes
  for (size_t i = 1; i < call.arguments.size(); ++i) {
    if (call.arguments[i]->kind != Kind::kPlain) return absl::OkStatus();
    AITUNE_ASSIGN_OR_RETURN(numbers.emplace_back(),
                            UniformInt(call.arguments[i], "a diagonal"));
  }
  const auto size_of = [&](int64_t axis) {
    const int64_t at = axis < 0 ? axis + rank : axis;
    return at < 0 || at >= rank ? nullptr : &sizes[static_cast<size_t>(at)];
  };
  const SizeExpression* const rows = size_of(numbers[1]);
  const SizeExpression* const columns = size_of(numbers[2]);
  const int64_t offset = numbers[0];
  if (rows == nullptr || columns == nullptr || offset < -INT32_MAX ||
      offset > INT32_MAX)
    return absl::OkStatus();
  const SizeExpression down = *rows + std::min<int64_t>(offset, 0),
                       right = *columns + -std::max<int64_t>(offset, 0);
  const char* const what = "the axis at whose end a diagonal ends";
  AITUNE_ASSIGN_OR_RETURN(
      const bool ends_below,
      IsNonNegative(fitter_.Simplify(right + down * -1), what));
  if (offset == 0) return absl::OkStatus();
  return IsNonNegative(ends_below ? down : right, "whether a diagonal is there")
      .status();
}

absl::StatusOr<std::optional<std::pair<int64_t, SizeExpression>>>
Interpreter::ClampSlice(Invocation& call) {
  using Sliced = std::optional<std::pair<int64_t, SizeExpression>>;
  const ProbedRef& self = call.arguments[0];
  if (call.arguments.size() != 5 || !self->IsTensor() || !self->has_type ||
      std::any_of(call.arguments.begin() + 1, call.arguments.end(),
                  [](const ProbedRef& a) { return a->kind != Kind::kPlain; }))
    return Sliced();
  const char* const what = "where a slice ends";
  AITUNE_ASSIGN_OR_RETURN(int64_t dim,
                          UniformInt(call.arguments[1], "an axis"));
  AITUNE_ASSIGN_OR_RETURN(int64_t step,
                          UniformInt(call.arguments[4], "the step of a slice"));
  const auto rank = static_cast<int64_t>(self->type.sizes.size());
  const int64_t axis = dim < 0 ? dim + rank : dim;
  if (axis < 0 || axis >= rank || step < 1) return Sliced();
  const SizeExpression size = self->type.sizes[static_cast<size_t>(axis)];
  // Between `low` and the size; a negative one counts from the end.
  const auto clamp =
      [&](const ProbedRef& bound, const SizeExpression& otherwise,
          const SizeExpression& low) -> absl::StatusOr<SizeExpression> {
    if (bound->probes[0].isNone()) return otherwise;
    std::optional<SizeExpression> at = SizeOf(bound);
    if (!at) {
      AITUNE_RETURN_IF_ERROR(Settle(bound, what));
      at = SizeExpression(bound->probes[0].toInt());
    }
    // The usual spelling of "to the end".
    if (at->constant() == INT64_MAX) return size;
    AITUNE_ASSIGN_OR_RETURN(bool counts_from_start, IsNonNegative(*at, what));
    if (!counts_from_start) at = *at + size;
    AITUNE_ASSIGN_OR_RETURN(
        bool above, IsNonNegative(fitter_.Simplify(*at + low * -1), what));
    if (!above) return low;
    AITUNE_ASSIGN_OR_RETURN(
        bool inside, IsNonNegative(fitter_.Simplify(size + *at * -1), what));
    return inside ? fitter_.Simplify(*at) : size;
  };
  AITUNE_ASSIGN_OR_RETURN(SizeExpression start, clamp(call.arguments[2], 0, 0));
  AITUNE_ASSIGN_OR_RETURN(SizeExpression end,
                          clamp(call.arguments[3], size, start));
  call.arguments[2] = MakeSize(start);
  call.arguments[3] = MakeSize(end);
  SizeExpression length = end + start * -1;
  if (step > 1)
    length = SizeExpression::Binary(SizeExpression::Kind::kFloorDivide,
                                    length + (step - 1), step);
  return Sliced({axis, fitter_.Simplify(length)});
}

}  // namespace aitune::frontend
