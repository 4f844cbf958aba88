#include "frontend/tracing/functionalizer.h"

#include <ATen/Functions.h>
#include <ATen/core/dispatch/Dispatcher.h>

#include <algorithm>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "frontend/tracing/recorded_views.h"
#include "frontend/tracing/shared_memory.h"
#include "frontend/values/torch_util.h"
#include "runtime/status/status_macros.h"

namespace aitune::frontend {
namespace {

std::string ReadsState(const TracedStorage& storage) {
  return absl::StrCat("it reads ", storage.state_name);
}

// Views that only regroup axes: undone by reshaping to the old sizes.
bool IsReshape(const std::string& name) {
  static const auto* const kNames = new std::set<std::string>{
      "aten::view",       "aten::reshape",        "aten::_unsafe_view",
      "aten::flatten",    "aten::unflatten",      "aten::squeeze",
      "aten::squeeze_",   "aten::unsqueeze",      "aten::unsqueeze_",
      "aten::ravel",      "aten::_reshape_alias", "aten::atleast_1d",
      "aten::atleast_2d", "aten::atleast_3d"};
  return kNames->count(name) > 0;
}

// Views that only reorder axes.
bool IsPermutation(const std::string& name) {
  static const auto* const kNames = new std::set<std::string>{
      "aten::transpose", "aten::transpose_", "aten::t",
      "aten::t_",        "aten::permute",    "aten::movedim",
      "aten::moveaxis",  "aten::swapaxes",   "aten::swapaxes_",
      "aten::swapdims",  "aten::swapdims_",  "aten::numpy_T",
      "aten::mT",        "aten::adjoint",    "aten::matrix_H"};
  return kNames->count(name) > 0;
}

RecordedFunction Runner(const std::string& name, const std::string& overload) {
  const c10::OperatorHandle handle =
      c10::Dispatcher::singleton().findSchemaOrThrow(name.c_str(),
                                                     overload.c_str());
  return [handle](std::vector<c10::IValue>& stack) { handle.callBoxed(stack); };
}

// Whether the argument is the same at all sizes.
bool IsFixed(const ArgumentTemplate& argument) {
  if (argument.kind == ArgumentTemplate::Kind::kSize)
    return argument.size.constant().has_value();
  return argument.kind != ArgumentTemplate::Kind::kValue &&
         std::all_of(argument.children.begin(), argument.children.end(),
                     IsFixed);
}

// Where each axis of the result comes from, found by running the operator on
// a small tensor whose sizes all differ.
absl::StatusOr<std::vector<int64_t>> PermutationOf(const ViewStep& step) {
  std::vector<int64_t> sizes;
  for (size_t axis = 0; axis < step.type.sizes.size(); ++axis)
    sizes.push_back(static_cast<int64_t>(axis) + 1);
  std::vector<c10::IValue> stack;
  const at::Tensor example =
      at::empty(sizes, at::TensorOptions().device(c10::kMeta));
  for (size_t i = 0; i < step.arguments.size(); ++i) {
    if (i > 0 && !IsFixed(step.arguments[i])) {
      return absl::UnimplementedError(
          absl::StrCat("a write through a view made by ", step.name,
                       " of axes that depend on sizes cannot be undone"));
    }
    stack.push_back(i == 0 ? c10::IValue(example)
                           : Materialize(step.arguments[i], {}, nullptr));
  }
  Runner(step.name, step.overload)(stack);
  std::vector<int64_t> permutation;
  for (const int64_t size : stack.at(0).toTensor().sizes())
    permutation.push_back(size - 1);
  return permutation;
}

// Gives each probe memory of its own, in every tensor that lives there: a
// constant is made once for all probes, but writes may differ.
void SeparateProbes(TracedStorage& storage) {
  for (size_t probe = 1; probe < storage.base_tensors.size(); ++probe) {
    at::Tensor& base = storage.base_tensors[probe];
    if (!base.storage().is_alias_of(storage.base_tensors[0].storage()))
      continue;
    const at::Storage copy = CopyOfStorage(base);
    base = OnStorage(base, copy);
    for (const std::weak_ptr<ProbedValue>& weak : storage.tensors) {
      const ProbedRef tensor = weak.lock();
      if (tensor == nullptr) continue;
      tensor->uniform = false;
      tensor->probes[probe] = OnStorage(tensor->tensor(probe), copy);
    }
  }
}

}  // namespace

void Functionalizer::OwnStorage(const ProbedRef& ref, bool tainted,
                                bool constant, std::string read_only) {
  ProbedValue& tensor = *ref;
  auto storage = std::make_shared<TracedStorage>();
  storage->base = tensor.id;
  storage->base_type = tensor.type;
  for (const c10::IValue& probe : tensor.probes)
    storage->base_tensors.push_back(probe.toTensor());
  storage->tainted = tainted;
  storage->constant = constant;
  storage->read_only = std::move(read_only);
  storage->tensors.push_back(ref);
  tensor.storage = std::move(storage);
  tensor.views.clear();
  tensor.version = 0;
}

void Functionalizer::ShareStorage(const ProbedRef& ref,
                                  const ProbedValue& source, ViewStep step) {
  ProbedValue& tensor = *ref;
  tensor.storage = source.storage;
  tensor.version = source.storage->version;
  tensor.storage->tensors.push_back(ref);
  if (step.name.empty()) {
    tensor.storage->unknown_views = true;
    return;
  }
  tensor.views = source.views;
  tensor.views.push_back(std::move(step));
}

ValueId Functionalizer::Apply(const ViewStep& step, ValueId self) {
  std::vector<ArgumentTemplate> arguments = step.arguments;
  arguments[0] = ArgumentTemplate::Value(self);
  return builder_->AddFunctionalCall(step.name, step.overload,
                                     std::move(arguments), step.type);
}

absl::StatusOr<ValueId> Functionalizer::ReadBase(TracedStorage& storage,
                                                 const std::string& name) {
  if (storage.constant && storage.base < 0) {
    const at::Tensor& base = storage.base_tensors[0];
    if (!IsPlainTensor(base))
      return absl::UnimplementedError(
          "a constant has a dtype or layout that traces have not");
    storage.base = builder_->AddConstant(base, name);
  }
  if (storage.base < 0 && storage.state >= 0) ReadState(storage);
  if (storage.base < 0)
    return absl::UnimplementedError(
        "a tensor is read before it has a value in the trace");
  return storage.base;
}

absl::StatusOr<ValueId> Functionalizer::Read(ProbedValue& tensor) {
  TracedStorage& storage = *tensor.storage;
  if (tensor.id >= 0 && tensor.version == storage.version) return tensor.id;
  if (!tensor.has_type) {
    return absl::UnimplementedError(
        absl::StrCat("a tensor ", Describe(tensor.probes[0]),
                     " has a dtype or layout that traces have not"));
  }
  const bool has_fixed_sizes =
      std::all_of(tensor.type.sizes.begin(), tensor.type.sizes.end(),
                  [](const SizeExpression& size) { return size.constant(); });
  if (storage.constant && has_fixed_sizes) {
    tensor.id = builder_->AddConstant(tensor.tensor(), tensor.name);
  } else {
    if (storage.constant && storage.unknown_views)
      return absl::UnimplementedError(
          "a view of a constant has sizes that depend on the inputs' in a way "
          "that traces have not");
    storage.read_elements += tensor.tensor().numel();
    if (storage.overwritten != nullptr && !storage.unknown_views &&
        storage.overwritten->count(storage.version) > 0) {
      tensor.id = ReadPartOfState(tensor);
    } else {
      absl::StatusOr<ValueId> value = ReadBase(storage, tensor.name);
      if (!value.ok()) return value;
      for (const ViewStep& step : tensor.views) value = Apply(step, *value);
      tensor.id = *value;
    }
  }
  tensor.version = storage.version;
  return tensor.id;
}

absl::StatusOr<ValueId> Functionalizer::ReadResult(ProbedValue& tensor) {
  const TracedStorage& storage = *tensor.storage;
  if (storage.state < 0) return Read(tensor);
  if (storage.unknown_views || !tensor.has_type)
    return absl::UnimplementedError(absl::StrCat(
        storage.read_only, ", and returns a view of it of unknown origin"));
  return ReadPartOfState(tensor);
}

absl::StatusOr<ValueId> Functionalizer::Undo(const ViewStep& step,
                                             ValueId parent,
                                             const TensorType& parent_type,
                                             ValueId value) {
  const auto scatter = [&](const std::string& name, size_t from) {
    std::vector<ArgumentTemplate> arguments = {ArgumentTemplate::Value(parent),
                                               ArgumentTemplate::Value(value)};
    arguments.insert(arguments.end(),
                     step.arguments.begin() + static_cast<std::ptrdiff_t>(from),
                     step.arguments.end());
    return builder_->AddFunctionalCall(name, "", std::move(arguments),
                                       parent_type);
  };
  if (step.name == "aten::slice") return scatter("aten::slice_scatter", 1);
  if (step.name == "aten::select") return scatter("aten::select_scatter", 1);
  if (step.name == "aten::diagonal")
    return scatter("aten::diagonal_scatter", 1);
  // From where a size says it might count from the end at some sizes.
  if (step.name == "aten::narrow" && step.arguments[1].fixed.isInt() &&
      step.arguments[2].fixed.isInt()) {
    int64_t dim = step.arguments[1].fixed.toInt();
    if (dim < 0) dim += static_cast<int64_t>(parent_type.sizes.size());
    const auto axis = static_cast<size_t>(dim);
    SizeExpression start = step.arguments[2].fixed.toInt();
    if (start.constant() < 0) start = start + parent_type.sizes[axis];
    return builder_->AddFunctionalCall(
        "aten::slice_scatter", "",
        {ArgumentTemplate::Value(parent), ArgumentTemplate::Value(value),
         ArgumentTemplate::Fixed(dim), ArgumentTemplate::Size(start),
         ArgumentTemplate::Size(start + step.type.sizes[axis]),
         ArgumentTemplate::Fixed(int64_t{1})},
        parent_type);
  }
  if (IsReshape(step.name)) {
    return builder_->AddFunctionalCall(
        "aten::reshape", "",
        {ArgumentTemplate::Value(value),
         ArgumentTemplate::IntList(parent_type.sizes)},
        parent_type);
  }
  if (IsPermutation(step.name)) {
    AITUNE_ASSIGN_OR_RETURN(const std::vector<int64_t> permutation,
                            PermutationOf(step));
    std::vector<SizeExpression> inverse(permutation.size());
    for (size_t i = 0; i < permutation.size(); ++i) {
      inverse[static_cast<size_t>(permutation[i])] = static_cast<int64_t>(i);
    }
    return builder_->AddFunctionalCall(
        "aten::permute", "",
        {ArgumentTemplate::Value(value), ArgumentTemplate::IntList(inverse)},
        parent_type);
  }
  return absl::UnimplementedError(absl::StrCat(
      "a write through a view made by ", step.name, " cannot be undone"));
}

absl::Status Functionalizer::PrepareWrite(const ProbedValue& tensor,
                                          bool separate_probes) {
  TracedStorage& storage = *tensor.storage;
  if (!storage.read_only.empty())
    return absl::UnimplementedError(storage.read_only);
  if (storage.unknown_views) {
    return absl::UnimplementedError(
        "a tensor is written that shares memory with a view of unknown origin");
  }
  for (const at::Tensor& base : storage.base_tensors)
    builder_->PreserveConstants(base);
  if (separate_probes) SeparateProbes(storage);
  return absl::OkStatus();
}

void Functionalizer::ReadState(TracedStorage& storage) {
  std::vector<ResultTemplate> results(2);
  results[0].value = builder_->AddTensor(storage.base_type);
  results[1].value = builder_->AddOpaque(ReadsState(storage));
  // Kernels read rows one behind the other.
  const auto is_lent =
      std::make_shared<bool>(storage.base_tensors[0].is_contiguous());
  RecordedProgram program;
  program.run = [is_lent](std::vector<c10::IValue>& stack) {
    const at::Tensor state = stack.at(0).toTensor();
    stack = {*is_lent ? state : state.clone(at::MemoryFormat::Contiguous),
             state};
  };
  program.lends_memory = is_lent;
  builder_->AddRegion("aitune::read_state", std::move(program),
                      {ArgumentTemplate::Value(storage.state)}, results,
                      ReadsState(storage), /*has_side_effects=*/false);
  storage.base = results[0].value;
  storage.state = results[1].value;
  storage.is_lent = is_lent;
}

ValueId Functionalizer::ReadPartOfState(const ProbedValue& part) {
  TracedStorage& storage = *part.storage;
  std::vector<ResultTemplate> results(2);
  results[0].value = builder_->AddTensor(part.type);
  results[1].value = builder_->AddOpaque(ReadsState(storage));
  std::vector<ArgumentTemplate> recipes = {
      ArgumentTemplate::Value(storage.state)};
  RecordedProgram program;
  program.run = [views = RecordedViews(part.views, recipes)](
                    std::vector<c10::IValue>& stack) {
    const at::Tensor state = stack.at(0).toTensor();
    size_t next = 1;
    const at::Tensor copy =
        views.Of(state, stack, next).clone(at::MemoryFormat::Contiguous);
    stack = {copy, state};
  };
  builder_->AddRegion("aitune::read_state", std::move(program),
                      std::move(recipes), results, ReadsState(storage),
                      /*has_side_effects=*/false);
  storage.state = results[1].value;
  return results[0].value;
}

void Functionalizer::StateWritten(ProbedValue& tensor, ValueId state) {
  TracedStorage& storage = *tensor.storage;
  if (storage.is_lent != nullptr) {
    *storage.is_lent = false;
    if (storage.overwritten != nullptr &&
        storage.read_elements < storage.base_tensors[0].numel())
      storage.overwritten->insert(storage.version);
  }
  storage.is_lent.reset();
  storage.read_elements = 0;
  storage.state = state;
  storage.base = -1;
  ++storage.version;
  for (const std::weak_ptr<ProbedValue>& weak : storage.tensors) {
    if (const ProbedRef alias = weak.lock()) alias->size.reset();
  }
}

void Functionalizer::ConstantOverwritten(ProbedValue& tensor) {
  tensor.storage->base = -1;
  ++tensor.storage->version;
  for (const std::weak_ptr<ProbedValue>& weak : tensor.storage->tensors) {
    if (const ProbedRef alias = weak.lock()) alias->id = -1;
  }
}

absl::Status Functionalizer::Write(ProbedValue& tensor, ValueId value,
                                   bool tainted) {
  TracedStorage& storage = *tensor.storage;
  if (tensor.views.empty()) {
    storage.base = value;
  } else {
    AITUNE_ASSIGN_OR_RETURN(ValueId parent, ReadBase(storage, tensor.name));
    // The values on the way from the base to the tensor, before the write.
    std::vector<ValueId> path = {parent};
    for (size_t i = 0; i + 1 < tensor.views.size(); ++i)
      path.push_back(Apply(tensor.views[i], path.back()));
    ValueId written = value;
    for (size_t i = tensor.views.size(); i-- > 0;) {
      const TensorType& parent_type =
          i == 0 ? storage.base_type : tensor.views[i - 1].type;
      AITUNE_ASSIGN_OR_RETURN(
          ValueId undone, Undo(tensor.views[i], path[i], parent_type, written));
      written = undone;
    }
    storage.base = written;
  }
  ++storage.version;
  storage.constant = false;
  storage.tainted |= tainted;
  tensor.id = value;
  tensor.version = storage.version;
  return absl::OkStatus();
}

}  // namespace aitune::frontend
