#include "runtime/guards/guard_set.h"

#include <cstring>
#include <map>
#include <utility>

#include "absl/container/inlined_vector.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace aitune {
namespace {

// Floats by their bits: a constant that is NaN was compiled for NaN.
bool SameConstant(const InputDescription& expected, const CallInput& given) {
  switch (expected.kind) {
    case InputKind::kInt:
    case InputKind::kBool:
      return expected.integer == given.integer;
    case InputKind::kFloat:
      return std::memcmp(&expected.number, &given.number, sizeof(double)) == 0;
    case InputKind::kString:
      return expected.text == given.text;
    case InputKind::kNone:
    case InputKind::kTensor:
      break;
  }
  return true;
}

std::string_view KindName(InputKind kind) {
  switch (kind) {
    case InputKind::kTensor:
      return "a tensor";
    case InputKind::kNone:
      return "None";
    case InputKind::kInt:
      return "an int";
    case InputKind::kFloat:
      return "a float";
    case InputKind::kBool:
      return "a bool";
    case InputKind::kString:
      break;
  }
  return "a string";
}

std::string Range(int64_t min, int64_t max) {
  if (min == max) return absl::StrCat(min);
  if (max == AxisRange::kUnbounded) return absl::StrCat(min, " or more");
  return absl::StrCat(min, " to ", max);
}

}  // namespace

GuardFilter FindGuardFilter(std::string_view name) {
  if (name == "skip_guard_on_inbuilt_nn_modules_unsafe")
    return [](const GuardInfo& guard) {
      return guard.source != InputSource::kInbuiltModule;
    };
  if (name == "skip_guard_on_all_nn_modules_unsafe")
    return [](const GuardInfo& guard) {
      return guard.source != InputSource::kInbuiltModule &&
             guard.source != InputSource::kModule;
    };
  if (name == "keep_tensor_guards_unsafe")
    return [](const GuardInfo& guard) { return guard.on_tensor; };
  if (name == "skip_guard_on_globals_unsafe")
    return [](const GuardInfo& guard) {
      return guard.source != InputSource::kGlobal;
    };
  return nullptr;
}

GuardSet::GuardSet(std::vector<InputDescription> inputs,
                   const GuardFilter& filter,
                   std::vector<SizeConstraint> constraints)
    : inputs_(std::move(inputs)) {
  // Where a symbol was first seen.
  std::map<int, std::pair<int16_t, int16_t>> symbols;
  // What makes the other guards safe to check comes first.
  for (size_t i = 0; i < inputs_.size(); ++i) {
    const auto input = static_cast<int16_t>(i);
    guards_.push_back({GuardKind::kInputKind,
                       static_cast<uint8_t>(inputs_[i].kind), input, -1, -1, -1,
                       0, 0});
    if (inputs_[i].kind == InputKind::kTensor)
      guards_.push_back({GuardKind::kRank, 0, input, -1, -1, -1,
                         static_cast<int64_t>(inputs_[i].axes.size()), 0});
  }
  for (size_t i = 0; i < inputs_.size(); ++i) {
    const InputDescription& expected = inputs_[i];
    const bool tensor = expected.kind == InputKind::kTensor;
    const auto input = static_cast<int16_t>(i);
    const auto add = [&](GuardKind kind, uint8_t value, int16_t axis = -1,
                         int64_t min = 0, int64_t max = 0,
                         std::pair<int16_t, int16_t> other = {-1, -1}) {
      if (filter && !filter({kind, expected.source, tensor, static_cast<int>(i),
                             expected.name}))
        return;
      guards_.push_back(
          {kind, value, input, axis, other.first, other.second, min, max});
    };
    if (!tensor) {
      if (expected.kind != InputKind::kNone) add(GuardKind::kConstant, 0);
      continue;
    }
    add(GuardKind::kDtype, static_cast<uint8_t>(expected.dtype));
    add(GuardKind::kDevice, 0);
    add(GuardKind::kLayout, static_cast<uint8_t>(expected.layout));
    for (size_t a = 0; a < expected.axes.size(); ++a) {
      const AxisRange& axis = expected.axes[a];
      const auto number = static_cast<int16_t>(a);
      add(GuardKind::kSize, 0, number, axis.min, axis.max);
      if (axis.symbol < 0) continue;
      const auto [first, is_first] =
          symbols.emplace(axis.symbol, std::make_pair(input, number));
      if (!is_first)
        add(GuardKind::kEqualSizes, 0, number, 0, 0, first->second);
    }
  }
  for (SizeConstraint& constraint : constraints) {
    Constraint bound;
    bool known = true;
    const std::vector<int> read = SymbolsOf(constraint.expression);
    std::vector<SizeExpression> numbers(
        read.empty() ? 0 : static_cast<size_t>(read.back()) + 1);
    for (const int symbol : read) {
      numbers[static_cast<size_t>(symbol)] =
          SizeExpression::Symbol(static_cast<int>(bound.axes.size()));
      const auto axis = symbols.find(symbol);
      known = known && axis != symbols.end();
      if (known) bound.axes.push_back(axis->second);
    }
    // A constraint that can't be tested does not hold.
    if (!known) {
      bound.axes.clear();
      guards_.push_back({GuardKind::kConstraint, 0, 0, -1, -1, -1,
                         static_cast<int64_t>(constraints_.size()), 0});
      constraints_.push_back({{1, SizeConstraint::Relation::kZero}, {}});
      continue;
    }
    bound.condition = {Substitute(constraint.expression, numbers),
                       constraint.relation};
    if (bound.axes.empty()) continue;
    guards_.push_back({GuardKind::kConstraint, 0, bound.axes[0].first,
                       bound.axes[0].second, -1, -1,
                       static_cast<int64_t>(constraints_.size()), 0});
    constraints_.push_back(std::move(bound));
  }
}

