// Calls of operators with a schema: run in every probe, folded when they
// depend on no input, recorded otherwise.
#include <ATen/Functions.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <c10/core/InferenceMode.h>

#include <algorithm>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "frontend/tracing/interpreter.h"
#include "frontend/tracing/operator_traits.h"
#include "frontend/tracing/shared_memory.h"
#include "frontend/values/torch_util.h"
#include "runtime/status/status_macros.h"

namespace aitune::frontend {
namespace {

using Kind = ProbedValue::Kind;

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

bool IsReshape(const std::string& name) {
  return name == "aten::view" || name == "aten::reshape" ||
         name == "aten::_unsafe_view" || name == "aten::unflatten";
}

// What an axis that was several comes from.
void AddProducts(const std::vector<SizeExpression>& sizes,
                 std::vector<SizeExpression>& sources) {
  for (size_t first = 0; first < sizes.size(); ++first) {
    SizeExpression product = sizes[first];
    for (size_t next = first + 1; next < sizes.size(); ++next) {
      product = product * sizes[next];
      sources.push_back(product);
    }
  }
}

// What an axis of size -1 comes from: all elements, divided by the other sizes.
void AddElementCounts(const std::vector<ProbedRef>& arguments,
                      std::vector<SizeExpression>& sources,
                      std::vector<int64_t>& divisors) {
  SizeExpression elements = 1;
  for (const SizeExpression& size : arguments[0]->type.sizes)
    elements = elements * size;
  sources.push_back(elements);
  int64_t product = 1;
  for (size_t i = 1; i < arguments.size(); ++i) {
    for (const ProbedRef& size : arguments[i]->elements) {
      if (size->kind == Kind::kPlain && size->uniform &&
          size->probes[0].isInt() && size->probes[0].toInt() > 1)
        product *= size->probes[0].toInt();
    }
  }
  if (product > 1) divisors.push_back(product);
}

bool IsAutocast(const std::string& name) {
  return name == "aten::_autocast_to_reduced_precision" ||
         name == "aten::_autocast_to_full_precision";
}

// Gives autocast's operators the flag and the dtype for the CPU in place of
// those for a GPU, and these in place of those.
template <typename Argument>
void SwapDevicesOfAutocast(std::vector<Argument>& arguments) {
  for (size_t i = 1; i + 1 < arguments.size(); i += 2)
    std::swap(arguments[i], arguments[i + 1]);
}

}  // namespace

// Parts of a tensor as slices (or selections), one a part: no lists are needed.
absl::StatusOr<Interpreter::Results> Interpreter::EmitSlices(
    const Invocation& call) {
  const ProbedRef& source = call.arguments[0];
  AITUNE_ASSIGN_OR_RETURN(std::vector<std::vector<c10::IValue>> executed,
                          Execute(call));
  const bool select = call.schema->name() == "aten::unbind";
  const std::optional<size_t> position = FindArgument(*call.schema, "dim");
  if (!position)
    return absl::UnimplementedError(
        absl::StrCat(call.schema->name(), " has no axis"));
  AITUNE_ASSIGN_OR_RETURN(int64_t dim,
                          UniformInt(call.arguments[*position], "an axis"));
  const int64_t axis = dim < 0 ? dim + source->tensor().dim() : dim;

  auto list = std::make_shared<ProbedValue>();
  list->kind = Kind::kList;
  list->type_hint = c10::ListType::ofTensors();
  std::vector<int64_t> counts;
  for (const auto& results : executed)
    counts.push_back(static_cast<int64_t>(results[0].toTensorVector().size()));
  AITUNE_RETURN_IF_ERROR(SettlePartCount(call));
  for (const int64_t count : counts) {
    if (count != counts[0])
      return Divergence(counts, "the number of parts of a tensor");
  }
  SizeExpression start;
  std::vector<std::vector<SizeExpression>> expected;
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
      for (const auto& results : executed) {
        sizes.push_back(
            results[0].toTensorVector()[static_cast<size_t>(part)].size(axis));
      }
      const std::optional<SizeExpression> size =
          fitter_.Fit(sizes, source->type.sizes,
                      SizeDivisors(*call.schema, call.arguments));
      if (!size) return Divergence(sizes, "the size of a part of a tensor");
      end = fitter_.Simplify(start + *size);
    }
    slice.run = [operation](std::vector<c10::IValue>& stack) {
      operation.callBoxed(stack);
    };
    slice.arguments = {source, MakeSize(axis), MakeSize(start)};
    if (!select) {
      slice.arguments.push_back(MakeSize(end));
      slice.arguments.push_back(MakeSize(1));
    }
    absl::StatusOr<Results> made = Invoke(slice);
    if (!made.ok()) return made;
    list->elements.push_back(made->at(0));
    expected.push_back(made->at(0)->type.sizes);
    start = end;
  }
  AITUNE_RETURN_IF_ERROR(CheckSizes(call, expected));
  return Results({list});
}

