// Calls of operators with a schema: run in every probe, folded when they
// depend on no input, recorded otherwise.
#include "frontend/tracing/operator_call.h"

#include <c10/core/InferenceMode.h>

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "frontend/tracing/interpreter.h"
#include "frontend/tracing/operator_traits.h"
#include "runtime/status/status_macros.h"

namespace aitune::frontend {
namespace {

using Kind = ProbedValue::Kind;

// Operators that give a list of parts of their first argument.
bool GivesParts(const std::string& name) {
  static const auto* const kNames = new std::set<std::string>{
      "aten::split",        "aten::split_with_sizes",
      "aten::chunk",        "aten::tensor_split",
      "aten::unbind",       "aten::unsafe_chunk",
      "aten::unsafe_split", "aten::unsafe_split_with_sizes"};
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

// kUnimplemented for a call that changes what its schema does not name.
absl::Status CheckSideEffects(const Invocation& call) {
  if (WritesHidden(*call.schema, call.arguments))
    return absl::UnimplementedError(
        absl::StrCat(call.schema->name(),
                     " updates its running statistics; call eval() on the "
                     "model before exporting it if it should not"));
  if (call.schema->name() == "aten::manual_seed")
    return absl::UnimplementedError("it sets the seed of random numbers");
  return absl::OkStatus();
}

// Whether each opaque argument is a number that only scales the elements of
// tensors. Schemas that name no parameters, as prim::tolist's, don't say it.
bool OnlyScales(const OperatorCall& op) {
  const std::vector<c10::Argument>& parameters = op.call.schema->arguments();
  if (op.call.arguments.size() > parameters.size()) return false;
  for (size_t i = 0; i < op.call.arguments.size(); ++i) {
    const ProbedValue& argument = *op.call.arguments[i];
    if (!HasOpaque(argument)) continue;
    const c10::TypeKind type = parameters[i].type()->kind();
    if (argument.kind != Kind::kOpaque || op.traits.tensors.empty() ||
        (type != c10::TypeKind::NumberType && type != c10::TypeKind::FloatType))
      return false;
  }
  return true;
}

bool IsList(const c10::Argument& result) {
  return result.type()->kind() == c10::TypeKind::ListType;
}

// Whether a number among the arguments, of these the first `from` left out,
// depends on elements of tensors.
bool AnyDependsOnData(const std::vector<ProbedRef>& arguments, size_t from) {
  return std::any_of(arguments.begin() + from, arguments.end(),
                     [](const ProbedRef& argument) {
                       return IsTainted(*argument) || HasOpaque(*argument);
                     });
}

// Of aten::cat the axis that it joins tensors along, and the sum of their
// sizes.
std::optional<std::pair<int64_t, SizeExpression>> JoinedAxis(
    const Invocation& call) {
  if (call.schema->name() != "aten::cat" || call.arguments[0]->elements.empty())
    return std::nullopt;
  const std::vector<ProbedRef>& parts = call.arguments[0]->elements;
  const ProbedValue& dim = *call.arguments[1];
  if (!dim.uniform || !dim.probes[0].isInt()) return std::nullopt;
  const auto rank = static_cast<int64_t>(parts[0]->type.sizes.size());
  int64_t axis = dim.probes[0].toInt();
  if (axis < 0) axis += rank;
  SizeExpression sum;
  for (const ProbedRef& part : parts) {
    const std::vector<SizeExpression>* const sizes = KnownSizes(*part);
    if (sizes == nullptr || static_cast<int64_t>(sizes->size()) != rank ||
        axis < 0 || axis >= rank)
      return std::nullopt;
    sum = sum + (*sizes)[static_cast<size_t>(axis)];
  }
  return std::pair(axis, sum);
}

}  // namespace

bool IsAutocast(const c10::FunctionSchema& schema) {
  return schema.name() == "aten::_autocast_to_reduced_precision" ||
         schema.name() == "aten::_autocast_to_full_precision";
}

absl::StatusOr<Interpreter::Results> Interpreter::Invoke(
    const Invocation& given) {
  if (WritesTensors(*given.schema)) return InvokeInPlace(given);
  AITUNE_RETURN_IF_ERROR(CheckSideEffects(given));
  AITUNE_ASSIGN_OR_RETURN(std::optional<Results> on_number,
                          InvokeOnNumber(given));
  if (on_number) return *std::move(on_number);
  const c10::InferenceMode inference;
  OperatorCall op(given);
  Invocation& call = op.call;
  op.swaps_devices = options_.for_gpu && IsAutocast(*call.schema);
  if (op.swaps_devices) SwapDevicesOfAutocast(call.arguments);
  if (call.schema->name() == "aten::select" &&
      call.schema->overload_name() == "int" && op.has_tensor_first() &&
      !AllUniform(call.arguments)) {
    AITUNE_RETURN_IF_ERROR(CheckSelection(call));
  }
  if (call.schema->name() == "aten::squeeze" && op.has_typed_tensor_first())
    AITUNE_RETURN_IF_ERROR(SettleSqueeze(call));
  if (call.schema->name() == "aten::diagonal" &&
      call.schema->overload_name().empty() && op.has_typed_tensor_first())
    AITUNE_RETURN_IF_ERROR(SettleDiagonal(call));
  if (call.schema->name() == "aten::slice" && !AllUniform(call.arguments)) {
    AITUNE_ASSIGN_OR_RETURN(op.traits.sliced, ClampSlice(call));
  }
  FindArgumentTraits(op);
  if (!op.opaque && !op.is_uniform() && op.has_tensor_first() &&
      GivesParts(call.schema->name()) &&
      !HasDataDependentSizes(*call.schema, call.arguments))
    return EmitSlices(call);
  if (!op.is_uniform() && op.has_typed_tensor_first()) {
    AITUNE_ASSIGN_OR_RETURN(const bool speaks_of_memory, SpeaksOfMemory(call));
    if (speaks_of_memory && !AnyDependsOnData(call.arguments, /*from=*/1))
      return EmitStridedView(call);
    if (speaks_of_memory)
      op.traits.opaque = "which elements it picks depends on data";
  }
  FindDependence(op);

  AITUNE_ASSIGN_OR_RETURN(op.executed, Execute(call));
  for (const c10::IValue& result : op.executed.at(0))
    op.gives_tensors |= result.isTensor() || result.isTensorList();
  if (!op.is_uniform()) op.traits.known_shapes = FindKnownShapes(call);
  AITUNE_RETURN_IF_ERROR(FindFunctions(op));
  AITUNE_RETURN_IF_ERROR(MakeRecipes(op));
  AITUNE_RETURN_IF_ERROR(ConvertResults(op));
  AITUNE_RETURN_IF_ERROR(CheckResults(op));
  RecordCall(op);
  return std::move(op.results);
}

void Interpreter::FindArgumentTraits(OperatorCall& op) {
  const Invocation& call = op.call;
  ResultTraits& traits = op.traits;
  const auto add_source = [&](const ProbedRef& value) {
    if (std::optional<SizeExpression> size = SizeOf(value);
        size && !size->constant())
      traits.sources.push_back(*size);
  };
  for (const ProbedRef& argument : call.arguments) {
    op.opaque = op.opaque || HasOpaque(*argument);
    op.varies = op.varies || HasVaryingType(*argument);
    traits.tainted = traits.tainted || IsTainted(*argument);
    CollectTensors(argument, traits.tensors);
    CollectOpaqueTensors(argument, traits.opaque_tensors);
    add_source(argument);
    if (argument->is_list_of_known)
      traits.sources.insert(traits.sources.end(), argument->type.sizes.begin(),
                            argument->type.sizes.end());
    for (const ProbedRef& element : argument->elements) add_source(element);
  }
  for (const std::vector<ProbedRef>* tensors :
       {&traits.tensors, &traits.opaque_tensors}) {
    for (const ProbedRef& tensor : *tensors) {
      traits.sources.insert(traits.sources.end(), tensor->type.sizes.begin(),
                            tensor->type.sizes.end());
    }
  }
  traits.uniform_arguments = AllUniform(call.arguments);
  FindToldSizes(op);
  traits.strides = SizeDivisors(*call.schema, call.arguments);
  if (!op.has_typed_tensor_first()) return;
  if (IsReshape(call.schema->name()))
    AddElementCounts(call.arguments, traits.sources, traits.strides);
  if (call.schema->name() == "aten::flatten")
    AddProducts(call.arguments[0]->type.sizes, traits.sources);
}

void Interpreter::FindToldSizes(OperatorCall& op) {
  static const auto* const kNewTensors = new std::map<std::string, size_t>{
      {"aten::full", 0},      {"aten::zeros", 0},    {"aten::ones", 0},
      {"aten::empty", 0},     {"aten::rand", 0},     {"aten::randn", 0},
      {"aten::new_zeros", 1}, {"aten::new_ones", 1}, {"aten::new_full", 1},
      {"aten::new_empty", 1}, {"aten::repeat", 1}};
  ResultTraits& traits = op.traits;
  if (traits.sliced) {
    const std::vector<SizeExpression>& sizes = op.call.arguments[0]->type.sizes;
    for (size_t axis = 0; axis < sizes.size(); ++axis)
      traits.told.emplace(static_cast<int64_t>(axis), sizes[axis]);
    traits.told[traits.sliced->first] = traits.sliced->second;
    return;
  }
  if (const auto joined = JoinedAxis(op.call))
    traits.told.emplace(joined->first, fitter_.Simplify(joined->second));
  const auto place = kNewTensors->find(op.call.schema->name());
  if (place == kNewTensors->end() || place->second >= op.call.arguments.size())
    return;
  const std::vector<ProbedRef>& told =
      op.call.arguments[place->second]->elements;
  const bool repeats = place->first == "aten::repeat";
  if (repeats && !op.has_typed_tensor_first()) return;
  // What is repeated has the last axes.
  const auto& sizes = op.call.arguments[0]->type.sizes;
  for (size_t axis = 0; axis < told.size(); ++axis) {
    std::optional<SizeExpression> size = SizeOf(told[axis]);
    if (!size) continue;
    if (repeats && axis + sizes.size() >= told.size())
      size = fitter_.Simplify(*size * sizes[axis + sizes.size() - told.size()]);
    traits.told.emplace(static_cast<int64_t>(axis), *size);
  }
}

void Interpreter::FindDependence(OperatorCall& op) {
  const Invocation& call = op.call;
  const c10::FunctionSchema& schema = *call.schema;
  ResultTraits& traits = op.traits;
  const bool has_sizes = std::none_of(
      call.arguments.begin(), call.arguments.end(),
      [](const ProbedRef& argument) { return HasUnknownSizes(*argument); });
  if (IsMetadataQuery(schema) &&
      (!op.opaque || (IsTypeQuery(schema) && !op.varies) ||
       (IsSizeQuery(schema) && has_sizes))) {
    traits.tainted = false;
    op.opaque = false;
  }
  if (IsRandom(schema, call.arguments)) {
    op.must_fall_back = "it draws random numbers";
    traits.tainted = true;
  }
  if (MayOverflow(call))
    op.must_fall_back = "its number, of sizes, may be beyond the dtype";
  if (traits.tainted && HasDataDependentSizes(schema, call.arguments)) {
    traits.opaque = "its size depends on data";
  } else if (op.opaque) {
    const bool reads_list = std::any_of(
        call.arguments.begin(), call.arguments.end(),
        [](const ProbedRef& argument) { return argument->is_list_of_known; });
    op.must_fall_back =
        has_sizes && !reads_list ? kUntypedArgument : kUnknownResult;
    // How many tensors it holds may follow from sizes.
    if (reads_list &&
        std::any_of(schema.returns().begin(), schema.returns().end(), IsList))
      traits.opaque = kUnknownResult;
    const bool like_self =
        KeepsSizesOfSelf(schema) && !HasOpaque(*call.arguments[0]);
    // A number that only scales elements leaves the sizes known.
    if (!has_sizes && !like_self &&
        (!OnlyScales(op) || schema.name() == "aten::arange"))
      traits.opaque = kUnknownResult;
  }
}

absl::Status Interpreter::FindFunctions(OperatorCall& op) {
  const Invocation& call = op.call;
  if (op.is_uniform() || op.traits.tainted || op.opaque ||
      region_.ranges().empty() || IsTypeQuery(*call.schema))
    return absl::OkStatus();
  op.functions = ResultFunctions(call);
  if (IsSizeQuery(*call.schema)) return absl::OkStatus();
  for (size_t i = 0; i < op.functions.size(); ++i) {
    if (op.functions[i] != nullptr && op.executed.at(0)[i].isList())
      AITUNE_RETURN_IF_ERROR(SettleLength(op.functions[i]));
  }
  return absl::OkStatus();
}

}  // namespace aitune::frontend
