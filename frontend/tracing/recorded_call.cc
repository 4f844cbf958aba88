// What a call of an operator has given, as values of the interpreter, and the
// operator in the trace.
#include <algorithm>
#include <utility>

#include "frontend/tracing/interpreter.h"
#include "frontend/tracing/operator_call.h"
#include "frontend/tracing/operator_traits.h"
#include "frontend/tracing/shared_memory.h"
#include "frontend/values/torch_util.h"
#include "runtime/status/status_macros.h"

namespace aitune::frontend {
namespace {

// Adds what says the same as the call better, and returns its value; nothing if
// there is no such operator.
std::optional<ValueId> AddBetter(const OperatorCall& op,
                                 TraceBuilder& builder) {
  if (op.results.size() != 1 || !op.results[0]->IsTensor()) return std::nullopt;
  const ProbedValue& result = *op.results[0];
  // Sizes as tensors: the number itself says it better.
  if (op.call.schema->name() == "prim::NumToTensor" && result.size) {
    return builder.AddFunctionalCall(
        "aten::full", "",
        {ArgumentTemplate::IntList({}), ArgumentTemplate::Size(*result.size),
         ArgumentTemplate::Fixed(static_cast<int64_t>(c10::ScalarType::Long))},
        result.type);
  }
  // Autocast's casts, as any other.
  if (IsAutocast(*op.call.schema) &&
      op.traits.templates[0].kind == ArgumentTemplate::Kind::kValue) {
    return builder.AddFunctionalCall(
        "aten::to", "dtype",
        {op.traits.templates[0], ArgumentTemplate::Fixed(static_cast<int64_t>(
                                     ToScalarType(result.type.dtype)))},
        result.type);
  }
  return std::nullopt;
}

// Appends the sizes of each tensor of a result; false if they are not known.
bool AppendSizes(const ProbedValue& result,
                 std::vector<std::vector<SizeExpression>>& all) {
  if (const std::vector<SizeExpression>* const sizes = KnownSizes(result)) {
    all.push_back(*sizes);
    return true;
  }
  return !result.IsTensor() && result.kind != ProbedValue::Kind::kOpaque &&
         std::all_of(result.elements.begin(), result.elements.end(),
                     [&](const ProbedRef& e) { return AppendSizes(*e, all); });
}

}  // namespace

absl::Status Interpreter::MakeRecipes(OperatorCall& op) {
  const Invocation& call = op.call;
  ResultTraits& traits = op.traits;
  // Recipes are needed where an operator may be recorded, and for views.
  traits.emit = traits.tainted || (!op.is_uniform() && op.gives_tensors &&
                                   !IsMetadataQuery(*call.schema));
  if (traits.emit && !op.opaque && traits.opaque.empty() &&
      call.result_count == 1 && ViewsState(call, op.executed.at(0)[0])) {
    traits.emit = false;
    traits.derived_later = true;
  }
  const bool is_view = op.gives_tensors && !traits.emit;
  if (!traits.emit && !is_view) return absl::OkStatus();
  TracedStorage* const gathered = traits.emit && GathersFromState(call)
                                      ? call.arguments[0]->storage.get()
                                      : nullptr;
  op.is_overwritten = gathered != nullptr &&
                      gathered->overwritten->count(gathered->version) > 0;
  const int64_t read_before = gathered != nullptr ? gathered->read_elements : 0;
  for (size_t i = 0; i < call.arguments.size(); ++i) {
    // A view's self is filled in when it is derived anew.
    const bool fill_in_later =
        i == 0 &&
        (op.is_overwritten || (is_view && call.arguments[i]->IsTensor()));
    AITUNE_ASSIGN_OR_RETURN(
        ArgumentTemplate recipe,
        fill_in_later ? ArgumentTemplate() : ToTemplate(call.arguments[i]));
    traits.templates.push_back(std::move(recipe));
  }
  // Of what it is given, it reads no more than it gives.
  if (gathered != nullptr)
    gathered->read_elements =
        read_before + op.executed.at(0)[0].toTensor().numel();
  return absl::OkStatus();
}

absl::Status Interpreter::ConvertResults(OperatorCall& op) {
  const Invocation& call = op.call;
  const bool reads_list =
      std::any_of(call.arguments.begin(), call.arguments.end(),
                  [](const ProbedRef& a) { return a->is_list_of_known; });
  for (size_t i = 0; i < call.result_count; ++i) {
    std::vector<c10::IValue> probes;
    for (const std::vector<c10::IValue>& probe : op.executed)
      probes.push_back(probe[i]);
    op.traits.result = i;
    const std::string why_opaque = op.traits.opaque;
    if (reads_list && why_opaque.empty() && !HasKnownSizes(probes, op.traits))
      op.traits.opaque = kUnknownResult;
    AITUNE_ASSIGN_OR_RETURN(
        ProbedRef result,
        Convert(std::move(probes), op.traits, &op.templates.emplace_back()));
    op.traits.opaque = why_opaque;
    for (const ProbedRef& argument : call.arguments)
      InheritSharing(*argument, *result);
    if (result->kind == ProbedValue::Kind::kOpaque) {
      result->of_varying_type =
          op.varies || HasDataDependentType(*call.schema, call.arguments);
      NoteListOfKnown(call, i, *result);
    }
    op.results.push_back(std::move(result));
  }
  return absl::OkStatus();
}

absl::Status Interpreter::CheckResults(const OperatorCall& op) {
  const Invocation& call = op.call;
  const Results& results = op.results;
  if (!op.is_uniform() && results.size() == 1) {
    AITUNE_RETURN_IF_ERROR(CheckView(call, *results[0]));
    NotePossibleView(call, *results[0]);
  }
  for (size_t i = 0; i < op.functions.size(); ++i) {
    if (std::find(call.arguments.begin(), call.arguments.end(), results[i]) ==
        call.arguments.end())
      MarkDerived(results[i], op.functions[i]);
  }
  AITUNE_RETURN_IF_ERROR(InferSizes(call, results));
  if (op.is_uniform() || !op.gives_tensors) return absl::OkStatus();
  std::vector<std::vector<SizeExpression>> expected;
  for (const ProbedRef& result : results)
    if (!AppendSizes(*result, expected)) return absl::OkStatus();
  return CheckSizes(call, expected);
}

void Interpreter::RecordCall(OperatorCall& op) {
  const Invocation& call = op.call;
  ResultTraits& traits = op.traits;
  const std::vector<ValueId> made = Flatten(op.templates);
  if (!traits.emit ||
      std::all_of(made.begin(), made.end(), [](ValueId id) { return id < 0; }))
    return;
  if (op.is_overwritten) {
    AddGather(call, std::move(traits.templates), std::move(op.templates));
    return;
  }
  if (const std::optional<ValueId> value = AddBetter(op, builder_)) {
    op.results[0]->id = *value;
    op.results[0]->storage->base = *value;
    return;
  }
  Call emitted;
  emitted.schema = call.schema;
  emitted.run = call.run;
  emitted.arguments = std::move(traits.templates);
  // Run by LibTorch, it is called as the program calls it.
  if (op.swaps_devices) SwapDevicesOfAutocast(emitted.arguments);
  emitted.must_fall_back = op.must_fall_back.empty()
                               ? FallbackReason(op.results)
                               : op.must_fall_back;
  if (!call.schema->is_vararg()) {
    builder_.AddCall(std::move(emitted), std::move(op.templates));
    return;
  }
  if (TakesArgumentCount(*call.schema)) {
    emitted.arguments.push_back(
        ArgumentTemplate::Fixed(static_cast<int64_t>(call.arguments.size())));
  }
  builder_.AddRegion(call.schema->name(), {emitted.run, nullptr},
                     std::move(emitted.arguments), std::move(op.templates),
                     emitted.must_fall_back, /*has_side_effects=*/false);
}

}  // namespace aitune::frontend