absl::StatusOr<std::optional<std::pair<int64_t, SizeExpression>>>
Interpreter::ClampSlice(Invocation& call) {
  using Sliced = std::optional<std::pair<int64_t, SizeExpression>>;
  const ProbedRef& self = call.arguments[0];
  if (call.arguments.size() != 5 || !self->IsTensor() || !self->has_type ||
      std::any_of(call.arguments.begin() + 1, call.arguments.end(),
                  [](const ProbedRef& a) { return a->kind != Kind::kPlain; }))
    return Sliced();
  const char* const what = "where a slice ends";
  AITUNE_ASSIGN_OR_RETURN(int64_t dim,
                          UniformInt(call.arguments[1], "an axis"));
  AITUNE_ASSIGN_OR_RETURN(int64_t step,
                          UniformInt(call.arguments[4], "the step of a slice"));
  const auto rank = static_cast<int64_t>(self->type.sizes.size());
  const int64_t axis = dim < 0 ? dim + rank : dim;
  if (axis < 0 || axis >= rank || step < 1) return Sliced();
  const SizeExpression size = self->type.sizes[static_cast<size_t>(axis)];
  // Between `low` and the size; a negative one counts from the end.
  const auto clamp =
      [&](const ProbedRef& bound, const SizeExpression& otherwise,
          const SizeExpression& low) -> absl::StatusOr<SizeExpression> {
    if (bound->probes[0].isNone()) return otherwise;
    std::optional<SizeExpression> at = SizeOf(bound);
    if (!at) {
      AITUNE_RETURN_IF_ERROR(Settle(bound, what));
      at = SizeExpression(bound->probes[0].toInt());
    }
    // The usual spelling of "to the end".
    if (at->constant() == INT64_MAX) return size;
    AITUNE_ASSIGN_OR_RETURN(bool counts_from_start, IsNonNegative(*at, what));
    if (!counts_from_start) at = *at + size;
    AITUNE_ASSIGN_OR_RETURN(
        bool above, IsNonNegative(fitter_.Simplify(*at + low * -1), what));
    if (!above) return low;
    AITUNE_ASSIGN_OR_RETURN(
        bool inside, IsNonNegative(fitter_.Simplify(size + *at * -1), what));
    return inside ? fitter_.Simplify(*at) : size;
  };
  AITUNE_ASSIGN_OR_RETURN(SizeExpression start, clamp(call.arguments[2], 0, 0));
  AITUNE_ASSIGN_OR_RETURN(SizeExpression end,
                          clamp(call.arguments[3], size, start));
  call.arguments[2] = MakeSize(start);
  call.arguments[3] = MakeSize(end);
  SizeExpression length = end + start * -1;
  if (step > 1)
    length = SizeExpression::Binary(SizeExpression::Kind::kFloorDivide,
                                    length + (step - 1), step);
  return Sliced({axis, fitter_.Simplify(length)});
}

