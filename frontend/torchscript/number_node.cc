// Integers that stand for sizes: which formula each one is.
//
// TorchScript computes sizes with ordinary integers (scripted) or with tensors
// of rank 0 (traced). Both are followed symbolically where the operator is
// arithmetic, and fitted from their values otherwise.
#include <string>
#include <utility>

#include "frontend/torchscript/interpreter.h"

namespace aitune::frontend {
namespace {

using Kind = ProbedValue::Kind;

// The formula of arithmetic on formulas; nothing for other operators.
std::optional<SizeExpression> Arithmetic(
    const std::string& name, const std::vector<SizeExpression>& operands) {
  using Operation = SizeExpression::Kind;
  if (operands.empty()) return std::nullopt;
  const SizeExpression& a = operands[0];
  if (name == "prim::NumToTensor" || name == "aten::Int" ||
      name == "aten::IntImplicit" || name == "aten::item" ||
      name == "aten::ScalarImplicit" || name == "aten::scalar_tensor" ||
      name == "aten::tensor" || name == "aten::detach") {
    return a;
  }
  if (name == "aten::neg") return a * -1;
  if (operands.size() < 2) return std::nullopt;
  const SizeExpression& b = operands[1];
  if (name == "aten::add") return a + b;
  if (name == "aten::sub") return a + b * -1;
  if (name == "aten::rsub") return b + a * -1;
  if (name == "aten::mul") return a * b;
  if (name == "aten::floordiv" || name == "aten::floor_divide" ||
      name == "aten::div" || name == "aten::__floordiv__") {
    return SizeExpression::Binary(Operation::kFloorDivide, a, b);
  }
  if (name == "aten::remainder")
    return SizeExpression::Binary(Operation::kModulo, a, b);
  return std::nullopt;
}

// The integer in each probe, if the value is one and known without data.
std::optional<std::vector<int64_t>> Integers(const ProbedValue& value) {
  std::vector<int64_t> integers;
  for (const c10::IValue& probe : value.probes) {
    if (value.kind == Kind::kPlain && probe.isInt()) {
      integers.push_back(probe.toInt());
    } else if (value.IsTensor() && !value.storage->tainted && value.has_type &&
               value.type.sizes.empty() &&
               value.type.dtype == DataType::kInt64) {
      integers.push_back(
          *static_cast<const int64_t*>(probe.toTensor().const_data_ptr()));
    } else {
      return std::nullopt;
    }
  }
  if (integers.empty()) return std::nullopt;
  return integers;
}

}  // namespace

std::optional<SizeExpression> Interpreter::SizeOf(const ProbedRef& value) {
  if (value->size) return value->size;
  const std::optional<std::vector<int64_t>> integers = Integers(*value);
  if (!integers) return std::nullopt;
  if (value->IsTensor() && !value->uniform) return std::nullopt;
  // The number itself when it is the same everywhere.
  std::optional<SizeExpression> size =
      value->uniform ? SizeExpression((*integers)[0]) : fitter_.Fit(*integers);
  if (value->kind == Kind::kPlain) value->size = size;
  return size;
}

void Interpreter::InferSizes(const Invocation& call, const Results& results) {
  if (results.size() != 1) return;
  const ProbedRef& result = results[0];
  // Tensors and lists of sizes: their formulas are the tensor's own.
  if (call.schema->name() == "aten::size" && !call.arguments.empty() &&
      call.arguments[0]->IsTensor() && call.arguments[0]->has_type) {
    const std::vector<SizeExpression>& sizes = call.arguments[0]->type.sizes;
    if (result->kind == Kind::kList &&
        result->elements.size() == sizes.size()) {
      for (size_t axis = 0; axis < sizes.size(); ++axis)
        result->elements[axis]->size = sizes[axis];
    } else if (result->kind == Kind::kPlain && call.arguments.size() == 2 &&
               call.arguments[1]->uniform &&
               call.arguments[1]->probes[0].isInt()) {
      int64_t axis = call.arguments[1]->probes[0].toInt();
      if (axis < 0) axis += static_cast<int64_t>(sizes.size());
      if (axis >= 0 && axis < static_cast<int64_t>(sizes.size()))
        result->size = sizes[static_cast<size_t>(axis)];
    }
    return;
  }
  if (result->uniform || result->size) return;
  const std::optional<std::vector<int64_t>> values = Integers(*result);
  if (!values) return;
  std::vector<SizeExpression> operands;
  for (const ProbedRef& argument : call.arguments) {
    const std::optional<SizeExpression> size = SizeOf(argument);
    if (!size) break;
    operands.push_back(*size);
  }
  std::optional<SizeExpression> size =
      Arithmetic(call.schema->name(), operands);
  if (size && fitter_.Matches(*size, *values)) {
    result->size = fitter_.Simplify(*size);
  } else {
    result->size = fitter_.Fit(*values);
  }
}

}  // namespace aitune::frontend
