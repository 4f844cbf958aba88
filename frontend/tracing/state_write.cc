// The model's own tensors that its calls write in place. The trace has the
// tensor itself as a value that only LibTorch knows. What reads it reads its
// memory or, where a write follows in the call, a copy; each write is an
// operator that LibTorch runs on the tensor. Reads and writes give the tensor
// again, as what the next one takes, so that they stay in order.
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

// A view operator that leads from the tensor to an argument.
struct RecordedView {
  c10::OperatorHandle run;
  size_t arguments = 0;  // behind self
};

// An argument that is a view of the tensor.
struct RecordedPart {
  size_t position = 0;
  std::vector<RecordedView> views;
};

// Runs `run` with `count` arguments, of which the whole tensor is given for
// each of `parts`, on the views of it; the arguments of these lie behind the
// others. Leaves the whole tensor.
RecordedFunction OnParts(RecordedFunction run, std::vector<RecordedPart> parts,
                         size_t count) {
  return [run = std::move(run), parts = std::move(parts),
          count](std::vector<c10::IValue>& stack) {
    const c10::IValue whole = stack.at(parts.at(0).position);
    size_t next = count;
    for (const RecordedPart& part : parts) {
      at::Tensor view = whole.toTensor();
      for (const RecordedView& step : part.views) {
        std::vector<c10::IValue> arguments = {view};
        for (size_t i = 0; i < step.arguments; ++i)
          arguments.push_back(std::move(stack.at(next++)));
        step.run.callBoxed(arguments);
        view = arguments.at(0).toTensor();
      }
      if (!view.is_alias_of(whole.toTensor()))
        throw std::runtime_error(
            "what it writes is no view of the model's tensor");
      stack[part.position] = view;
    }
    stack.resize(count);
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
    RecordedPart& part = parts.emplace_back();
    part.position = i;
    for (const ViewStep& step : call.arguments[i]->views) {
      part.views.push_back({c10::Dispatcher::singleton().findSchemaOrThrow(
                                step.name.c_str(), step.overload.c_str()),
                            step.arguments.size() - 1});
      recipes.insert(recipes.end(), step.arguments.begin() + 1,
                     step.arguments.end());
    }
  }
  // An index that is out of range is an error before anything is written.
  for (const ValueId value : builder_.TakeCheckedValues())
    recipes.push_back(ArgumentTemplate::Value(value));
  AITUNE_RETURN_IF_ERROR(Execute(call).status());
  ResultTemplate result;
  result.value = builder_.AddOpaque(kIsState);
  builder_.AddRegion(
      call.schema->name(),
      {OnParts(call.run, std::move(parts), call.arguments.size())},
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