bool GuardSet::ConstraintHolds(const Constraint& constraint,
                               absl::Span<const CallInput> inputs) const {
  absl::InlinedVector<int64_t, 8> sizes;
  for (const auto& [input, axis] : constraint.axes)
    sizes.push_back(inputs[input].sizes[axis]);
  return constraint.condition.Holds(sizes);
}

bool GuardSet::Holds(const Guard& guard,
                     absl::Span<const CallInput> inputs) const {
  const CallInput& given = inputs[guard.input];
  switch (guard.kind) {
    case GuardKind::kInputCount:
      return true;
    case GuardKind::kInputKind:
      return static_cast<uint8_t>(given.kind) == guard.value;
    case GuardKind::kRank:
      return static_cast<int64_t>(given.sizes.size()) == guard.min;
    case GuardKind::kDtype:
      return static_cast<uint8_t>(given.dtype) == guard.value;
    case GuardKind::kDevice:
      return given.device == inputs_[guard.input].device;
    case GuardKind::kLayout:
      return static_cast<uint8_t>(given.layout) == guard.value;
    case GuardKind::kSize: {
      const int64_t size = given.sizes[guard.axis];
      return guard.min <= size && size <= guard.max;
    }
    case GuardKind::kEqualSizes:
      return given.sizes[guard.axis] ==
             inputs[guard.other_input].sizes[guard.other_axis];
    case GuardKind::kConstant:
      return SameConstant(inputs_[guard.input], given);
    case GuardKind::kConstraint:
      return ConstraintHolds(constraints_[static_cast<size_t>(guard.min)],
                             inputs);
  }
  return true;
}

int GuardSet::FirstFailure(absl::Span<const CallInput> inputs) const {
  if (inputs.size() != inputs_.size()) return size();
  for (size_t i = 0; i < guards_.size(); ++i) {
    if (!Holds(guards_[i], inputs)) return static_cast<int>(i);
  }
  return -1;
}

std::string GuardSet::InputText(int input) const {
  const std::string& name = inputs_[input].name;
  return absl::StrCat("input ", input,
                      name.empty() ? "" : absl::StrCat(" (", name, ")"));
}

