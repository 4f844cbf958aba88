// The model's own tensors that its calls write in place. The trace has the
// tensor itself as a value that only LibTorch knows; what reads it reads a
// copy, and each write is an operator that LibTorch runs on the tensor. Each
// gives the tensor again, as what the next one takes, so that they stay in
// order.
#include <ATen/core/dispatch/Dispatcher.h>

#include <stdexcept>
#include <utility>

#include "frontend/torchscript/live_state.h"
#include "frontend/tracing/interpreter.h"
#include "frontend/tracing/operator_traits.h"
#include "frontend/values/torch_util.h"
#include "runtime/status/status_macros.h"

namespace aitune::frontend {
namespace {

using Kind = ProbedValue::Kind;

constexpr char kIsState[] = "it is the model's own tensor, which calls write";

// A view operator that leads from the tensor to what is written.
struct RecordedView {
  c10::OperatorHandle run;
  size_t arguments = 0;  // behind self
};

// Runs `run` with `count` arguments, of which `written` is the whole tensor, on
// the view of it that `views` make; their arguments lie behind the others.
// Leaves the whole tensor.
RecordedFunction OnView(RecordedFunction run, std::vector<RecordedView> views,
                        size_t written, size_t count) {
  return [run = std::move(run), views = std::move(views), written,
          count](std::vector<c10::IValue>& stack) {
    const c10::IValue whole = stack.at(written);
    at::Tensor view = whole.toTensor();
    size_t next = count;
    for (const RecordedView& step : views) {
      std::vector<c10::IValue> arguments = {view};
      for (size_t i = 0; i < step.arguments; ++i)
        arguments.push_back(std::move(stack.at(next++)));
      step.run.callBoxed(arguments);
      view = arguments.at(0).toTensor();
    }
    if (!view.is_alias_of(whole.toTensor()))
      throw std::runtime_error(
          "what it writes is no view of the model's tensor");
    stack.resize(count);
    stack[written] = view;
    run(stack);
    stack.assign(1, whole);
  };
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
                             "the model writes to its own weights or buffers");
  ResultTemplate result;
  result.value = builder_.AddOpaque(kIsState);
  RecordedProgram program;
  program.run = [own = *own](std::vector<c10::IValue>& stack) {
    stack.assign(1, own);
  };
  program.on_trial = [own = *own](std::vector<c10::IValue>& stack) {
    stack.assign(1, own.clone());
  };
  builder_.AddRegion("aitune::state", std::move(program), {}, {result},
                     kIsState, /*has_side_effects=*/false);
  state->storage->state = result.value;
  return state;
}

absl::StatusOr<Interpreter::Results> Interpreter::WriteState(
    const Invocation& call, size_t written) {
  const ProbedRef target = call.arguments[written];
  TracedStorage& storage = *target->storage;
  if (storage.unknown_views || MayChangeSizes(*call.schema, written))
    return absl::UnimplementedError(storage.read_only);
  AITUNE_RETURN_IF_ERROR(SettlePossibleViews(storage));
  // Reads of the tensor come before.
  std::vector<ArgumentTemplate> recipes(call.arguments.size());
  for (size_t i = 0; i < call.arguments.size(); ++i) {
    if (i == written) continue;
    AITUNE_ASSIGN_OR_RETURN(recipes[i], ToTemplate(call.arguments[i]));
  }
  recipes[written] = ArgumentTemplate::Value(storage.state);
  std::vector<RecordedView> views;
  for (const ViewStep& step : target->views) {
    views.push_back({c10::Dispatcher::singleton().findSchemaOrThrow(
                         step.name.c_str(), step.overload.c_str()),
                     step.arguments.size() - 1});
    recipes.insert(recipes.end(), step.arguments.begin() + 1,
                   step.arguments.end());
  }
  AITUNE_RETURN_IF_ERROR(Execute(call).status());
  ResultTemplate result;
  result.value = builder_.AddOpaque(kIsState);
  builder_.AddRegion(
      call.schema->name(),
      {OnView(call.run, std::move(views), written, call.arguments.size())},
      std::move(recipes), {result}, "it writes to the model's own tensor",
      /*has_side_effects=*/true);
  functionalizer_.StateWritten(*target, result.value);
  return call.result_count == 0 ? Results() : Results({target});
}

absl::Status Interpreter::CheckOutput(const ProbedValue& value) const {
  const bool is_state = value.IsTensor() && value.storage->state >= 0;
  const bool may_be =
      value.kind == Kind::kOpaque && value.may_share_memory && !states_.empty();
  if (!is_state && !may_be) return absl::OkStatus();
  return absl::UnimplementedError(
      "the model returns its own tensor, which calls write");
}

}  // namespace aitune::frontend
