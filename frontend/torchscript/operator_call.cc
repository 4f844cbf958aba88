// Calls of operators with a schema: run in every probe, folded when they
// depend on no input, recorded otherwise.
#include <ATen/Functions.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <c10/core/InferenceMode.h>

#include <algorithm>
#include <cstring>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "frontend/torchscript/interpreter.h"
#include "frontend/torchscript/operator_traits.h"
#include "frontend/torchscript/torch_util.h"

namespace aitune::frontend {
namespace {

using Kind = ProbedValue::Kind;

bool SameGeometry(const at::Tensor& a, const at::Tensor& b) {
  return a.is_same(b) ||
         (a.storage().is_alias_of(b.storage()) &&
          a.storage_offset() == b.storage_offset() && a.sizes() == b.sizes() &&
          a.strides() == b.strides() && a.scalar_type() == b.scalar_type());
}

bool ShareMemory(const at::Tensor& a, const at::Tensor& b) {
  return a.has_storage() && b.has_storage() &&
         a.storage().is_alias_of(b.storage());
}

// Bitwise, so that NaNs equal themselves.
bool SameContent(const at::Tensor& a, const at::Tensor& b) {
  if (a.is_same(b)) return true;
  if (!IsPlainTensor(a) || !IsPlainTensor(b) ||
      a.scalar_type() != b.scalar_type() || a.sizes() != b.sizes()) {
    return false;
  }
  const at::Tensor dense_a = a.contiguous(), dense_b = b.contiguous();
  return dense_a.numel() == 0 ||
         std::memcmp(dense_a.data_ptr(), dense_b.data_ptr(),
                     dense_a.nbytes()) == 0;
}

// Operators that give a list of consecutive parts of their first argument.
bool IsSplit(const std::string& name) {
  static const auto* const kNames =
      new std::set<std::string>{"aten::split",
                                "aten::split_with_sizes",
                                "aten::chunk",
                                "aten::tensor_split",
                                "aten::unsafe_chunk",
                                "aten::unsafe_split",
                                "aten::unsafe_split_with_sizes"};
  return kNames->count(name) > 0;
}

const char* kUnknownResult = "it depends on a value that only LibTorch knows";

}  // namespace

absl::StatusOr<std::vector<std::vector<c10::IValue>>> Interpreter::Execute(
    const Invocation& call) {
  std::vector<std::vector<c10::IValue>> results;
  const bool once =
      std::all_of(call.arguments.begin(), call.arguments.end(),
                  [](const ProbedRef& a) { return IsUniform(*a); });
  for (size_t probe = 0; probe < fitter_.probes().size(); ++probe) {
    if (once && probe > 0) {
      results.push_back(results[0]);
      continue;
    }
    std::vector<c10::IValue> stack;
    for (const ProbedRef& argument : call.arguments)
      stack.push_back(ValueInProbe(*argument, probe));
    std::vector<std::string> texts;
    const absl::Status status =
        CatchExceptions(absl::StatusCode::kInvalidArgument, "", [&] {
          if (call.schema->is_vararg())
            stack.emplace_back(static_cast<int64_t>(call.arguments.size()));
          call.run(stack);
          return absl::OkStatus();
        });
    if (!status.ok()) {
      for (const ProbedRef& argument : call.arguments) {
        if (texts.size() < 6)
          texts.push_back(Describe(ValueInProbe(*argument, probe)));
      }
      return absl::InvalidArgumentError(
          absl::StrCat(call.schema->name(), "(", absl::StrJoin(texts, ", "),
                       ") fails: ", status.message()));
    }
    if (stack.size() != call.result_count) {
      return absl::UnimplementedError(
          absl::StrCat(call.schema->name(), " gives ", stack.size(),
                       " results instead of ", call.result_count));
    }
    results.push_back(std::move(stack));
  }
  return results;
}

absl::StatusOr<ArgumentTemplate> Interpreter::ToTemplate(
    const ProbedRef& value) {
  switch (value->kind) {
    case Kind::kPlain: {
      if (value->uniform) return ArgumentTemplate::Fixed(value->probes[0]);
      if (std::optional<SizeExpression> size = SizeOf(value))
        return ArgumentTemplate::Size(*size);
      std::vector<int64_t> varying;
      for (size_t probe = 0; probe < value->probes.size(); ++probe) {
        const c10::IValue& content = value->probes[probe];
        // Only which probes differ matters for other types.
        varying.push_back(content.isInt()               ? content.toInt()
                          : content == value->probes[0] ? 0
                                                        : 1);
      }
      return Divergence(varying, "a number");
    }
    case Kind::kTensor: {
      if (!value->has_type && value->storage->constant)
        return ArgumentTemplate::Fixed(value->probes[0]);
      absl::StatusOr<ValueId> id = functionalizer_.Read(*value);
      if (!id.ok()) return id.status();
      return ArgumentTemplate::Value(*id);
    }
    case Kind::kOpaque:
      return ArgumentTemplate::Value(value->id);
    case Kind::kList:
    case Kind::kTuple:
    case Kind::kDict: {
      ArgumentTemplate recipe;
      recipe.kind = value->kind == Kind::kList ? ArgumentTemplate::Kind::kList
                    : value->kind == Kind::kTuple
                        ? ArgumentTemplate::Kind::kTuple
                        : ArgumentTemplate::Kind::kDict;
      recipe.keys = value->keys;
      recipe.type = value->type_hint;
      if (value->kind == Kind::kList)
        recipe.type =
            value->type_hint->expect<c10::ListType>()->getElementType();
      if (value->kind == Kind::kTuple && recipe.type) {
        const auto tuple = recipe.type->cast<c10::TupleType>();
        if (!tuple || !tuple->schema()) recipe.type = nullptr;
      }
      for (const ProbedRef& element : value->elements) {
        absl::StatusOr<ArgumentTemplate> child = ToTemplate(element);
        if (!child.ok()) return child;
        recipe.children.push_back(*std::move(child));
      }
      return recipe;
    }
  }
  return absl::InternalError("a value of unknown kind");
}

ProbedRef Interpreter::MakeOpaque(std::vector<c10::IValue> probes,
                                  const std::string& why,
                                  ResultTemplate* result) {
  auto opaque = std::make_shared<ProbedValue>();
  opaque->kind = Kind::kOpaque;
  opaque->probes = std::move(probes);
  opaque->id = builder_.AddOpaque(why);
  result->value = opaque->id;
  return opaque;
}

// False when the trace has no type for the tensor.
absl::StatusOr<bool> Interpreter::FindType(ProbedValue& tensor,
                                           const ResultTraits& traits) {
  const at::Tensor& first = tensor.tensor();
  for (size_t probe = 0; probe < tensor.probes.size(); ++probe) {
    if (!IsPlainTensor(tensor.tensor(probe))) return false;
  }
  tensor.type.dtype = *FromScalarType(first.scalar_type());
  std::vector<int64_t> ranks;
  for (size_t probe = 0; probe < tensor.probes.size(); ++probe) {
    const at::Tensor& other = tensor.tensor(probe);
    ranks.push_back(other.dim());
    if (other.dim() != first.dim() ||
        other.scalar_type() != first.scalar_type()) {
      ranks.resize(tensor.probes.size(), -1);
      return Divergence(ranks, "the rank or dtype of a tensor");
    }
  }
  for (int64_t axis = 0; axis < first.dim(); ++axis) {
    std::vector<int64_t> sizes;
    for (size_t probe = 0; probe < tensor.probes.size(); ++probe)
      sizes.push_back(tensor.tensor(probe).size(axis));
    const std::optional<SizeExpression> size =
        fitter_.Fit(sizes, traits.sources, traits.strides);
    if (!size) return Divergence(sizes, "the size of a tensor");
    tensor.type.sizes.push_back(*size);
  }
  tensor.has_type = true;
  return true;
}

absl::StatusOr<ProbedRef> Interpreter::ConvertTensor(
    std::vector<c10::IValue> probes, const ResultTraits& traits,
    ResultTemplate* result) {
  if (!probes[0].toTensor().defined())
    return MakePlain(std::vector<c10::IValue>(probes.size()));
  auto tensor = std::make_shared<ProbedValue>();
  tensor->kind = Kind::kTensor;
  tensor->probes = std::move(probes);
  const at::Tensor& first = tensor->tensor();

  // The argument that it shares memory with, if any.
  ProbedRef source;
  for (const ProbedRef& candidate : traits.tensors) {
    if (!ShareMemory(first, candidate->tensor())) continue;
    bool same = true;
    for (size_t probe = 0; probe < tensor->probes.size(); ++probe) {
      same =
          same && SameGeometry(tensor->tensor(probe), candidate->tensor(probe));
    }
    if (same) return candidate;
    if (source == nullptr) source = candidate;
  }

  if (!traits.tainted) {
    bool equal = true;
    for (size_t probe = 1; probe < tensor->probes.size(); ++probe) {
      equal = equal && SameContent(first, tensor->tensor(probe));
    }
    // A view into memory that varies follows that memory.
    if (source != nullptr) equal = equal && source->storage->constant;
    tensor->uniform = equal;
    if (equal) {
      for (c10::IValue& probe : tensor->probes) probe = tensor->probes[0];
      tensor->has_type = IsPlainTensor(first);
      if (tensor->has_type) {
        tensor->type.dtype = *FromScalarType(first.scalar_type());
        tensor->type.sizes.assign(first.sizes().begin(), first.sizes().end());
      }
    }
  }
  if (!tensor->uniform) {
    if (!traits.opaque.empty())
      return MakeOpaque(std::move(tensor->probes), traits.opaque, result);
    absl::StatusOr<bool> typed = FindType(*tensor, traits);
    if (!typed.ok()) return typed.status();
    if (!*typed) {
      return MakeOpaque(std::move(tensor->probes),
                        "it has a dtype or layout that compiled code has not",
                        result);
    }
    tensor->id = builder_.AddTensor(tensor->type);
    result->value = tensor->id;
  }
  if (source != nullptr) {
    ViewStep step;
    const Invocation& call = *traits.call;
    const std::vector<c10::Argument>& returns = call.schema->returns();
    if (source == call.arguments[0] && returns.size() == 1 &&
        returns[0].type()->kind() == c10::TypeKind::TensorType &&
        tensor->has_type && traits.templates.size() == call.arguments.size() &&
        !WritesTensors(*call.schema) &&
        c10::Dispatcher::singleton().findSchema(call.schema->operator_name())) {
      step = {call.schema->name(), call.schema->overload_name(),
              traits.templates, tensor->type};
    }
    functionalizer_.ShareStorage(tensor, *source, std::move(step));
  } else {
    functionalizer_.OwnStorage(tensor, traits.tainted, tensor->uniform, "");
  }
  return tensor;
}

absl::StatusOr<ProbedRef> Interpreter::Convert(std::vector<c10::IValue> probes,
                                               const ResultTraits& traits,
                                               ResultTemplate* result) {
  const c10::IValue& first = probes[0];
  if (first.isTensor()) return ConvertTensor(std::move(probes), traits, result);
  const bool container =
      first.isList() || first.isTuple() || first.isGenericDict();
  if (!container) {
    if (!traits.tainted || first.isNone()) return MakePlain(std::move(probes));
    return MakeOpaque(std::move(probes), "it is a number that depends on data",
                      result);
  }
  if (traits.tainted && (!traits.opaque.empty() || first.isGenericDict())) {
    return MakeOpaque(std::move(probes),
                      traits.opaque.empty() ? kUnknownResult : traits.opaque,
                      result);
  }
  auto converted = std::make_shared<ProbedValue>();
  converted->kind = first.isList()    ? Kind::kList
                    : first.isTuple() ? Kind::kTuple
                                      : Kind::kDict;
  converted->type_hint = first.type();
  std::vector<std::vector<c10::IValue>> columns;  // the elements of each probe
  std::vector<int64_t> lengths;
  for (const c10::IValue& probe : probes) {
    std::vector<c10::IValue>& elements = columns.emplace_back();
    if (probe.isGenericDict()) {
      for (const auto& entry : probe.toGenericDict()) {
        if (columns.size() == 1) converted->keys.push_back(entry.key());
        elements.push_back(entry.value());
      }
    } else if (probe.isTuple()) {
      elements = probe.toTupleRef().elements();
    } else {
      elements = probe.toListRef().vec();
    }
    lengths.push_back(static_cast<int64_t>(elements.size()));
  }
  for (const int64_t length : lengths) {
    if (length != lengths[0])
      return Divergence(lengths, "the length of a list");
  }
  result->kind = ResultTemplate::Kind::kContainer;
  for (size_t i = 0; i < columns[0].size(); ++i) {
    std::vector<c10::IValue> element;
    for (const std::vector<c10::IValue>& column : columns)
      element.push_back(column[i]);
    absl::StatusOr<ProbedRef> child =
        Convert(std::move(element), traits, &result->children.emplace_back());
    if (!child.ok()) return child;
    converted->elements.push_back(*std::move(child));
  }
  return converted;
}

std::string Interpreter::FallbackReason(
    const std::vector<ProbedRef>& results) const {
  for (const ProbedRef& result : results) {
    if (result->kind == Kind::kOpaque)
      return builder_.value(result->id).why_opaque;
    if (std::string reason = FallbackReason(result->elements); !reason.empty())
      return reason;
  }
  return "";
}

// Parts of a tensor as slices (or selections), one a part: no lists are needed.
absl::StatusOr<Interpreter::Results> Interpreter::EmitSlices(
    const Invocation& call) {
  const ProbedRef& source = call.arguments[0];
  absl::StatusOr<std::vector<std::vector<c10::IValue>>> executed =
      Execute(call);
  if (!executed.ok()) return executed.status();
  const bool select = call.schema->name() == "aten::unbind";
  const std::optional<size_t> position = FindArgument(*call.schema, "dim");
  if (!position)
    return absl::UnimplementedError(
        absl::StrCat(call.schema->name(), " has no axis"));
  absl::StatusOr<int64_t> dim =
      UniformInt(call.arguments[*position], "an axis");
  if (!dim.ok()) return dim.status();
  const int64_t axis = *dim < 0 ? *dim + source->tensor().dim() : *dim;

  auto list = std::make_shared<ProbedValue>();
  list->kind = Kind::kList;
  list->type_hint = c10::ListType::ofTensors();
  std::vector<int64_t> counts;
  for (const auto& results : *executed)
    counts.push_back(static_cast<int64_t>(results[0].toTensorVector().size()));
  for (const int64_t count : counts) {
    if (count != counts[0])
      return Divergence(counts, "the number of parts of a tensor");
  }
  SizeExpression start;
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
      std::vector<int64_t> sizes;
      for (const auto& results : *executed) {
        sizes.push_back(
            results[0].toTensorVector()[static_cast<size_t>(part)].size(axis));
      }
      const std::optional<SizeExpression> size =
          fitter_.Fit(sizes, source->type.sizes,
                      SizeDivisors(*call.schema, call.arguments));
      if (!size) return Divergence(sizes, "the size of a part of a tensor");
      end = fitter_.Simplify(start + *size);
    }
    const auto number = [&](const SizeExpression& size) {
      std::vector<c10::IValue> probes;
      for (const int64_t value : fitter_.Evaluate(size))
        probes.emplace_back(value);
      ProbedRef plain = MakePlain(std::move(probes));
      plain->size = size;
      return plain;
    };
    slice.run = [operation](std::vector<c10::IValue>& stack) {
      operation.callBoxed(stack);
    };
    slice.arguments = {source, number(axis), number(start)};
    if (!select) {
      slice.arguments.push_back(number(end));
      slice.arguments.push_back(number(1));
    }
    absl::StatusOr<Results> made = Invoke(slice);
    if (!made.ok()) return made;
    list->elements.push_back(made->at(0));
    start = end;
  }
  return Results({list});
}

