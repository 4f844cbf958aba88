// Numbers that depend on sizes and have no formula as integers (n ** -0.5,
// math.log(n), n / 2), as operands of arithmetic on elements: tensors without
// axes that LibTorch computes in each call, so that one trace serves all sizes.
#include <ATen/Functions.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <c10/core/DefaultDtype.h>

#include <algorithm>
#include <memory>
#include <set>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "frontend/tracing/interpreter.h"
#include "frontend/values/torch_util.h"
#include "runtime/status/status_macros.h"

namespace aitune::frontend {
namespace {

using Kind = ProbedValue::Kind;

constexpr char kNumber[] = "it is a number that depends on sizes";

// The value of `function` where symbol symbols[i] has the size stack[i].
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
                             const c10::Device& device) {
  return [function, symbols = function->symbols,
          device](std::vector<c10::IValue>& stack) {
    const double value = ValueOf(function, symbols, stack);
    // Filled where it is: a copy to a GPU can't be recorded.
    stack = {at::full({}, value,
                      at::TensorOptions().dtype(at::kDouble).device(device))};
  };
}

}  // namespace

ProbedRef Interpreter::NumberAsTensor(const ProbedRef& number,
                                      const SizeFunctionRef& function) {
  auto& [kept, tensor] = numbers_[function->Describe()];
  if (tensor != nullptr) return tensor;
  kept = function;
  tensor = std::make_shared<ProbedValue>();
  tensor->kind = Kind::kTensor;
  for (const c10::IValue& probe : number->probes) {
    tensor->probes.emplace_back(
        at::scalar_tensor(probe.toScalar(), at::TensorOptions(at::kDouble)));
  }
  tensor->type.dtype = DataType::kFloat64;
  tensor->has_type = true;
  tensor->id = builder_.AddTensor(tensor->type);
  functionalizer_.OwnStorage(tensor, /*tainted=*/false, /*constant=*/false, "");
  std::vector<ArgumentTemplate> recipes;
  for (const int symbol : function->symbols)
    recipes.push_back(ArgumentTemplate::Size(SizeExpression::Symbol(symbol)));
  ResultTemplate result;
  result.value = tensor->id;
  RecordedProgram program;
  program.run = GivesNumber(function, c10::Device(c10::kCPU));
  program.on_device = [function](c10::Device device) {
    return GivesNumber(function, device);
  };
  builder_.AddRegion("aitune::number", std::move(program), std::move(recipes),
                     {result}, kNumber, /*has_side_effects=*/false);
  return tensor;
}

absl::StatusOr<std::optional<Interpreter::Results>> Interpreter::InvokeOnNumber(
    const Invocation& call) {
  using Optional = std::optional<Results>;
  static const auto* const names = new std::set<std::string>{
      "aten::add", "aten::div", "aten::mul", "aten::sub"};
  const std::string& name = call.schema->name();
  if (call.schema->overload_name() != "Scalar" || names->count(name) == 0 ||
      call.arguments.size() < 2)
    return Optional();
  const ProbedRef &self = call.arguments[0], &number = call.arguments[1];
  const auto all = [&](bool (c10::IValue::*is)() const) {
    return std::all_of(
        number->probes.begin(), number->probes.end(),
        [is](const c10::IValue& probe) { return (probe.*is)(); });
  };
  if (!self->IsTensor() || !self->has_type || number->kind != Kind::kPlain ||
      number->uniform ||
      // Which eager refuses.
      (self->type.dtype == DataType::kBool && name == "aten::sub"))
    return Optional();
  const bool is_integral = !self->tensor().is_floating_point();
  if (!all(&c10::IValue::isDouble) &&
      (is_integral || !all(&c10::IValue::isInt)))
    return Optional();
  const SizeFunctionRef function = FunctionOf(number);
  if (function == nullptr || function->symbols.empty() || SizeOf(number))
    return Optional();

  const auto invoke = [&](const char* operator_name, const char* overload,
                          std::vector<ProbedRef> arguments) {
    const c10::OperatorHandle handle =
        c10::Dispatcher::singleton().findSchemaOrThrow(operator_name, overload);
    Invocation other;
    other.schema = &handle.schema();
    other.run = [handle](std::vector<c10::IValue>& stack) {
      handle.callBoxed(stack);
    };
    other.arguments = std::move(arguments);
    other.result_count = 1;
    return Invoke(other);
  };
  const auto plain = [&](const c10::IValue& value) {
    return MakePlain(std::vector<c10::IValue>(fitter_.probes().size(), value));
  };
  const auto convert = [&](const ProbedRef& tensor, at::ScalarType type) {
    return invoke("aten::to", "dtype",
                  {tensor, plain(static_cast<int64_t>(type)), plain(false),
                   plain(false), plain(c10::IValue())});
  };
  // LibTorch computes with 16 bits in float32, and rounds the number to that.
  // Integers and a number make the default dtype.
  const at::ScalarType type = ToScalarType(self->type.dtype);
  const bool is_narrow = type == at::kHalf || type == at::kBFloat16;
  const at::ScalarType computed =
      is_narrow     ? at::kFloat
      : is_integral ? c10::typeMetaToScalarType(c10::get_default_dtype())
                    : type;
  std::vector<ProbedRef> arguments = call.arguments;
  if (computed != type) {
    AITUNE_ASSIGN_OR_RETURN(const Results converted, convert(self, computed));
    arguments[0] = converted.at(0);
  }
  arguments[1] = NumberAsTensor(number, function);
  // Beside a tensor without axes it would decide the dtype.
  if (self->type.sizes.empty() && computed != at::kDouble) {
    AITUNE_ASSIGN_OR_RETURN(const Results converted,
                            convert(arguments[1], computed));
    arguments[1] = converted.at(0);
  }
  AITUNE_ASSIGN_OR_RETURN(Results results,
                          invoke(name.c_str(), "Tensor", std::move(arguments)));
  if (is_narrow) {
    AITUNE_ASSIGN_OR_RETURN(results, convert(results.at(0), type));
  }
  return Optional(std::move(results));
}

}  // namespace aitune::frontend
