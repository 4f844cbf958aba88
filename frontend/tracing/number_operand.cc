// Numbers that depend on sizes and have no formula as integers (n ** -0.5,
// math.log(n), n / 2), as operands of arithmetic on elements: tensors without
// axes that LibTorch computes in each call, so that one trace serves all sizes.
#include <ATen/Dispatch.h>
#include <ATen/Functions.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/operator_name.h>
#include <c10/core/DefaultDtype.h>
#include <c10/util/TypeCast.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "frontend/tracing/interpreter.h"
#include "frontend/tracing/operator_traits.h"
#include "frontend/values/torch_util.h"
#include "runtime/status/status_macros.h"

namespace aitune::frontend {
namespace {

using Kind = ProbedValue::Kind;

constexpr char kNumber[] = "it is a number that depends on sizes";

// Of how many sizes a number is looked at; of more, it may be anything.
constexpr size_t kMostSizes = 4096;

// An operator of elements and numbers, and the one that takes tensors for
// these.
struct NumberOperator {
  enum class Dtype {
    // Of 16 bits LibTorch computes in float32, and rounds the number to that.
    kWide,
    kOwn,        // that of the elements, to which the number is rounded
    kOwnFloat,   // the same, of floats alone
    kFullFloat,  // the same, of no less than 32 bits
  };
  size_t elements;  // the argument that decides the dtype
  std::vector<size_t> numbers;
  Dtype dtype;
  const char* with_tensors;  // overload
};

// Null where there is none.
const NumberOperator* FindOperator(const c10::FunctionSchema& schema) {
  using Dtype = NumberOperator::Dtype;
  // By name and overload.
  static const auto* const operators =
      new std::unordered_map<c10::OperatorName, NumberOperator>{
          {{"aten::add", "Scalar"}, {0, {1}, Dtype::kWide, "Tensor"}},
          {{"aten::sub", "Scalar"}, {0, {1}, Dtype::kWide, "Tensor"}},
          {{"aten::mul", "Scalar"}, {0, {1}, Dtype::kWide, "Tensor"}},
          {{"aten::div", "Scalar"}, {0, {1}, Dtype::kWide, "Tensor"}},
          {{"aten::floor_divide", "Scalar"}, {0, {1}, Dtype::kWide, ""}},
          {{"aten::remainder", "Scalar"}, {0, {1}, Dtype::kOwn, "Tensor"}},
          {{"aten::fmod", "Scalar"}, {0, {1}, Dtype::kOwn, "Tensor"}},
          {{"aten::pow", "Scalar"}, {1, {0}, Dtype::kOwn, "Tensor_Tensor"}},
          {{"aten::lt", "Scalar"}, {0, {1}, Dtype::kOwn, "Tensor"}},
          {{"aten::le", "Scalar"}, {0, {1}, Dtype::kOwn, "Tensor"}},
          {{"aten::gt", "Scalar"}, {0, {1}, Dtype::kOwn, "Tensor"}},
          {{"aten::ge", "Scalar"}, {0, {1}, Dtype::kOwn, "Tensor"}},
          {{"aten::eq", "Scalar"}, {0, {1}, Dtype::kOwn, "Tensor"}},
          {{"aten::ne", "Scalar"}, {0, {1}, Dtype::kOwn, "Tensor"}},
          {{"aten::where", "ScalarOther"}, {1, {2}, Dtype::kOwn, "self"}},
          {{"aten::where", "ScalarSelf"}, {2, {1}, Dtype::kOwn, "self"}},
          {{"aten::clamp", ""}, {0, {1, 2}, Dtype::kOwnFloat, "Tensor"}},
          {{"aten::clamp_min", ""}, {0, {1}, Dtype::kOwnFloat, "Tensor"}},
          {{"aten::clamp_max", ""}, {0, {1}, Dtype::kOwnFloat, "Tensor"}},
          {{"aten::fill", "Scalar"}, {0, {1}, Dtype::kOwnFloat, "Tensor"}},
          {{"aten::masked_fill", "Scalar"},
           {0, {2}, Dtype::kOwnFloat, "Tensor"}},
          {{"aten::lerp", "Scalar"}, {0, {2}, Dtype::kFullFloat, "Tensor"}},
      };
  const auto found = operators->find(schema.operator_name());
  return found == operators->end() ? nullptr : &found->second;
}

bool IsNarrow(at::ScalarType type) {
  return type == at::kHalf || type == at::kBFloat16;
}

// The dtype in which `known` computes on `elements` and tensors in place of
// numbers; not set where it cannot.
std::optional<at::ScalarType> ComputedIn(const NumberOperator& known,
                                         const c10::FunctionSchema& schema,
                                         const ProbedValue& elements) {
  using Dtype = NumberOperator::Dtype;
  if (!elements.IsTensor() || !elements.has_type) return std::nullopt;
  // Which eager refuses.
  if (elements.type.dtype == DataType::kBool && schema.name() == "aten::sub")
    return std::nullopt;
  if (!elements.tensor().is_floating_point()) {
    if (known.dtype == Dtype::kOwnFloat || known.dtype == Dtype::kFullFloat)
      return std::nullopt;
    // Integers and a number make the default dtype.
    return c10::typeMetaToScalarType(c10::get_default_dtype());
  }
  const at::ScalarType type = ToScalarType(elements.type.dtype);
  if (!IsNarrow(type)) return type;
  if (known.dtype == Dtype::kFullFloat) return std::nullopt;
  return known.dtype == Dtype::kWide ? at::kFloat : type;
}

// The place of the number that becomes the elements of a new tensor.
std::optional<size_t> FilledBy(const c10::FunctionSchema& schema) {
  static const auto* const places = new std::unordered_map<std::string, size_t>{
      {"aten::full", 1},   {"aten::full_like", 1},     {"aten::new_full", 2},
      {"aten::tensor", 0}, {"aten::scalar_tensor", 0},
  };
  const auto found = places->find(schema.name());
  if (found == places->end() ||
      (schema.name() == "aten::tensor" && schema.overload_name() != "float"))
    return std::nullopt;
  return found->second;
}

// The dtype of the new tensor if it is filled with a float, or is given one;
// not set where it is not known before the call.
std::optional<at::ScalarType> FilledDtype(
    const c10::FunctionSchema& schema,
    const std::vector<ProbedRef>& arguments) {
  const std::optional<size_t> place = FindArgument(schema, "dtype");
  if (!place || *place >= arguments.size()) return std::nullopt;
  const ProbedValue& dtype = *arguments[*place];
  if (dtype.kind != Kind::kPlain || !dtype.uniform) return std::nullopt;
  if (dtype.probes[0].isInt())
    return static_cast<at::ScalarType>(dtype.probes[0].toInt());
  if (!dtype.probes[0].isNone()) return std::nullopt;
  if (schema.name() != "aten::full_like" && schema.name() != "aten::new_full")
    return c10::typeMetaToScalarType(c10::get_default_dtype());
  const ProbedValue& like = *arguments[0];
  if (!like.IsTensor() || !like.has_type) return std::nullopt;
  return ToScalarType(like.type.dtype);
}

// The place of the number that elements of a tensor become, and the dtype of
// these, where eager raises for a number beyond it.
std::optional<std::pair<size_t, at::ScalarType>> StoredNumber(
    const c10::FunctionSchema& schema,
    const std::vector<ProbedRef>& arguments) {
  if (const std::optional<size_t> place = FilledBy(schema)) {
    const std::optional<at::ScalarType> dtype = FilledDtype(schema, arguments);
    if (!dtype) return std::nullopt;
    return std::make_pair(*place, *dtype);
  }
  const bool fills =
      schema.name() == "aten::fill" && schema.overload_name() == "Scalar";
  const bool masks = schema.name() == "aten::masked_fill" &&
                     schema.overload_name() == "Scalar";
  if ((!fills && !masks) || !arguments[0]->IsTensor() ||
      !arguments[0]->has_type)
    return std::nullopt;
  return std::make_pair(fills ? size_t{1} : size_t{2},
                        ToScalarType(arguments[0]->type.dtype));
}

// Whether eager raises for the number as an element of this integer dtype.
bool Overflows(int64_t number, at::ScalarType dtype) {
  return AT_DISPATCH_INTEGRAL_TYPES(dtype, "a number of sizes", [&] {
    return c10::overflows<scalar_t, int64_t>(number);
  });
}

// The value of `function` where symbol symbols[i] has the size stack[i]. The
// symbols are ascending, and there are some.
double ValueOf(const SizeFunctionRef& function, const std::vector<int>& symbols,
               const std::vector<c10::IValue>& stack) {
  std::vector<int64_t> point(static_cast<size_t>(symbols.back()) + 1, 0);
  for (size_t i = 0; i < symbols.size(); ++i)
    point[static_cast<size_t>(symbols[i])] = stack.at(i).toInt();
  const absl::StatusOr<c10::IValue> value =
      SizeEvaluator(point, /*real=*/true).Evaluate(function);
  if (!value.ok())
    throw std::runtime_error(std::string(value.status().message()));
  return value->toScalar().toDouble();
}

RecordedFunction GivesNumber(const SizeFunctionRef& function,
                             at::ScalarType type, const c10::Device& device) {
  return [function, symbols = function->symbols, type,
          device](std::vector<c10::IValue>& stack) {
    const double value = ValueOf(function, symbols, stack);
    // Filled where it is: a copy to a GPU can't be recorded. Numbers beyond the
    // dtype's become infinite, as LibTorch's operands do.
    stack = {at::full({}, value,
                      at::TensorOptions().dtype(at::kDouble).device(device))
                 .to(type)};
  };
}

}  // namespace

ProbedRef Interpreter::NumberAsTensor(const ProbedRef& number,
                                      const SizeFunctionRef& function,
                                      at::ScalarType type) {
  auto& [kept, tensor] = numbers_[{function->Describe(), type}];
  if (tensor != nullptr) return tensor;
  kept = function;
  tensor = std::make_shared<ProbedValue>();
  tensor->kind = Kind::kTensor;
  for (const c10::IValue& probe : number->probes) {
    tensor->probes.emplace_back(
        at::scalar_tensor(probe.toScalar(), at::TensorOptions(at::kDouble))
            .to(type));
  }
  tensor->type.dtype = *FromScalarType(type);
  tensor->has_type = true;
  tensor->id = builder_.AddTensor(tensor->type);
  functionalizer_.OwnStorage(tensor, /*tainted=*/false, /*constant=*/false, "");
  // The program may make a size of it again.
  std::vector<SizeFunctionRef> arguments(5, SizeFunction::Fixed(c10::IValue()));
  arguments[0] = function;
  arguments[1] = SizeFunction::Fixed(static_cast<int64_t>(type));
  MarkDerived(tensor,
              SizeFunction::Call(c10::Dispatcher::singleton().findSchemaOrThrow(
                                     "aten::scalar_tensor", ""),
                                 std::move(arguments)));
  std::vector<ArgumentTemplate> recipes;
  for (const int symbol : function->symbols)
    recipes.push_back(ArgumentTemplate::Size(SizeExpression::Symbol(symbol)));
  ResultTemplate result;
  result.value = tensor->id;
  RecordedProgram program;
  program.run = GivesNumber(function, type, c10::Device(c10::kCPU));
  program.on_device = [function, type](c10::Device device) {
    return GivesNumber(function, type, device);
  };
  builder_.AddRegion("aitune::number", std::move(program), std::move(recipes),
                     {result}, kNumber, /*has_side_effects=*/false);
  return tensor;
}

SizeFunctionRef Interpreter::NumberOfSizes(const ProbedRef& number,
                                           bool takes_integers) {
  if (number->kind != Kind::kPlain || number->uniform) return nullptr;
  const bool is_number = std::all_of(
      number->probes.begin(), number->probes.end(),
      [&](const c10::IValue& probe) {
        return probe.isDouble() || (takes_integers && probe.isInt());
      });
  if (!is_number) return nullptr;
  SizeFunctionRef function = FunctionOf(number);
  if (function == nullptr || function->symbols.empty() || SizeOf(number))
    return nullptr;
  return function;
}

absl::StatusOr<Interpreter::Results> Interpreter::InvokeOperator(
    const char* name, const char* overload, std::vector<ProbedRef> arguments) {
  const c10::OperatorHandle handle =
      c10::Dispatcher::singleton().findSchemaOrThrow(name, overload);
  Invocation call;
  call.schema = &handle.schema();
  call.run = [handle](std::vector<c10::IValue>& stack) {
    handle.callBoxed(stack);
  };
  call.arguments = std::move(arguments);
  call.result_count = 1;
  return Invoke(call);
}

ProbedRef Interpreter::Everywhere(const c10::IValue& value) {
  return MakePlain(std::vector<c10::IValue>(fitter_.probes().size(), value));
}

absl::StatusOr<ProbedRef> Interpreter::Converted(const ProbedRef& tensor,
                                                 at::ScalarType type) {
  AITUNE_ASSIGN_OR_RETURN(
      const Results converted,
      InvokeOperator(
          "aten::to", "dtype",
          {tensor, Everywhere(static_cast<int64_t>(type)), Everywhere(false),
           Everywhere(false), Everywhere(c10::IValue())}));
  return converted.at(0);
}

bool Interpreter::HasNumberOfSizes(const Invocation& call,
                                   const std::vector<size_t>& places,
                                   bool takes_integers) {
  bool any = false;
  for (const size_t place : places) {
    const ProbedRef& number = call.arguments.at(place);
    if (number->kind != Kind::kPlain) return false;
    if (NumberOfSizes(number, takes_integers) != nullptr)
      any = true;
    else if (!IsUniform(*number))
      return false;
  }
  return any;
}

absl::StatusOr<ProbedRef> Interpreter::NumberOperand(const ProbedRef& number,
                                                     at::ScalarType type) {
  if (const SizeFunctionRef function =
          NumberOfSizes(number, /*takes_integers=*/true))
    return NumberAsTensor(number, function, type);
  AITUNE_ASSIGN_OR_RETURN(
      const Results constant,
      InvokeOperator("aten::scalar_tensor", "",
                     {number, Everywhere(static_cast<int64_t>(type)),
                      Everywhere(c10::IValue()), Everywhere(c10::IValue()),
                      Everywhere(c10::IValue())}));
  return constant.at(0);
}

bool Interpreter::MayOverflow(const Invocation& call) {
  const auto stored = StoredNumber(*call.schema, call.arguments);
  if (!stored) return false;
  const at::ScalarType dtype = stored->second;
  const ProbedRef& number = call.arguments.at(stored->first);
  if (!at::isIntegralType(dtype, /*includeBool=*/false) || dtype == at::kLong ||
      number->kind != Kind::kPlain || !number->probes[0].isInt() ||
      IsUniform(*number))
    return false;
  const SizeFunctionRef function = FunctionOf(number);
  if (function == nullptr) return true;
  bool complete = false;
  const std::vector<SizePoint> points =
      region_.Points(function->symbols, kMostSizes, &complete);
  return !complete ||
         std::any_of(points.begin(), points.end(), [&](const SizePoint& point) {
           const absl::StatusOr<c10::IValue> value =
               SizeEvaluator(point, /*real=*/true).Evaluate(function);
           return !value.ok() || !value->isInt() ||
                  Overflows(value->toInt(), dtype);
         });
}

absl::StatusOr<std::optional<Interpreter::Results>> Interpreter::InvokeOnNumber(
    const Invocation& call) {
  using Optional = std::optional<Results>;
  if (FilledBy(*call.schema)) return FillWithNumber(call);
  const NumberOperator* const known = FindOperator(*call.schema);
  if (known == nullptr) return InvokeOnAlpha(call);
  const ProbedRef& elements = call.arguments.at(known->elements);
  const std::optional<at::ScalarType> computed =
      ComputedIn(*known, *call.schema, *elements);
  if (!computed) return Optional();
  const bool is_integral = !elements->tensor().is_floating_point();
  if (!HasNumberOfSizes(call, known->numbers, /*takes_integers=*/!is_integral))
    return Optional();

  const at::ScalarType type = ToScalarType(elements->type.dtype);
  std::vector<ProbedRef> arguments = call.arguments;
  if (*computed != type) {
    AITUNE_ASSIGN_OR_RETURN(arguments[known->elements],
                            Converted(elements, *computed));
  }
  for (const size_t place : known->numbers) {
    ProbedRef& number = arguments[place];
    if (number->probes[0].isNone()) continue;
    AITUNE_ASSIGN_OR_RETURN(number, NumberOperand(number, *computed));
  }
  AITUNE_ASSIGN_OR_RETURN(
      Results results,
      InvokeOperator(call.schema->name().c_str(), known->with_tensors,
                     std::move(arguments)));
  if (*computed != type && !is_integral) {
    AITUNE_ASSIGN_OR_RETURN(results[0], Converted(results.at(0), type));
  }
  return Optional(std::move(results));
}

// Of tensors of ones, as a product with 1 is the number itself.
absl::StatusOr<std::optional<Interpreter::Results>> Interpreter::FillWithNumber(
    const Invocation& call) {
  const size_t place = *FilledBy(*call.schema);
  const SizeFunctionRef function =
      NumberOfSizes(call.arguments.at(place), /*takes_integers=*/false);
  if (function == nullptr) return std::optional<Results>();
  const std::optional<at::ScalarType> dtype =
      FilledDtype(*call.schema, call.arguments);
  if (dtype && at::isIntegralType(*dtype, /*includeBool=*/true))
    return std::optional<Results>();
  Invocation ones = call;
  ones.arguments[place] = Everywhere(1.0);
  AITUNE_ASSIGN_OR_RETURN(const Results filled, Invoke(ones));
  const ProbedRef& tensor = filled.at(0);
  const at::ScalarType type = ToScalarType(tensor->type.dtype);
  if (!at::isFloatingType(type)) return std::optional<Results>();
  // LibTorch makes aten::tensor in the default dtype first.
  const at::ScalarType first =
      call.schema->name() == "aten::tensor" && type == at::kDouble
          ? c10::typeMetaToScalarType(c10::get_default_dtype())
          : type;
  const ProbedRef number =
      NumberAsTensor(call.arguments[place], function, first);
  AITUNE_ASSIGN_OR_RETURN(
      Results results, InvokeOperator("aten::mul", "Tensor", {tensor, number}));
  return std::optional<Results>(std::move(results));
}

absl::StatusOr<std::optional<Interpreter::Results>> Interpreter::InvokeOnAlpha(
    const Invocation& call) {
  using Optional = std::optional<Results>;
  const std::string& name = call.schema->name();
  if ((name != "aten::add" && name != "aten::sub") ||
      call.schema->overload_name() != "Tensor")
    return Optional();
  const ProbedRef &self = call.arguments.at(0), &other = call.arguments.at(1),
                  &alpha = call.arguments.at(2);
  const auto is_full = [](const ProbedRef& operand) {
    return operand->IsTensor() && operand->has_type &&
           operand->tensor().is_floating_point() &&
           !IsNarrow(operand->tensor().scalar_type());
  };
  if (!is_full(self) || !is_full(other) ||
      NumberOfSizes(alpha, /*takes_integers=*/true) == nullptr)
    return Optional();
  AITUNE_ASSIGN_OR_RETURN(
      const Results product,
      InvokeOperator("aten::mul", "Scalar", {other, alpha}));
  AITUNE_ASSIGN_OR_RETURN(
      Results results,
      InvokeOperator(name.c_str(), "Tensor",
                     {self, product.at(0), Everywhere(int64_t{1})}));
  return Optional(std::move(results));
}

}  // namespace aitune::frontend
