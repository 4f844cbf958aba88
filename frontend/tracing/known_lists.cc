// Lists of tensors that only LibTorch knows, as a loop of LibTorch's makes
// them, whose number and sizes follow from sizes: how many there are at sizes
// that no probe has is seen by making them there, without arithmetic where that
// can be done. At all probes a loop over chunks may have one round, or none.
#include "frontend/tracing/known_lists.h"

#include <algorithm>
#include <chrono>
#include <map>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "frontend/torchscript/run_limits.h"
#include "frontend/tracing/interpreter.h"
#include "frontend/tracing/region_runner.h"
#include "frontend/values/torch_util.h"

namespace aitune::frontend {
namespace {

using Kind = ProbedValue::Kind;

// What one run at other sizes than the probes' may take, in seconds, and what
// all of a program.
constexpr double kSecondsElsewhere = 0.1, kSecondsInAll = 1;
// Sizes at which the elements of a list are looked at.
constexpr size_t kListPoints = 160;
// Sizes of which some have to be known where those of others are not.
constexpr size_t kFewestPoints = 4;

double SecondsSince(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start)
      .count();
}

// What decides the sizes that a program gives.
struct GivenSizes {
  std::string text;             // the sizes of tensors, and numbers
  bool is_all = true;           // whether nothing else is given
  bool without_memory = false;  // whether a tensor has none
};

void AddSizes(const c10::IValue& value, GivenSizes& given) {
  if (value.isTensor() && value.toTensor().defined()) {
    const at::Tensor& tensor = value.toTensor();
    absl::StrAppend(&given.text, "[", absl::StrJoin(tensor.sizes(), ","), "]");
    given.without_memory |= tensor.is_meta();
  } else if (value.isInt()) {
    absl::StrAppend(&given.text, value.toInt(), ";");
  } else if (value.isBool()) {
    absl::StrAppend(&given.text, value.toBool(), ";");
  } else if (value.isDouble()) {
    absl::StrAppendFormat(&given.text, "%a;", value.toDouble());
  } else if (value.isList() || value.isTuple()) {
    const std::vector<c10::IValue> elements =
        value.isTuple() ? value.toTupleRef().elements().vec()
                        : value.toListRef().vec();
    absl::StrAppend(&given.text, elements.size(), "(");
    for (const c10::IValue& element : elements) AddSizes(element, given);
  } else {
    given.is_all &= value.isNone() || value.isString() || value.isDevice();
  }
}

// What a program has given, and cost, in all its runs.
struct Remembered {
  std::map<std::string, std::vector<c10::IValue>> results;  // by GivenSizes
  double seconds = 0;         // that all runs have taken
  bool needs_memory = false;  // whether it does not run without
};

// Whether `value` is a list of tensors of `type`, their dtype and rank, which
// is set by the first where it is not set.
bool AreOfOneType(const c10::IValue& value,
                  std::optional<std::pair<at::ScalarType, int64_t>>& type) {
  if (!value.isTensorList()) return false;
  for (const at::Tensor& tensor : value.toTensorVector()) {
    if (!tensor.defined() || tensor.layout() != c10::kStrided ||
        !FromScalarType(tensor.scalar_type()))
      return false;
    const std::pair<at::ScalarType, int64_t> own = {tensor.scalar_type(),
                                                    tensor.dim()};
    if (!type) type = own;
    if (*type != own) return false;
  }
  return true;
}

// `run`, which writes to the list that argument `written` is, on a copy of it,
// which is what is left.
RecordedFunction OnCopyOfList(RecordedFunction run, size_t written) {
  return [run = std::move(run), written](std::vector<c10::IValue>& stack) {
    const c10::IValue copy = stack.at(written).toList().copy();
    stack[written] = copy;
    run(stack);
    stack = {copy};
  };
}

}  // namespace

RecordedFunction Remembering(RecordedFunction run) {
  return [run = std::move(run), known = std::make_shared<Remembered>()](
             std::vector<c10::IValue>& stack) {
    GivenSizes given;
    for (const c10::IValue& value : stack) AddSizes(value, given);
    if (const auto found = known->results.find(given.text);
        given.is_all && found != known->results.end()) {
      stack = found->second;
      return;
    }
    if (given.without_memory && known->needs_memory)
      throw std::runtime_error("a program has tensors of its own");
    if (known->seconds > kSecondsInAll)
      throw std::runtime_error("a program took too long at other sizes");
    const auto start = std::chrono::steady_clock::now();
    const absl::Cleanup count = [&] { known->seconds += SecondsSince(start); };
    // Limits are not nested.
    std::optional<RunLimits> limits;
    if (!RunLimits::AreOfOtherWay())
      limits.emplace(kSecondsElsewhere, /*limits_sizes=*/true);
    known->needs_memory |= given.without_memory;
    run(stack);
    known->needs_memory &= !given.without_memory;
    for (c10::IValue& value : stack)
      value = value.isTensorList() ? WithoutMemory(value) : c10::IValue();
    if (given.is_all) known->results.emplace(std::move(given.text), stack);
  };
}