absl::StatusOr<Interpreter::Results> Interpreter::Invoke(
    const Invocation& call) {
  if (WritesTensors(*call.schema)) return InvokeInPlace(call);
  const c10::InferenceMode inference;
  bool opaque = false;
  ResultTraits traits;
  traits.call = &call;
  for (const ProbedRef& argument : call.arguments) {
    opaque = opaque || HasOpaque(*argument);
    traits.tainted = traits.tainted || IsTainted(*argument);
    CollectTensors(argument, traits.tensors);
    if (std::optional<SizeExpression> size = SizeOf(argument);
        size && !size->constant()) {
      traits.sources.push_back(*size);
    }
    for (const ProbedRef& element : argument->elements) {
      if (std::optional<SizeExpression> size = SizeOf(element);
          size && !size->constant()) {
        traits.sources.push_back(*size);
      }
    }
  }
  for (const ProbedRef& tensor : traits.tensors) {
    traits.sources.insert(traits.sources.end(), tensor->type.sizes.begin(),
                          tensor->type.sizes.end());
  }
  const bool uniform =
      std::all_of(call.arguments.begin(), call.arguments.end(),
                  [](const ProbedRef& a) { return IsUniform(*a); });
  if (!opaque && !uniform && !call.arguments.empty() &&
      call.arguments[0]->IsTensor() &&
      (IsSplit(call.schema->name()) || call.schema->name() == "aten::unbind") &&
      !HasDataDependentSizes(*call.schema, call.arguments)) {
    return EmitSlices(call);
  }

  std::string must_fall_back;
  const bool query = IsMetadataQuery(*call.schema);
  if (query && (!opaque || IsTypeQuery(*call.schema))) {
    traits.tainted = false;
    opaque = false;
  }
  if (IsRandom(*call.schema, call.arguments)) {
    must_fall_back = "it draws random numbers";
    traits.tainted = true;
  }
  if (traits.tainted && HasDataDependentSizes(*call.schema, call.arguments)) {
    traits.opaque = "its size depends on data";
  } else if (opaque) {
    must_fall_back = kUnknownResult;
    // A number that only scales elements leaves the sizes known.
    bool only_scalars = true;
    for (size_t i = 0;
         i < call.arguments.size() && i < call.schema->arguments().size();
         ++i) {
      if (!HasOpaque(*call.arguments[i])) continue;
      const c10::TypeKind type = call.schema->arguments()[i].type()->kind();
      only_scalars = only_scalars && call.arguments[i]->kind == Kind::kOpaque &&
                     (type == c10::TypeKind::NumberType ||
                      type == c10::TypeKind::FloatType) &&
                     !traits.tensors.empty();
    }
    if (!only_scalars || call.schema->name() == "aten::arange")
      traits.opaque = kUnknownResult;
  }
  traits.strides = SizeDivisors(*call.schema, call.arguments);

  absl::StatusOr<std::vector<std::vector<c10::IValue>>> executed =
      Execute(call);
  if (!executed.ok()) return executed.status();

  // Recipes are needed where an operator may be recorded, and for views.
  const bool may_emit = traits.tainted || (!uniform && !query);
  bool gives_tensors = false;
  for (const c10::IValue& result : executed->at(0))
    gives_tensors |=
        !result.isNone() && (result.isTensor() || result.isTensorList());
  if (may_emit && (traits.tainted || gives_tensors)) {
    traits.emit = true;
  }
  const bool is_view = gives_tensors && !traits.emit;
  if (traits.emit || is_view) {
    for (size_t i = 0; i < call.arguments.size(); ++i) {
      // A view's self is filled in when it is derived anew.
      const bool fill_in_later =
          is_view && i == 0 && call.arguments[i]->IsTensor();
      absl::StatusOr<ArgumentTemplate> recipe =
          fill_in_later ? ArgumentTemplate() : ToTemplate(call.arguments[i]);
      if (!recipe.ok()) return recipe.status();
      traits.templates.push_back(*std::move(recipe));
    }
  }

  Results results;
  std::vector<ResultTemplate> templates;
  for (size_t i = 0; i < call.result_count; ++i) {
    std::vector<c10::IValue> probes;
    for (const std::vector<c10::IValue>& probe : *executed)
      probes.push_back(probe[i]);
    absl::StatusOr<ProbedRef> result =
        Convert(std::move(probes), traits, &templates.emplace_back());
    if (!result.ok()) return result.status();
    results.push_back(*std::move(result));
  }
  InferSizes(call, results);

  const std::vector<ValueId> made = Flatten(templates);
  if (!traits.emit ||
      std::all_of(made.begin(), made.end(), [](ValueId id) { return id < 0; }))
    return results;
  Call emitted;
  emitted.schema = call.schema;
  emitted.run = call.run;
  emitted.arguments = std::move(traits.templates);
  emitted.must_fall_back =
      must_fall_back.empty() ? FallbackReason(results) : must_fall_back;
  // Sizes as tensors: the number itself says it better.
  if (call.schema->name() == "prim::NumToTensor" && results.size() == 1 &&
      results[0]->IsTensor() && results[0]->size) {
    const ValueId full = builder_.AddFunctionalCall(
        "aten::full", "",
        {ArgumentTemplate::IntList({}),
         ArgumentTemplate::Size(*results[0]->size),
         ArgumentTemplate::Fixed(static_cast<int64_t>(c10::ScalarType::Long))},
        results[0]->type);
    results[0]->id = full;
    results[0]->storage->base = full;
    return results;
  }
  if (call.schema->is_vararg()) {
    emitted.arguments.push_back(
        ArgumentTemplate::Fixed(static_cast<int64_t>(call.arguments.size())));
    builder_.AddRegion(call.schema->name(), emitted.run,
                       std::move(emitted.arguments), std::move(templates),
                       emitted.must_fall_back, /*has_side_effects=*/false);
  } else {
    builder_.AddCall(std::move(emitted), std::move(templates));
  }
  return results;
}

}  // namespace aitune::frontend
