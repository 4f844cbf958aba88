// Operators that write to a tensor or list that only LibTorch knows (complex
// numbers, sizes that depend on data). LibTorch runs them with copies; what
// shares the memory is copied with it and has new contents, too.
#include <ATen/Functions.h>
#include <torch/csrc/jit/runtime/operator.h>

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "frontend/torchscript/written_arguments.h"
#include "frontend/tracing/interpreter.h"
#include "frontend/tracing/operator_traits.h"
#include "frontend/tracing/shared_memory.h"
#include "runtime/status/status_macros.h"

namespace aitune::frontend {
namespace {

using Kind = ProbedValue::Kind;

// Whether `value` itself, other than `written`, shares memory with `written`,
// so that a write changes it.
bool SharesMemory(const ProbedValue& value, const ProbedValue& written) {
  if (&value == &written) return false;
  // A list is seen by what holds it, not by its elements.
  const bool list = written.probes[0].isList();
  if ((!value.IsTensor() || list) &&
      (value.kind != Kind::kOpaque || (list && value.probes[0].isTensor())))
    return false;
  for (size_t probe = 0; probe < written.probes.size(); ++probe) {
    if (value.probes[probe].overlaps(written.probes[probe])) return true;
  }
  return false;
}

// Adds `value`, and what it holds, as far as they share memory with `written`.
void CollectSharers(const ProbedRef& value, const ProbedValue& written,
                    std::vector<ProbedRef>& sharers) {
  if (value == nullptr) return;
  if (SharesMemory(*value, written) &&
      std::find(sharers.begin(), sharers.end(), value) == sharers.end())
    sharers.push_back(value);
  for (const ProbedRef& element : value->elements)
    CollectSharers(element, written, sharers);
}

// Notes that the written argument has other sizes than before, or another rank.
void NoteNewSizes(const Invocation& call, size_t written, ProbedValue& target) {
  if (!MayChangeSizes(*call.schema, written)) return;
  target.has_sizes = false;
  target.of_varying_type |= HasDataDependentType(*call.schema, call.arguments);
}

// Whether each probe is a tensor that lies in memory as its strides say.
bool IsStridedOpaque(const ProbedValue& value) {
  return value.kind == Kind::kOpaque && !value.may_share_memory &&
         std::all_of(value.probes.begin(), value.probes.end(),
                     [](const c10::IValue& probe) {
                       if (!probe.isTensor() || !probe.toTensor().defined())
                         return false;
                       const at::Tensor& tensor = probe.toTensor();
                       return tensor.layout() == c10::kStrided &&
                              tensor.has_storage() && !tensor.is_conj() &&
                              !tensor.is_neg();
                     });
}

// Runs `run`, which writes to argument `written` of `count`, with a copy of the
// memory of that argument, in which the others are that share it, also those
// behind the first `count`. Leaves the written argument and those behind.
RecordedFunction OnOneCopy(RecordedFunction run, size_t written, size_t count) {
  return
      [run = std::move(run), written, count](std::vector<c10::IValue>& stack) {
        const at::Tensor target = stack.at(written).toTensor();
        const at::Storage memory = target.storage();
        const at::Storage copy = CopyOfStorage(target);
        const at::Tensor on_copy = OnStorage(target, copy);
        for (c10::IValue& value : stack) {
          if (!value.isTensor() || !value.toTensor().defined() ||
              !value.toTensor().has_storage())
            continue;
          const at::Tensor& tensor = value.toTensor();
          if (tensor.storage().unsafeGetStorageImpl() !=
              memory.unsafeGetStorageImpl())
            continue;
          // An argument that is the same tensor stays so.
          value = tensor.is_same(target) ? on_copy : OnStorage(tensor, copy);
        }
        std::vector<c10::IValue> results = {stack[written]};
        results.insert(results.end(),
                       stack.begin() + static_cast<std::ptrdiff_t>(count),
                       stack.end());
        stack.resize(count);
        run(stack);
        stack = std::move(results);
      };
}

// A tensor's whole memory as elements in one row.
at::Tensor WholeMemory(const at::Tensor& tensor) {
  const auto count =
      static_cast<int64_t>(tensor.storage().nbytes() / tensor.itemsize());
  return at::empty({0}, tensor.options())
      .set_(tensor.storage(), 0, {count}, {1});
}

}  // namespace

bool Interpreter::MakeConstantOpaque(const ProbedRef& target) {
  if (!target->IsTensor() || target->has_type || !target->storage->constant ||
      !target->storage->read_only.empty())
    return false;
  std::vector<ProbedRef> sharers;
  for (const std::weak_ptr<ProbedValue>& weak : target->storage->tensors) {
    ProbedRef sharer = weak.lock();
    if (sharer == nullptr) continue;
    if (sharer->has_type || sharer->may_share_memory || !IsUniform(*sharer) ||
        !sharer->probes[0].toTensor().has_storage() ||
        sharer->probes[0].toTensor().scalar_type() !=
            target->probes[0].toTensor().scalar_type())
      return false;
    sharers.push_back(std::move(sharer));
  }
  std::vector<at::Tensor> views;
  std::vector<ResultTemplate> results(sharers.size());
  for (size_t i = 0; i < sharers.size(); ++i) {
    views.push_back(sharers[i]->probes[0].toTensor());
    results[i].value = builder_.AddOpaque(kUnknownResult);
  }
  const RecordedFunction copies = [views](std::vector<c10::IValue>& stack) {
    const at::Tensor copy = stack.at(0).toTensor().clone();
    stack.clear();
    for (const at::Tensor& view : views)
      stack.emplace_back(
          copy.as_strided(view.sizes(), view.strides(), view.storage_offset()));
  };
  builder_.AddRegion(
      "aten::clone", {copies, nullptr},
      {ArgumentTemplate::Fixed(WholeMemory(target->probes[0].toTensor()))},
      results, kUnknownResult, /*has_side_effects=*/false);
  for (size_t i = 0; i < sharers.size(); ++i) {
    ProbedValue& sharer = *sharers[i];
    sharer.kind = Kind::kOpaque;
    sharer.uniform = false;
    sharer.has_sizes = true;
    sharer.type.sizes.assign(views[i].sizes().begin(), views[i].sizes().end());
    sharer.id = results[i].value;
    sharer.views.clear();
    sharer.storage.reset();
  }
  return true;
}

absl::StatusOr<Interpreter::Results> Interpreter::ElementOf(
    const Invocation& call) {
  static const auto* const element = new std::shared_ptr<torch::jit::Operator>(
      torch::jit::findOperatorFor({"aten::__getitem__", "t"}));
  if (*element == nullptr || !call.arguments[0]->probes[0].isList())
    return absl::UnimplementedError(
        "an entry of a dict that only LibTorch knows is taken out of it");
  Invocation taken = call;
  taken.schema = &(*element)->schema();
  taken.run = RecordedFunction((*element)->getOperation());
  return Invoke(taken);
}

absl::StatusOr<Interpreter::Results> Interpreter::WriteOpaque(
    const Invocation& call, size_t written) {
  const ProbedRef target = call.arguments[written];
  std::vector<ProbedRef> sharers;
  for (const auto& [name, content] : environment_)
    CollectSharers(content, *target, sharers);
  Results popped;
  if (call.schema->name() == "aten::pop") {
    AITUNE_ASSIGN_OR_RETURN(popped, ElementOf(call));
  }
  const auto returned = [&] {
    return call.result_count == 0 ? Results()
           : popped.empty()       ? Results({target})
                                  : popped;
  };
  if (sharers.empty() && !target->may_share_memory) {
    const ValueId value = builder_.AddOpaque(kUnknownResult);
    AITUNE_ASSIGN_OR_RETURN(std::vector<c10::IValue> probes,
                            RunOnCopy(call, written, value, kUnknownResult));
    NoteNewElements(call, written);
    target->probes = std::move(probes);
    target->id = value;
    NoteNewSizes(call, written, *target);
    return returned();
  }
  const absl::Status unknown = absl::UnimplementedError(
      absl::StrCat(call.schema->name(),
                   " writes to what only LibTorch knows and another one sees"));
  if (!IsStridedOpaque(*target) ||
      !std::all_of(sharers.begin(), sharers.end(), [](const ProbedRef& sharer) {
        return IsStridedOpaque(*sharer);
      }))
    return unknown;

  Invocation together = call;
  together.run = OnOneCopy(call.run, written, call.arguments.size());
  together.arguments.insert(together.arguments.end(), sharers.begin(),
                            sharers.end());
  together.result_count = 1 + sharers.size();
  AITUNE_ASSIGN_OR_RETURN(std::vector<ArgumentTemplate> recipes,
                          ToTemplates(together.arguments));
  AITUNE_ASSIGN_OR_RETURN(const std::vector<std::vector<c10::IValue>> executed,
                          Execute(together));
  // Elements that were made up lie elsewhere: the next write would not see that
  // memory is shared.
  for (const std::vector<c10::IValue>& results : executed) {
    for (const c10::IValue& result : results) {
      if (!result.isTensor() ||
          !result.toTensor().is_alias_of(results[0].toTensor()))
        return unknown;
    }
  }
  std::vector<ProbedRef> changed = {target};
  changed.insert(changed.end(), sharers.begin(), sharers.end());
  NoteNewSizes(call, written, *target);
  std::vector<ResultTemplate> results(changed.size());
  for (size_t i = 0; i < changed.size(); ++i) {
    results[i].value = builder_.AddOpaque(kUnknownResult);
    changed[i]->id = results[i].value;
    for (size_t probe = 0; probe < executed.size(); ++probe)
      changed[i]->probes[probe] = executed[probe][i];
  }
  builder_.AddRegion(call.schema->name(), {together.run, nullptr},
                     std::move(recipes), std::move(results), kUnknownResult,
                     /*has_side_effects=*/false);
  return returned();
}

}  // namespace aitune::frontend
