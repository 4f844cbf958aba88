// Between the IValues of all probes and the interpreter's values.
#include <ATen/Functions.h>
#include <ATen/core/dispatch/Dispatcher.h>

#include <utility>

#include "frontend/tracing/interpreter.h"
#include "frontend/tracing/operator_traits.h"
#include "frontend/values/pytree.h"
#include "frontend/values/tensor_memory.h"
#include "frontend/values/torch_util.h"
#include "runtime/status/status_macros.h"

namespace aitune::frontend {
namespace {

using Kind = ProbedValue::Kind;

// Whether both are the same elements: also negated or conjugated alike, which
// bits of a tensor say.
bool AreOneTensor(const at::Tensor& a, const at::Tensor& b) {
  return a.is_same(b) ||
         (a.has_storage() && b.has_storage() &&
          a.storage().is_alias_of(b.storage()) &&
          a.storage_offset() == b.storage_offset() && a.sizes() == b.sizes() &&
          a.strides() == b.strides() && a.scalar_type() == b.scalar_type() &&
          a.is_neg() == b.is_neg() && a.is_conj() == b.is_conj());
}

// Whether a result that is `argument` itself at the probes is so where more is
// known: a transpose of one row and one column shows nothing.
bool IsSameAtKnownPoints(const ProbedValue& argument,
                         const ResultTraits& traits) {
  if (traits.known_shapes == nullptr || !argument.has_type) return true;
  const KnownShapes& known = *traits.known_shapes;
  for (size_t i = 0; i < known.points.size(); ++i) {
    const ShapesAt& there = known.shapes[i];
    if (traits.result >= there.sizes.size() ||
        (traits.result < there.is_other_view.size() &&
         there.is_other_view[traits.result]) ||
        there.sizes[traits.result].size() != argument.type.sizes.size())
      return false;
    for (size_t axis = 0; axis < argument.type.sizes.size(); ++axis) {
      if (argument.type.sizes[axis].Evaluate(known.points[i]) !=
          there.sizes[traits.result][axis])
        return false;
    }
  }
  return true;
}

// Whether the call slices the argument at some sizes, though at the probes it
// gives all of it.
bool IsCut(const ProbedValue& argument, const ResultTraits& traits) {
  if (!traits.sliced || !argument.has_type) return false;
  const auto axis = static_cast<size_t>(traits.sliced->first);
  return axis >= argument.type.sizes.size() ||
         argument.type.sizes[axis] != traits.sliced->second;
}

// A tensor of the same elements that is an object of its own: what becomes of
// its sizes does not become of `tensor`'s.
ProbedRef AnotherName(const ProbedRef& tensor) {
  auto other = std::make_shared<ProbedValue>(*tensor);
  other->storage->tensors.push_back(other);
  return other;
}

// What shares memory with an opaque value must not be written, nor the value:
// the other would not see it.
void NoteSharing(ProbedValue& opaque, const std::vector<ProbedRef>& tensors) {
  for (const c10::IValue& probe : opaque.probes) {
    for (const at::Tensor& part : TensorLeaves(probe)) {
      for (const ProbedRef& tensor : tensors) {
        if (!ShareMemory(part, tensor->tensor())) continue;
        tensor->storage->unknown_views = true;
        opaque.may_share_memory = true;
      }
    }
  }
}

// The step of a view. A view with the sizes of another tensor reads them alone,
// so that it is one with these sizes.
ViewStep StepOf(const c10::FunctionSchema& schema,
                const std::vector<ArgumentTemplate>& arguments,
                const TensorType& type) {
  for (const char* name : {"aten::view", "aten::reshape"}) {
    if (schema.name() == absl::StrCat(name, "_as"))
      return {name,
              "",
              {arguments[0], ArgumentTemplate::IntList(type.sizes)},
              type};
  }
  return {schema.name(), schema.overload_name(), arguments, type};
}

}  // namespace

absl::StatusOr<std::vector<ArgumentTemplate>> Interpreter::ToTemplates(
    const std::vector<ProbedRef>& values) {
  std::vector<ArgumentTemplate> recipes;
  for (const ProbedRef& value : values) {
    AITUNE_ASSIGN_OR_RETURN(ArgumentTemplate recipe, ToTemplate(value));
    recipes.push_back(std::move(recipe));
  }
  return recipes;
}

absl::StatusOr<ArgumentTemplate> Interpreter::ToTemplate(
    const ProbedRef& value) {
  switch (value->kind) {
    case Kind::kPlain: {
      if (value->uniform) return ArgumentTemplate::Fixed(value->probes[0]);
      if (std::optional<SizeExpression> size = SizeOf(value))
        return ArgumentTemplate::Size(*size);
      AITUNE_ASSIGN_OR_RETURN(const std::optional<SizeExpression> around,
                              SettleFormula(value, "a number"));
      if (around) return ArgumentTemplate::Size(*around);
      AITUNE_RETURN_IF_ERROR(Settle(value, "a number"));
      return ArgumentTemplate::Fixed(value->probes[0]);
    }
    case Kind::kTensor: {
      if (!value->has_type && value->storage->constant)
        return ArgumentTemplate::Fixed(value->probes[0]);
      AITUNE_ASSIGN_OR_RETURN(ValueId id, functionalizer_.Read(*value));
      return ArgumentTemplate::Value(id);
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
        AITUNE_ASSIGN_OR_RETURN(ArgumentTemplate child, ToTemplate(element));
        recipe.children.push_back(std::move(child));
      }
      return recipe;
    }
    case Kind::kObject:
      break;
  }
  return absl::UnimplementedError(
      "an object of the program's own classes is an argument of an operator");
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

// The sizes of a tensor that the trace has no type for; nothing when they are
// not known.
std::optional<std::vector<SizeExpression>> Interpreter::FitSizes(
    const ProbedValue& tensor, const ResultTraits& traits,
    std::vector<int64_t>& unexplained) {
  std::vector<SizeExpression> found;
  for (int64_t axis = 0; axis < tensor.tensor().dim(); ++axis) {
    std::vector<int64_t> sizes;
    for (size_t probe = 0; probe < tensor.probes.size(); ++probe)
      sizes.push_back(tensor.tensor(probe).size(axis));
    std::optional<SizeExpression> size;
    if (const auto told = traits.told.find(axis);
        told != traits.told.end() && fitter_.Matches(told->second, sizes))
      size = told->second;
    if (!size && traits.known_shapes != nullptr)
      size = FitKnown(*traits.known_shapes, traits.result,
                      static_cast<size_t>(axis), sizes, traits);
    if (!size) size = fitter_.Fit(sizes, traits.sources, traits.strides);
    if (!size) {
      unexplained = std::move(sizes);
      return std::nullopt;
    }
    found.push_back(*std::move(size));
  }
  return found;
}

std::optional<std::vector<SizeExpression>> Interpreter::FindSizes(
    const ProbedValue& tensor, const ResultTraits& traits) {
  const at::Tensor& first = tensor.tensor();
  for (size_t probe = 0; probe < tensor.probes.size(); ++probe) {
    const at::Tensor& other = tensor.tensor(probe);
    if (!other.defined() || other.is_nested() ||
        other.layout() != c10::kStrided || other.dim() != first.dim() ||
        other.scalar_type() != first.scalar_type())
      return std::nullopt;
  }
  std::vector<int64_t> unexplained;
  return FitSizes(tensor, traits, unexplained);
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
  std::vector<int64_t> unexplained;
  std::optional<std::vector<SizeExpression>> sizes =
      FitSizes(tensor, traits, unexplained);
  if (!sizes) return Divergence(unexplained, "the size of a tensor");
  tensor.type.sizes = *std::move(sizes);
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
          same && AreOneTensor(tensor->tensor(probe), candidate->tensor(probe));
    }
    same = same && IsSameAtKnownPoints(*candidate, traits) &&
           !IsCut(*candidate, traits);
    // Of sizes that depend on data the probes show only some.
    if (same && (!traits.tainted || traits.opaque.empty()))
      return first.is_same(candidate->tensor()) ? candidate
                                                : AnotherName(candidate);
    if (source == nullptr) source = candidate;
  }

  if (!traits.tainted) {
    // Values that are equal in all probes may differ at other sizes.
    bool equal = traits.uniform_arguments;
    for (size_t probe = 1; equal && probe < tensor->probes.size(); ++probe)
      equal = SameContent(first, tensor->tensor(probe));
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
    if (!traits.opaque.empty()) {
      ProbedRef opaque =
          MakeOpaque(std::move(tensor->probes), traits.opaque, result);
      NoteSharing(*opaque, traits.tensors);
      return opaque;
    }
    AITUNE_ASSIGN_OR_RETURN(bool typed, FindType(*tensor, traits));
    if (!typed && traits.derived_later)
      return absl::UnimplementedError(
          "a view of the model's own tensor has sizes that traces have not");
    if (!typed) {
      std::optional<std::vector<SizeExpression>> sizes =
          FindSizes(*tensor, traits);
      ProbedRef opaque = MakeOpaque(
          std::move(tensor->probes),
          "it has a dtype or layout that compiled code has not", result);
      NoteSharing(*opaque, traits.tensors);
      opaque->has_sizes = sizes.has_value();
      if (sizes) opaque->type.sizes = *std::move(sizes);
      return opaque;
    }
    if (!traits.derived_later) {
      tensor->id = builder_.AddTensor(tensor->type);
      result->value = tensor->id;
    }
  }
  if (source != nullptr) {
    ViewStep step;
    const Invocation& call = *traits.call;
    const std::vector<c10::Argument>& returns = call.schema->returns();
    if (source == call.arguments[0] && returns.size() == 1 &&
        returns[0].type()->kind() == c10::TypeKind::TensorType &&
        tensor->has_type && traits.templates.size() == call.arguments.size() &&
        !WritesTensors(*call.schema) &&
        c10::Dispatcher::singleton().findSchema(call.schema->operator_name()))
      step = StepOf(*call.schema, traits.templates, tensor->type);
    functionalizer_.ShareStorage(tensor, *source, std::move(step));
  } else {
    const bool shared =
        std::any_of(traits.opaque_tensors.begin(), traits.opaque_tensors.end(),
                    [&](const ProbedRef& opaque) {
                      return ShareMemory(tensor->tensor(), opaque->tensor());
                    });
    functionalizer_.OwnStorage(tensor, traits.tainted, tensor->uniform,
                               shared ? "a tensor is written that shares "
                                        "memory with one that only LibTorch "
                                        "knows"
                                      : "");
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
    if (!traits.tainted || (first.isNone() && traits.opaque.empty()))
      return MakePlain(std::move(probes));
    return MakeOpaque(std::move(probes), "it is a number that depends on data",
                      result);
  }
  if (traits.tainted && (!traits.opaque.empty() || first.isGenericDict())) {
    ProbedRef opaque = MakeOpaque(
        std::move(probes),
        traits.opaque.empty() ? kUnknownResult : traits.opaque, result);
    NoteSharing(*opaque, traits.tensors);
    return opaque;
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
    AITUNE_ASSIGN_OR_RETURN(
        ProbedRef child,
        Convert(std::move(element), traits, &result->children.emplace_back()));
    converted->elements.push_back(std::move(child));
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

}  // namespace aitune::frontend