std::optional<GuardFailure> GuardSet::Explain(
    absl::Span<const CallInput> inputs) const {
  const int position = FirstFailure(inputs);
  if (position < 0) return std::nullopt;
  if (position == size()) {
    return GuardFailure{GuardKind::kInputCount, -1, -1,
                        absl::StrCat("there are ", inputs.size(),
                                     " inputs, compiled for ", inputs_.size()),
                        "pass the inputs that the model was compiled for"};
  }
  const Guard& guard = guards_[position];
  const InputDescription& expected = inputs_[guard.input];
  const CallInput& given = inputs[guard.input];
  const std::string input = InputText(guard.input);
  GuardFailure failure{guard.kind, guard.input, guard.axis, "", ""};
  switch (guard.kind) {
    case GuardKind::kInputCount:
      break;
    case GuardKind::kInputKind:
      failure.text =
          absl::StrCat(input, " is ", std::string(KindName(given.kind)),
                       ", compiled for ", std::string(KindName(expected.kind)));
      failure.advice = "pass an input of the kind it was compiled for";
      break;
    case GuardKind::kRank:
      failure.text =
          absl::StrCat("the rank of ", input, " is ", given.sizes.size(),
                       ", compiled for ", expected.axes.size());
      failure.advice = absl::StrCat("reshape it to ", expected.axes.size(),
                                    " axes before the call");
      break;
    case GuardKind::kDtype:
      failure.text = absl::StrCat(
          "the dtype of ", input, " is ", std::string(Name(given.dtype)),
          ", compiled for ", std::string(Name(expected.dtype)));
      failure.advice =
          absl::StrCat("convert it to ", std::string(Name(expected.dtype)),
                       " before the call");
      break;
    case GuardKind::kDevice:
      failure.text = absl::StrCat("the device of ", input, " is ",
                                  std::string(given.device), ", compiled for ",
                                  expected.device);
      failure.advice =
          absl::StrCat("move it to ", expected.device, " before the call");
      break;
    case GuardKind::kLayout:
      failure.text = absl::StrCat(
          "the layout of ", input, " is ", std::string(Name(given.layout)),
          ", compiled for ", std::string(Name(expected.layout)));
      failure.advice =
          expected.layout == MemoryLayout::kContiguous
              ? "call contiguous() on it before the call"
              : absl::StrCat("make it ", std::string(Name(expected.layout)),
                             " before the call");
      break;
    case GuardKind::kSize:
      failure.text =
          absl::StrCat("the size of axis ", guard.axis, " of ", input, " is ",
                       given.sizes[guard.axis], ", compiled for ",
                       Range(guard.min, guard.max));
      if (inputs_[guard.input].axes[guard.axis].narrowed)
        failure.advice =
            "nothing: the program does something else at other sizes, and has "
            "versions for them";
      else if (guard.min < guard.max)
        failure.advice = "give the axis a wider range of sizes";
      else if (given.sizes[guard.axis] < guard.min)
        failure.advice = absl::StrCat(
            "set dynamic to True, give the axis a range of sizes, or pad it "
            "to ",
            guard.min);
      else
        failure.advice =
            "set dynamic to True, or give the axis a range of sizes";
      break;
    case GuardKind::kEqualSizes:
      failure.text = absl::StrCat(
          "the size of axis ", guard.axis, " of ", input, " is ",
          given.sizes[guard.axis], ", that of axis ", guard.other_axis, " of ",
          InputText(guard.other_input), " is ",
          inputs[guard.other_input].sizes[guard.other_axis],
          ", compiled for equal sizes");
      failure.advice =
          "tune with samples in which these sizes differ, or pass equal ones";
      break;
    case GuardKind::kConstant:
      failure.text = absl::StrCat(input, " is ", ToString(given),
                                  ", compiled for ", ToString(expected));
      failure.advice = "pass it as a tensor if it changes from call to call";
      break;
    case GuardKind::kConstraint: {
      const Constraint& constraint =
          constraints_[static_cast<size_t>(guard.min)];
      std::vector<std::string> sizes;
      for (size_t i = 0; i < constraint.axes.size(); ++i) {
        const auto& [of_input, of_axis] = constraint.axes[i];
        sizes.push_back(absl::StrCat("s", i, ", the size of axis ", of_axis,
                                     " of ", InputText(of_input), ", is ",
                                     inputs[of_input].sizes[of_axis]));
      }
      failure.text = absl::StrCat(absl::StrJoin(sizes, ", "),
                                  ", compiled for sizes where ",
                                  constraint.condition.ToString());
      failure.advice =
          "nothing: the model itself decides by this, and has a version for "
          "each way";
      break;
    }
  }
  return failure;
}

}  // namespace aitune