absl::StatusOr<Interpreter::Results> Interpreter::Invoke(
    const Invocation& given) {
  if (WritesTensors(*given.schema)) return InvokeInPlace(given);
  if (WritesHidden(*given.schema, given.arguments))
    return absl::UnimplementedError(
        absl::StrCat(given.schema->name(),
                     " updates its running statistics; call eval() on the "
                     "model before exporting it if it should not"));
  if (given.schema->name() == "aten::manual_seed")
    return absl::UnimplementedError("it sets the seed of random numbers");
  AITUNE_ASSIGN_OR_RETURN(std::optional<Results> on_number,
                          InvokeOnNumber(given));
  if (on_number) return *std::move(on_number);
  const c10::InferenceMode inference;
  bool opaque = false, reads_list = false;
  Invocation call = given;
  const bool swaps = options_.for_gpu && IsAutocast(call.schema->name());
  if (swaps) SwapDevicesOfAutocast(call.arguments);
  ResultTraits traits;
  traits.call = &call;
  if (call.schema->name() == "aten::slice" &&
      !std::all_of(call.arguments.begin(), call.arguments.end(),
                   [](const ProbedRef& a) { return IsUniform(*a); })) {
    auto sliced = ClampSlice(call);
    if (!sliced.ok()) return sliced.status();
    traits.sliced = *std::move(sliced);
  }
  for (const ProbedRef& argument : call.arguments) {
    opaque = opaque || HasOpaque(*argument);
    traits.tainted = traits.tainted || IsTainted(*argument);
    CollectTensors(argument, traits.tensors);
    CollectOpaqueTensors(argument, traits.opaque_tensors);
    if (argument->is_list_of_known) {
      reads_list = true;
      traits.sources.insert(traits.sources.end(), argument->type.sizes.begin(),
                            argument->type.sizes.end());
    }
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
  for (const std::vector<ProbedRef>* tensors :
       {&traits.tensors, &traits.opaque_tensors}) {
    for (const ProbedRef& tensor : *tensors) {
      traits.sources.insert(traits.sources.end(), tensor->type.sizes.begin(),
                            tensor->type.sizes.end());
    }
  }
  const bool uniform =
      std::all_of(call.arguments.begin(), call.arguments.end(),
                  [](const ProbedRef& a) { return IsUniform(*a); });
  traits.uniform_arguments = uniform;
  if (!opaque && !uniform && !call.arguments.empty() &&
      call.arguments[0]->IsTensor() &&
      (IsSplit(call.schema->name()) || call.schema->name() == "aten::unbind") &&
      !HasDataDependentSizes(*call.schema, call.arguments)) {
    return EmitSlices(call);
  }
  if (!uniform && !call.arguments.empty() && call.arguments[0]->IsTensor() &&
      call.arguments[0]->has_type) {
    AITUNE_ASSIGN_OR_RETURN(const bool speaks_of_memory, SpeaksOfMemory(call));
    if (speaks_of_memory) return EmitStridedView(call);
  }

  std::string must_fall_back;
  const bool query = IsMetadataQuery(*call.schema);
  const bool varies =
      opaque &&
      std::any_of(call.arguments.begin(), call.arguments.end(),
                  [](const ProbedRef& a) { return HasVaryingType(*a); });
  const bool has_sizes = std::none_of(
      call.arguments.begin(), call.arguments.end(),
      [](const ProbedRef& argument) { return HasUnknownSizes(*argument); });
  if (query && (!opaque || (IsTypeQuery(*call.schema) && !varies) ||
                (IsSizeQuery(*call.schema) && has_sizes))) {
    traits.tainted = false;
    opaque = false;
  }
  if (IsRandom(*call.schema, call.arguments)) {
    must_fall_back = "it draws random numbers";
    traits.tainted = true;
  }
  if (MayOverflow(call))
    must_fall_back = "its number, of sizes, may be beyond the dtype";
  if (traits.tainted && HasDataDependentSizes(*call.schema, call.arguments)) {
    traits.opaque = "its size depends on data";
  } else if (opaque) {
    must_fall_back =
        has_sizes && !reads_list ? kUntypedArgument : kUnknownResult;
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
    const bool like_self =
        KeepsSizesOfSelf(*call.schema) && !HasOpaque(*call.arguments[0]);
    if (!has_sizes && !like_self &&
        (!only_scalars || call.schema->name() == "aten::arange"))
      traits.opaque = kUnknownResult;
  }
  traits.strides = SizeDivisors(*call.schema, call.arguments);
  if (!call.arguments.empty() && call.arguments[0]->IsTensor() &&
      call.arguments[0]->has_type) {
    if (IsReshape(call.schema->name()))
      AddElementCounts(call.arguments, traits.sources, traits.strides);
    if (call.schema->name() == "aten::flatten")
      AddProducts(call.arguments[0]->type.sizes, traits.sources);
  }

  AITUNE_ASSIGN_OR_RETURN(std::vector<std::vector<c10::IValue>> executed,
                          Execute(call));
  if (!uniform && !opaque) traits.known_shapes = FindKnownShapes(call);

  const bool derived = !uniform && !traits.tainted && !opaque &&
                       !region_.ranges().empty() && !IsTypeQuery(*call.schema);
  std::vector<SizeFunctionRef> functions(call.result_count);
  if (derived) {
    functions = ResultFunctions(call);
    for (size_t i = 0; i < call.result_count; ++i) {
      if (functions[i] == nullptr || !executed.at(0)[i].isList() ||
          IsSizeQuery(*call.schema))
        continue;
      AITUNE_RETURN_IF_ERROR(SettleLength(functions[i]));
    }
  }

  // Recipes are needed where an operator may be recorded, and for views.
  const bool may_emit = traits.tainted || (!uniform && !query);
  bool gives_tensors = false;
  for (const c10::IValue& result : executed.at(0))
    gives_tensors |=
        !result.isNone() && (result.isTensor() || result.isTensorList());
  if (may_emit && (traits.tainted || gives_tensors)) {
    traits.emit = true;
  }
  if (traits.emit && !opaque && traits.opaque.empty() &&
      call.result_count == 1 && ViewsState(call, executed.at(0)[0])) {
    traits.emit = false;
    traits.derived_later = true;
  }
  const bool is_view = gives_tensors && !traits.emit;
  const bool gathers = traits.emit && GathersFromState(call);
  TracedStorage* const gathered =
      gathers ? call.arguments[0]->storage.get() : nullptr;
  const bool is_overwritten =
      gathers && gathered->overwritten->count(gathered->version) > 0;
  if (traits.emit || is_view) {
    const int64_t read_before = gathers ? gathered->read_elements : 0;
    for (size_t i = 0; i < call.arguments.size(); ++i) {
      // A view's self is filled in when it is derived anew.
      const bool fill_in_later =
          i == 0 &&
          (is_overwritten || (is_view && call.arguments[i]->IsTensor()));
      AITUNE_ASSIGN_OR_RETURN(
          ArgumentTemplate recipe,
          fill_in_later ? ArgumentTemplate() : ToTemplate(call.arguments[i]));
      traits.templates.push_back(std::move(recipe));
    }
    // Of what it is given, it reads no more than it gives.
    if (gathers)
      gathered->read_elements =
          read_before + executed.at(0)[0].toTensor().numel();
  }

  Results results;
  std::vector<ResultTemplate> templates;
  for (size_t i = 0; i < call.result_count; ++i) {
    std::vector<c10::IValue> probes;
    for (const std::vector<c10::IValue>& probe : executed)
      probes.push_back(probe[i]);
    traits.result = i;
    AITUNE_ASSIGN_OR_RETURN(
        ProbedRef result,
        Convert(std::move(probes), traits, &templates.emplace_back()));
    for (const ProbedRef& argument : call.arguments)
      InheritSharing(*argument, *result);
    if (result->kind == Kind::kOpaque) {
      result->of_varying_type =
          varies || HasDataDependentType(*call.schema, call.arguments);
    }
    results.push_back(std::move(result));
  }
  if (!uniform && results.size() == 1) {
    AITUNE_RETURN_IF_ERROR(CheckView(call, *results[0]));
    NotePossibleView(call, *results[0]);
  }
  for (size_t i = 0; derived && i < results.size(); ++i) {
    if (std::find(call.arguments.begin(), call.arguments.end(), results[i]) ==
        call.arguments.end())
      MarkDerived(results[i], functions[i]);
  }
  AITUNE_RETURN_IF_ERROR(InferSizes(call, results));
  if (!uniform && gives_tensors) {
    std::vector<ProbedRef> tensors;
    for (const ProbedRef& result : results) CollectTensors(result, tensors);
    std::vector<std::vector<SizeExpression>> expected;
    bool typed = std::none_of(
        results.begin(), results.end(),
        [](const ProbedRef& result) { return HasOpaque(*result); });
    for (const ProbedRef& tensor : tensors) {
      typed = typed && tensor->has_type;
      expected.push_back(tensor->type.sizes);
    }
    if (typed) {
      AITUNE_RETURN_IF_ERROR(CheckSizes(call, expected));
    }
  }

  const std::vector<ValueId> made = Flatten(templates);
  if (!traits.emit ||
      std::all_of(made.begin(), made.end(), [](ValueId id) { return id < 0; }))
    return results;
  if (is_overwritten) {
    AddGather(call, std::move(traits.templates), std::move(templates));
    return results;
  }
  Call emitted;
  emitted.schema = call.schema;
  emitted.run = call.run;
  emitted.arguments = std::move(traits.templates);
  // Run by LibTorch, it is called as the program calls it.
  if (swaps) SwapDevicesOfAutocast(emitted.arguments);
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
  // Autocast's casts, as any other.
  if (IsAutocast(call.schema->name()) && results[0]->IsTensor() &&
      emitted.arguments[0].kind == ArgumentTemplate::Kind::kValue) {
    const ValueId cast = builder_.AddFunctionalCall(
        "aten::to", "dtype",
        {emitted.arguments[0], ArgumentTemplate::Fixed(static_cast<int64_t>(
                                   ToScalarType(results[0]->type.dtype)))},
        results[0]->type);
    results[0]->id = cast;
    results[0]->storage->base = cast;
    return results;
  }
  if (call.schema->is_vararg()) {
    if (TakesArgumentCount(*call.schema)) {
      emitted.arguments.push_back(
          ArgumentTemplate::Fixed(static_cast<int64_t>(call.arguments.size())));
    }
    builder_.AddRegion(call.schema->name(), {emitted.run, nullptr},
                       std::move(emitted.arguments), std::move(templates),
                       emitted.must_fall_back, /*has_side_effects=*/false);
  } else {
    builder_.AddCall(std::move(emitted), std::move(templates));
  }
  return results;
}

}  // namespace aitune::frontend
