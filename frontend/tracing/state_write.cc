// The tensors of the model and of the caller, inputs, that calls write in
// place. The trace has the tensor itself as a value that only LibTorch knows.
// What reads it reads its memory or, where a write follows in the call, a copy
// of the parts that are read; each write is an operator that LibTorch runs on
// the tensor. Reads and writes give the tensor again, as what the next one
// takes, so that they stay in order.
#include <ATen/core/dispatch/Dispatcher.h>

#include <set>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "frontend/torchscript/live_state.h"
#include "frontend/torchscript/written_arguments.h"
#include "frontend/tracing/interpreter.h"
#include "frontend/tracing/operator_traits.h"
#include "frontend/tracing/recorded_views.h"
#include "frontend/values/torch_util.h"
#include "runtime/status/status_macros.h"

namespace aitune::frontend {
namespace {

using Kind = ProbedValue::Kind;

constexpr char kModels[] = "the model's own tensor";
constexpr char kCallers[] = "an input";

std::string StateReason(const TracedStorage& storage) {
  return absl::StrCat("it is ", storage.state_name, ", which calls write");
}

// An argument that is a view of the tensor.
struct RecordedPart {
  size_t position = 0;
  RecordedViews views;
};

// Runs `run` with `count` arguments, of which the whole tensor is given for
// each of `parts`, on the views of it; the arguments of these lie behind the
// others. Leaves the first `kept` results, and the whole tensor.
RecordedFunction OnParts(RecordedFunction run, std::vector<RecordedPart> parts,
                         size_t count, size_t kept) {
  return [run = std::move(run), parts = std::move(parts), count,
          kept](std::vector<c10::IValue>& stack) {
    const c10::IValue whole = stack.at(parts.at(0).position);
    size_t next = count;
    for (const RecordedPart& part : parts)
      stack[part.position] = part.views.Of(whole.toTensor(), stack, next);
    stack.resize(count);
    run(stack);
    stack.resize(kept);
    stack.push_back(whole);
  };
}

// Whether a call reads of its first argument the rows or elements that indices
// name, and gives these alone.
bool Gathers(const std::string& name) {
  static const auto* const names = new std::set<std::string>{
      "aten::embedding",    "aten::gather", "aten::index",
      "aten::index_select", "aten::take",   "aten::take_along_dim"};
  return names->count(name) > 0;
}

}  // namespace

ProbedRef Interpreter::FindState(const at::Tensor& tensor,
                                 const std::string& name) {
  const at::Tensor* const own =
      live_state_ == nullptr ? nullptr : live_state_->Find(tensor);
  if (own == nullptr) return nullptr;
  ProbedRef& state = states_[own];
  if (state != nullptr) return state;
  state = std::make_shared<ProbedValue>();
  state->kind = Kind::kTensor;
  state->name = name;
  for (size_t probe = 0; probe < fitter_.probes().size(); ++probe)
    state->probes.emplace_back(own->clone());
  state->has_type = true;
  state->type.dtype = *FromScalarType(own->scalar_type());
  state->type.sizes.assign(own->sizes().begin(), own->sizes().end());
  functionalizer_.OwnStorage(state, /*tainted=*/true, /*constant=*/false,
                             writes_own_);
  RecordedProgram program;
  program.state = *own;
  state->storage->state_name = kModels;
  AddState(*state->storage, kState, std::move(program), {});
  state->storage->overwritten = &findings_.overwritten_reads[own];
  return state;
}

void Interpreter::ShareInput(TracedStorage& storage, ValueId id,
                             std::set<int>* overwritten) {
  RecordedProgram program;
  program.gives_input = true;
  storage.state_name = kCallers;
  storage.base = -1;
  AddState(storage, kWrittenInput, std::move(program),
           {ArgumentTemplate::Value(id)});
  storage.overwritten = overwritten;
}

void Interpreter::AddState(TracedStorage& storage, const std::string& name,
                           RecordedProgram program,
                           std::vector<ArgumentTemplate> recipes) {
  const std::string reason = StateReason(storage);
  ResultTemplate result;
  result.value = builder_.AddOpaque(reason);
  builder_.AddRegion(name, std::move(program), std::move(recipes), {result},
                     reason, /*has_side_effects=*/false);
  storage.state = result.value;
}

bool Interpreter::HasStateFirst(const Invocation& call) const {
  if (call.arguments.empty() || !call.arguments[0]->IsTensor()) return false;
  const TracedStorage& storage = *call.arguments[0]->storage;
  return storage.state >= 0 && !storage.unknown_views;
}

bool Interpreter::ViewsState(const Invocation& call,
                             const c10::IValue& viewed) const {
  if (!HasStateFirst(call) || !viewed.isTensor() ||
      WritesTensors(*call.schema) ||
      call.schema->returns()[0].type()->kind() != c10::TypeKind::TensorType ||
      !c10::Dispatcher::singleton().findSchema(call.schema->operator_name()))
    return false;
  return viewed.toTensor().is_alias_of(call.arguments[0]->tensor());
}

bool Interpreter::GathersFromState(const Invocation& call) const {
  return HasStateFirst(call) && Gathers(call.schema->name());
}

void Interpreter::AddGather(const Invocation& call,
                            std::vector<ArgumentTemplate> recipes,
                            std::vector<ResultTemplate> results) {
  TracedStorage& storage = *call.arguments[0]->storage;
  recipes[0] = ArgumentTemplate::Value(storage.state);
  std::vector<RecordedPart> parts;
  parts.push_back({0, RecordedViews(call.arguments[0]->views, recipes)});
  const size_t kept = results.size();
  ResultTemplate& state = results.emplace_back();
  state.value = builder_.AddOpaque(StateReason(storage));
  const ValueId after = state.value;
  builder_.AddRegion(
      call.schema->name(),
      {OnParts(call.run, std::move(parts), call.arguments.size(), kept)},
      std::move(recipes), std::move(results),
      absl::StrCat("it reads parts of ", storage.state_name,
                   ", which a later operator writes"),
      /*has_side_effects=*/false);
  storage.state = after;
}

absl::StatusOr<Interpreter::Results> Interpreter::WriteState(
    const Invocation& call, size_t written) {
  const ProbedRef target = call.arguments[written];
  TracedStorage& storage = *target->storage;
  if (MayChangeSizes(*call.schema, written))
    return absl::UnimplementedError(absl::StrCat(
        storage.read_only, ": ", call.schema->name(), " may change its sizes"));
  if (storage.unknown_views)
    return absl::UnimplementedError(absl::StrCat(
        storage.read_only,
        ": a view of what is written is at a place that data decides, or of "
        "unknown origin"));
  AITUNE_RETURN_IF_ERROR(SettlePossibleViews(storage));
  // Operands in the memory that is written are read while it is.
  const auto is_part = [&](const ProbedValue& argument) {
    return argument.IsTensor() && argument.storage == target->storage;
  };
  // Reads of the tensor come before.
  std::vector<ArgumentTemplate> recipes(call.arguments.size());
  for (size_t i = 0; i < call.arguments.size(); ++i) {
    if (is_part(*call.arguments[i])) continue;
    AITUNE_ASSIGN_OR_RETURN(recipes[i], ToTemplate(call.arguments[i]));
  }
  std::vector<RecordedPart> parts;
  for (size_t i = 0; i < call.arguments.size(); ++i) {
    if (!is_part(*call.arguments[i])) continue;
    recipes[i] = ArgumentTemplate::Value(storage.state);
    parts.push_back({i, RecordedViews(call.arguments[i]->views, recipes)});
  }
  // An index that is out of range is an error before anything is written.
  for (const ValueId value : builder_.TakeCheckedValues())
    recipes.push_back(ArgumentTemplate::Value(value));
  AITUNE_RETURN_IF_ERROR(Execute(call).status());
  ResultTemplate result;
  result.value = builder_.AddOpaque(StateReason(storage));
  builder_.AddRegion(
      call.schema->name(),
      {OnParts(call.run, std::move(parts), call.arguments.size(), /*kept=*/0)},
      std::move(recipes), {result},
      absl::StrCat("it writes to ", storage.state_name),
      /*has_side_effects=*/true);
  functionalizer_.StateWritten(*target, result.value);
  return call.result_count == 0 ? Results() : Results({target});
}

absl::Status Interpreter::CheckOutput(const ProbedValue& value) const {
  const auto is_models = [&] {
    return value.IsTensor() && value.storage->state >= 0 &&
           value.storage->input < 0;
  };
  const auto may_be = [&] {
    return value.kind == Kind::kOpaque && value.may_share_memory;
  };
  if (is_models() || (may_be() && !states_.empty()))
    return absl::UnimplementedError(
        "the model returns its own tensor, which calls write");
  if (may_be() && !findings_.written_inputs.empty())
    return absl::UnimplementedError(
        "the model writes to one of its inputs, and may return it as a value "
        "that only LibTorch knows");
  return absl::OkStatus();
}

}  // namespace aitune::frontend