bool RegionRunner::IsListOfOneType(
    const NodeRegion& region, const SizeFunctionRef& function,
    std::optional<std::pair<at::ScalarType, int64_t>> type) const {
  const auto is_right = [&](absl::Span<const int64_t> point, bool known) {
    const absl::StatusOr<c10::IValue> list =
        SizeEvaluator(point, /*real=*/false).Evaluate(function);
    return list.ok() ? AreOfOneType(*list, type) : !known;
  };
  if (!is_right(interpreter_.region_.anchor(), /*known=*/true)) return false;
  const bool is_irregular = !region.irregular.empty();
  const std::vector<SizePoint> points =
      TellingPoints(function->symbols, region, kListPoints);
  return std::all_of(points.begin(), points.end(), [&](const SizePoint& p) {
    return is_right(p, /*known=*/is_irregular);
  });
}

void RegionRunner::NoteKnownList(const NodeRegion& region,
                                 const RegionWays& ways, size_t output,
                                 ProbedValue& result) const {
  // A way that was not seen may append something else.
  result.of_varying_type |= ways.others_unseen;
  if (!region.has_functions || !ways.sizes_known || ways.others_unseen) return;
  const SizeFunctionRef function = SizeFunction::Program(
      region.node->kind().toQualString(), region.run_elsewhere,
      region.functions, output, region.irregular);
  std::optional<std::pair<at::ScalarType, int64_t>> type;
  for (const c10::IValue& probe : result.probes) {
    if (!AreOfOneType(probe, type)) return;
  }
  if (!IsListOfOneType(region, function, type)) {
    result.of_varying_type = true;
    return;
  }
  // One of these may be the list itself, as it was before.
  std::vector<SizeExpression> sources;
  for (const ProbedRef& content : region.contents) {
    const std::vector<SizeExpression>& sizes = content->type.sizes;
    sources.insert(sources.end(), sizes.begin(), sizes.end());
    if (content->size) sources.push_back(*content->size);
  }
  for (size_t i = 0; i < region.controls; ++i) {
    const ProbedRef control = interpreter_.Get(region.node->input(i));
    if (control->size) sources.push_back(*control->size);
  }
  result.is_list_of_known = true;
  result.function = function;
  result.type.sizes = std::move(sources);
}

void RegionRunner::FindFunctions(NodeRegion& region) const {
  const auto add = [&](const ProbedRef& value) {
    // A number of data, which is no size.
    const bool is_number =
        value->kind == Kind::kOpaque &&
        (value->probes[0].isBool() || value->probes[0].isDouble());
    SizeFunctionRef function = is_number ? SizeFunction::Fixed(value->probes[0])
                                         : interpreter_.ShapeOf(value);
    region.has_functions = region.has_functions && function != nullptr;
    region.functions.push_back(std::move(function));
  };
  // What it prints is printed once.
  region.has_functions = region.run_elsewhere != nullptr && region.is_limited &&
                         !Contains(region.node, {c10::prim::Print});
  if (!region.has_functions) return;
  for (const ProbedRef& content : region.contents) add(content);
  for (size_t i = 0; i < region.controls; ++i)
    add(interpreter_.Get(region.node->input(i)));
}

void Interpreter::NoteListOfKnown(const Invocation& call, size_t number,
                                  ProbedValue& result) const {
  if (!result.probes[0].isTensorList()) return;
  std::vector<SizeFunctionRef> shapes;
  bool reads_list = false;
  for (const ProbedRef& argument : call.arguments) {
    shapes.push_back(ShapeOf(argument));
    if (shapes.back() == nullptr) return;
    if (!argument->is_list_of_known) continue;
    reads_list = true;
    result.type.sizes.insert(result.type.sizes.end(),
                             argument->type.sizes.begin(),
                             argument->type.sizes.end());
  }
  result.is_list_of_known = reads_list;
  if (reads_list)
    result.function =
        SizeFunction::Call(*call.schema, call.run, std::move(shapes), number);
}

bool Interpreter::HasKnownSizes(const std::vector<c10::IValue>& probes,
                                const ResultTraits& traits) {
  if (!probes[0].isTensor() || !probes[0].toTensor().defined()) return true;
  const KnownShapes* const known = traits.known_shapes;
  if (known == nullptr ||
      (known->any_unknown && known->points.size() < kFewestPoints))
    return false;
  for (int64_t axis = 0; axis < probes[0].toTensor().dim(); ++axis) {
    std::vector<int64_t> sizes;
    for (const c10::IValue& probe : probes) {
      if (probe.toTensor().dim() != probes[0].toTensor().dim()) return false;
      sizes.push_back(probe.toTensor().size(axis));
    }
    if (!FitKnown(*traits.known_shapes, traits.result,
                  static_cast<size_t>(axis), sizes, traits))
      return false;
  }
  return true;
}

void Interpreter::NoteNewElements(const Invocation& call,
                                  size_t written) const {
  ProbedValue& list = *call.arguments[written];
  if (!list.is_list_of_known) return;
  std::vector<SizeFunctionRef> shapes;
  for (const ProbedRef& argument : call.arguments) {
    shapes.push_back(ShapeOf(argument));
    if (shapes.back() != nullptr) continue;
    list.is_list_of_known = false;
    list.function = nullptr;
    return;
  }
  for (const ProbedRef& argument : call.arguments) {
    if (const std::vector<SizeExpression>* const sizes = KnownSizes(*argument))
      list.type.sizes.insert(list.type.sizes.end(), sizes->begin(),
                             sizes->end());
  }
  list.function = SizeFunction::Program(call.schema->name(),
                                        OnCopyOfList(call.run, written),
                                        std::move(shapes), /*index=*/0,
                                        /*irregular=*/{});
}

}  // namespace aitune::frontend
