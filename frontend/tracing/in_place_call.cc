// Operators that write to a tensor: computed in functional form, the result
// written back through the tensor's views.
#include <ATen/Functions.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <c10/core/InferenceMode.h>

#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "frontend/torchscript/operator_tags.h"
#include "frontend/tracing/interpreter.h"
#include "frontend/tracing/operator_traits.h"
#include "frontend/values/torch_util.h"
#include "runtime/status/status_macros.h"

namespace aitune::frontend {
namespace {

using Kind = ProbedValue::Kind;

bool IsWritten(const c10::Argument& argument) {
  return argument.alias_info() != nullptr && argument.alias_info()->isWrite();
}

// "aten::add" from "aten::add_", "aten::__and__" from "aten::__iand__".
std::string FunctionalName(const std::string& name) {
  if (absl::StartsWith(name, "aten::__i") && absl::EndsWith(name, "__"))
    return absl::StrCat("aten::__", name.substr(9));
  return std::string(absl::StripSuffix(name, "_"));
}

// The functional operator whose result is the value that this one writes. It
// has the same arguments except those of kind out=.
std::optional<c10::OperatorHandle> FindFunctional(
    const c10::FunctionSchema& schema) {
  std::vector<c10::Argument> wanted;
  bool has_out = false;
  for (const c10::Argument& argument : schema.arguments()) {
    if (IsWritten(argument) && argument.kwarg_only()) {
      has_out = true;
    } else {
      wanted.push_back(argument);
    }
  }
  const std::string name =
      has_out ? schema.name() : FunctionalName(schema.name());
  if (!has_out && name == schema.name()) return std::nullopt;
  const auto fits = [&](const c10::FunctionSchema& candidate) {
    if (WritesTensors(candidate) ||
        candidate.arguments().size() != wanted.size())
      return false;
    for (size_t i = 0; i < wanted.size(); ++i) {
      if (*candidate.arguments()[i].type() != *wanted[i].type()) return false;
    }
    return true;
  };
  for (const std::shared_ptr<torch::jit::Operator>& candidate :
       torch::jit::getAllOperatorsFor(c10::Symbol::fromQualString(name))) {
    if (!fits(candidate->schema())) continue;
    if (auto handle = c10::Dispatcher::singleton().findSchema(
            candidate->schema().operator_name()))
      return handle;
  }
  return std::nullopt;
}

std::vector<size_t> WrittenArguments(const Invocation& call) {
  const std::vector<c10::Argument>& parameters = call.schema->arguments();
  std::vector<size_t> written;
  for (size_t i = 0; i < parameters.size() && i < call.arguments.size(); ++i) {
    if (IsWritten(parameters[i])) written.push_back(i);
  }
  return written;
}

absl::Status ChangesSizes(const std::string& name) {
  return absl::UnimplementedError(
      absl::StrCat(name, " changes the sizes of the tensor that it writes"));
}

// Whether the sizes of what `call` computes may depend on data, so that what it
// writes to an argument out= may become of any. With a functional form, numbers
// that are elements say nothing of sizes.
bool MayBeOfAnySizes(const Invocation& call, bool has_functional) {
  for (size_t i = 0; i < call.arguments.size(); ++i) {
    const c10::TypePtr& type = call.schema->arguments()[i].type();
    if (HasUnknownSizes(*call.arguments[i]) &&
        !(has_functional && type->kind() == c10::TypeKind::NumberType))
      return true;
  }
  return false;
}

// Whether it makes the tensor that it writes another view (t_, squeeze_).
bool IsViewInPlace(const c10::FunctionSchema& schema) {
  return HasTag(schema, at::Tag::inplace_view);
}

absl::Status ChangesMemory(const std::string& name) {
  return absl::UnimplementedError(
      absl::StrCat(name, " changes the memory behind a tensor"));
}

// The elements of `storage` are no longer the sizes that they were.
void ForgetSizes(const TracedStorage& storage) {
  for (const std::weak_ptr<ProbedValue>& weak : storage.tensors) {
    if (const ProbedRef alias = weak.lock()) alias->size.reset();
  }
}

// `call` as one of `handle`, which has the same arguments except those of kind
// out=.
Invocation AsFunctional(const Invocation& call,
                        const c10::OperatorHandle& handle) {
  Invocation functional;
  functional.schema = &handle.schema();
  functional.run = [handle](std::vector<c10::IValue>& stack) {
    handle.callBoxed(stack);
  };
  functional.result_count = 1;
  for (size_t i = 0; i < call.arguments.size(); ++i) {
    const c10::Argument& parameter = call.schema->arguments()[i];
    if (!IsWritten(parameter) || !parameter.kwarg_only())
      functional.arguments.push_back(call.arguments[i]);
  }
  return functional;
}

// Whether a write to `tensor` is seen only by who holds this reference to it,
// so that it needs no copy: LibTorch allocated its memory for it alone, with a
// place for each element.
bool IsForNobodyElse(const at::Tensor& tensor) {
  return tensor.defined() && tensor.use_count() == 1 &&
         tensor.layout() == c10::kStrided && tensor.has_storage() &&
         tensor.storage().use_count() == 1 && tensor.storage().resizable() &&
         !tensor.is_conj() && !tensor.is_neg() &&
         tensor.is_non_overlapping_and_dense();
}

}  // namespace

absl::StatusOr<std::vector<c10::IValue>> Interpreter::RunOnCopy(
    const Invocation& call, size_t written, ValueId value,
    const std::string& reason) {
  AITUNE_ASSIGN_OR_RETURN(std::vector<ArgumentTemplate> recipes,
                          ToTemplates(call.arguments));
  const RecordedFunction on_copy = [run = call.run,
                                    written](std::vector<c10::IValue>& stack) {
    c10::IValue& given = stack.at(written);
    if (!given.isTensor()) {
      given = given.toList().copy();
    } else if (!IsForNobodyElse(given.toTensor())) {
      const at::Tensor tensor = given.toTensor(), copied = tensor.clone();
      // What an operator changes beside elements, as quantised ones do their
      // scale, is changed in all arguments that are this tensor.
      for (c10::IValue& argument : stack) {
        if (argument.isTensor() && argument.toTensor().is_same(tensor))
          argument = copied;
      }
    }
    const c10::IValue copy = stack.at(written);
    run(stack);
    stack.assign(1, copy);
  };
  Invocation direct = call;
  direct.run = on_copy;
  direct.result_count = 1;
  AITUNE_ASSIGN_OR_RETURN(std::vector<std::vector<c10::IValue>> executed,
                          Execute(direct));
  std::vector<c10::IValue> probes;
  for (const std::vector<c10::IValue>& probe : executed)
    probes.push_back(probe[0]);
  ResultTemplate result;
  result.value = value;
  builder_.AddRegion(call.schema->name(), {on_copy, nullptr},
                     std::move(recipes), {result}, reason,
                     /*has_side_effects=*/false);
  return probes;
}

absl::StatusOr<Interpreter::Results> Interpreter::InvokeInPlace(
    const Invocation& call) {
  const c10::InferenceMode inference;
  const c10::FunctionSchema& schema = *call.schema;
  const std::string& name = schema.name();
  const absl::Status of_unknown_type = absl::UnimplementedError(absl::StrCat(
      name, " writes to something else than one tensor of known type"));
  const std::vector<size_t> written = WrittenArguments(call);
  if (written.size() != 1) return of_unknown_type;
  const size_t place = written[0];
  const ProbedRef target = call.arguments[place];
  if ((target->kind == Kind::kOpaque || MakeConstantOpaque(target)) &&
      (target->probes[0].isTensor() || target->probes[0].isList()))
    return WriteOpaque(call, place);
  if (!target->IsTensor() || !target->has_type) return of_unknown_type;
  if (name == "aten::resize_" || name == "aten::resize_as_" ||
      name == "aten::set_")
    return ChangesMemory(name);
  if (target->storage->state >= 0) return WriteState(call, place);
  if (target->storage->input >= 0) {
    findings_.written_inputs.insert(
        static_cast<size_t>(target->storage->input));
    return absl::UnimplementedError(target->storage->read_only);
  }
  AITUNE_RETURN_IF_ERROR(CheckOverlap(call, place));
  const Results returned =
      call.result_count == 0 ? Results() : Results({target});
  const bool random = IsRandom(schema, call.arguments);
  if (!random && absl::EndsWith(name, "dropout_")) return returned;
  if (IsViewInPlace(schema)) {
    AITUNE_RETURN_IF_ERROR(ChangeView(call, target));
    return returned;
  }

  // What the written number of a tensor without axes is, as a formula of sizes.
  std::optional<SizeExpression> size;
  const bool constant = AllUniform(call.arguments) && !random;
  AITUNE_RETURN_IF_ERROR(SettlePossibleViews(*target->storage));
  AITUNE_RETURN_IF_ERROR(
      functionalizer_.PrepareWrite(*target, /*separate_probes=*/!constant));
  if (constant) {
    AITUNE_RETURN_IF_ERROR(Execute(call).status());
    functionalizer_.ConstantOverwritten(*target);
  } else {
    AITUNE_ASSIGN_OR_RETURN(const ProbedRef value,
                            WrittenValue(call, place, random));
    if (value->type.sizes.empty() && value->type.dtype == target->type.dtype)
      size = value->size;
    AITUNE_RETURN_IF_ERROR(WriteBack(call, target, value, random));
  }
  ForgetSizes(*target->storage);
  target->size = size;
  return returned;
}

absl::Status Interpreter::ChangeView(const Invocation& call,
                                     const ProbedRef& target) {
  const std::optional<c10::OperatorHandle> view = FindFunctional(*call.schema);
  if (!view) return ChangesMemory(call.schema->name());
  // An argument or attribute itself is the caller's or the next call's too.
  if (target->views.empty() && !target->storage->read_only.empty())
    return absl::UnimplementedError(target->storage->read_only);
  Invocation functional = call;
  functional.schema = &view->schema();
  functional.run = [view = *view](std::vector<c10::IValue>& stack) {
    view.callBoxed(stack);
  };
  functional.result_count = 1;
  AITUNE_ASSIGN_OR_RETURN(const Results viewed, Invoke(functional));
  if (viewed.at(0)->storage == nullptr) {
    return absl::UnimplementedError(
        absl::StrCat(call.schema->name(), " changes axes that depend on data"));
  }
  if (viewed[0] != target) *target = *viewed[0];
  target->storage->tensors.push_back(target);
  return absl::OkStatus();
}

absl::StatusOr<ProbedRef> Interpreter::WrittenValue(const Invocation& call,
                                                    size_t written,
                                                    bool random) {
  const std::optional<c10::OperatorHandle> handle =
      random ? std::nullopt : FindFunctional(*call.schema);
  // Its result would be of unknown sizes, which those of the target are not.
  const bool unknown = handle && !KeepsSizesOfSelf(handle->schema()) &&
                       AnyOpaque(call.arguments);
  if (handle && !unknown) {
    AITUNE_ASSIGN_OR_RETURN(const Results computed,
                            Invoke(AsFunctional(call, *handle)));
    return computed.at(0);
  }
  const ProbedRef& target = call.arguments[written];
  // LibTorch gives it the sizes of what it computes.
  if (call.schema->arguments()[written].kwarg_only() &&
      MayBeOfAnySizes(call, handle.has_value()))
    return ChangesSizes(call.schema->name());
  auto value = std::make_shared<ProbedValue>();
  value->kind = Kind::kTensor;
  value->type = target->type;
  value->has_type = true;
  value->id = builder_.AddTensor(value->type);
  AITUNE_ASSIGN_OR_RETURN(
      value->probes,
      RunOnCopy(call, written, value->id,
                random    ? "it draws random numbers"
                : unknown ? "it writes a value that depends on data"
                          : "it has no functional form"));
  for (size_t probe = 0; probe < value->probes.size(); ++probe) {
    if (value->tensor(probe).sizes() != target->tensor(probe).sizes())
      return ChangesSizes(call.schema->name());
  }
  functionalizer_.OwnStorage(value, /*tainted=*/true, /*constant=*/false, "");
  return value;
}

absl::Status Interpreter::WriteBack(const Invocation& call,
                                    const ProbedRef& target,
                                    const ProbedRef& value, bool random) {
  const std::string& name = call.schema->name();
  if (!value->IsTensor() || !value->has_type) {
    return absl::UnimplementedError(
        absl::StrCat(name, " gives a value of unknown type"));
  }
  AITUNE_ASSIGN_OR_RETURN(ValueId id, functionalizer_.Read(*value));
  if (value->type.sizes != target->type.sizes) return ChangesSizes(name);
  // An in-place operator keeps the dtype of its target, if it can.
  if (value->type.dtype != target->type.dtype) {
    const at::ScalarType from = ToScalarType(value->type.dtype),
                         to = ToScalarType(target->type.dtype);
    if (!c10::canCast(from, to))
      return absl::InvalidArgumentError(absl::StrCat(
          name, ": result type ", c10::toString(from),
          " can't be cast to the desired output type ", c10::toString(to)));
    const auto type = static_cast<int64_t>(to);
    id = builder_.AddFunctionalCall(
        "aten::to", "dtype",
        {ArgumentTemplate::Value(id), ArgumentTemplate::Fixed(type)},
        target->type);
  }
  const bool tainted = random || AnyTainted(call.arguments);
  AITUNE_RETURN_IF_ERROR(functionalizer_.Write(*target, id, tainted));
  // Reading made constants of the old content.
  AITUNE_RETURN_IF_ERROR(
      functionalizer_.PrepareWrite(*target, /*separate_probes=*/true));
  AITUNE_RETURN_IF_ERROR(
      CatchExceptions(absl::StatusCode::kInvalidArgument, name, [&] {
        for (size_t probe = 0; probe < target->probes.size(); ++probe) {
          at::Tensor(target->tensor(probe)).copy_(value->tensor(probe));
        }
        return absl::OkStatus();
      }));
  target->uniform = false;
  return absl::OkStatus();
}

}  // namespace aitune::frontend
