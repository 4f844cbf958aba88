// Finds the formulas of integers that are computed from sizes.
//
// TorchScript computes sizes with ordinary integers (scripted) or with tensors
// of rank 0 (traced). Both are followed symbolically where the operator is
// arithmetic, and fitted from their values otherwise.
#include <string>
#include <utility>

#include "frontend/tracing/interpreter.h"
#include "runtime/status/status_macros.h"

namespace aitune::frontend {
namespace {

using Kind = ProbedValue::Kind;

// The nodes of a formula, which takes some microseconds to evaluate then. The
// numbers of longer ones are functions of sizes.
constexpr int kMostNodes = 512;

bool IsDivision(const std::string& name) {
  return name == "aten::floordiv" || name == "aten::floor_divide" ||
         name == "aten::div" || name == "aten::__floordiv__";
}

bool DividesBySizes(const SizeExpression& size) {
  switch (size.kind()) {
    case SizeExpression::Kind::kConstant:
    case SizeExpression::Kind::kSymbol:
      return false;
    case SizeExpression::Kind::kAdd:
    case SizeExpression::Kind::kMultiply:
      return DividesBySizes(size.lhs()) || DividesBySizes(size.rhs());
    default:
      return !size.rhs().constant() || DividesBySizes(size.lhs());
  }
}

// Whether the third argument of the operator is what its second is multiplied
// by; the first, of rsub.
bool HasAlpha(const std::string& name) {
  return name == "aten::add" || name == "aten::sub" || name == "aten::rsub";
}

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
  const SizeExpression alpha =
      HasAlpha(name) && operands.size() > 2 ? operands[2] : SizeExpression(1);
  if (name == "aten::add") return a + b * alpha;
  if (name == "aten::sub") return a + b * alpha * -1;
  if (name == "aten::rsub") return b + a * alpha * -1;
  if (name == "aten::mul") return a * b;
  if (IsDivision(name))
    return SizeExpression::Binary(Operation::kFloorDivide, a, b);
  if (name == "aten::remainder")
    return SizeExpression::Binary(Operation::kModulo, a, b);
  return std::nullopt;
}

// Division of tensors rounds as an argument says.
bool RoundsOtherwise(const std::string& name) {
  return name == "aten::div" || name == "aten::floor_divide";
}

// Takes the nodes of the formula, as its text has them, from `left`. A number
// that a loop adds something of itself to has twice as many after each round.
bool IsLongerThan(const SizeExpression& formula, int& left) {
  if (--left < 0) return true;
  return formula.kind() != SizeExpression::Kind::kConstant &&
         formula.kind() != SizeExpression::Kind::kSymbol &&
         (IsLongerThan(formula.lhs(), left) ||
          IsLongerThan(formula.rhs(), left));
}

void SetSize(ProbedValue& value, const SizeExpression& size) {
  value.size = size;
  if (size.constant() && value.kind == Kind::kPlain) value.uniform = true;
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
  if (value->uniform) return SizeExpression((*integers)[0]);
  if (value->IsTensor()) return std::nullopt;
  value->size = FormulaOf(value->function, *integers);
  if (value->size && value->size->constant()) value->uniform = true;
  return value->size;
}

absl::Status Interpreter::InferSizes(const Invocation& call,
                                     const Results& results) {
  if (results.size() != 1) return absl::OkStatus();
  const ProbedRef& result = results[0];
  const std::string& name = call.schema->name();
  const std::vector<SizeExpression>* const sizes =
      call.arguments.empty() ? nullptr : KnownSizes(*call.arguments[0]);
  // Tensors and lists of sizes: their formulas are the tensor's own.
  if ((name == "aten::size" || name == "prim::shape") && sizes != nullptr) {
    if (result->kind == Kind::kList &&
        result->elements.size() == sizes->size()) {
      for (size_t axis = 0; axis < sizes->size(); ++axis)
        SetSize(*result->elements[axis], (*sizes)[axis]);
    } else if (result->kind == Kind::kPlain && call.arguments.size() == 2 &&
               call.arguments[1]->uniform &&
               call.arguments[1]->probes[0].isInt()) {
      int64_t axis = call.arguments[1]->probes[0].toInt();
      if (axis < 0) axis += static_cast<int64_t>(sizes->size());
      if (axis >= 0 && axis < static_cast<int64_t>(sizes->size()))
        SetSize(*result, (*sizes)[static_cast<size_t>(axis)]);
    }
    return absl::OkStatus();
  }
  if ((name == "aten::numel" || name == "aten::sym_numel") &&
      sizes != nullptr && result->kind == Kind::kPlain) {
    SizeExpression product(1);
    for (const SizeExpression& size : *sizes) product = product * size;
    SetSize(*result, fitter_.Simplify(product));
    return absl::OkStatus();
  }
  if (result->uniform || result->size) return absl::OkStatus();
  const std::optional<std::vector<int64_t>> values = Integers(*result);
  if (!values) return absl::OkStatus();
  if (call.schema->name() == "prim::min" || call.schema->name() == "prim::max")
    return InferExtremum(call, *result);
  if (call.schema->name() == "prim::abs" ||
      call.schema->name() == "aten::abs") {
    const std::optional<SizeExpression> of = SizeOf(call.arguments[0]);
    if (!of) return absl::OkStatus();
    AITUNE_ASSIGN_OR_RETURN(
        bool positive, IsNonNegative(*of, "the sign of a difference of sizes"));
    SetSize(*result, positive ? *of : fitter_.Simplify(*of * -1));
    return absl::OkStatus();
  }
  std::vector<SizeExpression> operands;
  for (const ProbedRef& argument : call.arguments) {
    const std::optional<SizeExpression> size = SizeOf(argument);
    if (!size) break;
    operands.push_back(*size);
  }
  const bool is_complete =
      !HasAlpha(name) || operands.size() == call.arguments.size();
  std::optional<SizeExpression> size =
      is_complete ? Arithmetic(name, operands) : std::nullopt;
  int nodes = kMostNodes;
  if (size && IsLongerThan(*size, nodes)) size = std::nullopt;
  // Kernels are run at sizes that the program does not take, too, where what is
  // divided by may be 0 or negative.
  if (size && operands.size() > 1 && !operands[1].constant() &&
      DividesBySizes(*size)) {
    size = fitter_.Simplify(*size);
    if (DividesBySizes(*size))
      size = std::nullopt;
    else
      AITUNE_RETURN_IF_ERROR(CheckDivisor(operands[1]));
  }
  if (size && !RoundsOtherwise(call.schema->name()) &&
      fitter_.Matches(*size, *values)) {
    SetSize(*result, fitter_.Simplify(*size));
  } else if (std::optional<SizeExpression> formula =
                 FormulaOf(result->function, *values)) {
    SetSize(*result, *formula);
  }
  if (result->size) region_.AddCriticalPointsOf(*result->size);
  return absl::OkStatus();
}

absl::Status Interpreter::CheckDivisor(const SizeExpression& divisor) {
  if (divisor.constant()) return absl::OkStatus();
  const char* const what = "the sign of what a size is divided by";
  AITUNE_ASSIGN_OR_RETURN(const bool positive,
                          IsNonNegative(fitter_.Simplify(divisor + -1), what));
  if (positive) return absl::OkStatus();
  return IsNonNegative(fitter_.Simplify(divisor * -1 + -1), what).status();
}

absl::Status Interpreter::InferExtremum(const Invocation& call,
                                        ProbedValue& result) {
  const std::vector<ProbedRef>& operands =
      call.arguments.size() == 1 ? call.arguments[0]->elements : call.arguments;
  std::optional<SizeExpression> extremum;
  for (const ProbedRef& operand : operands) {
    const std::optional<SizeExpression> size = SizeOf(operand);
    if (!size) return absl::OkStatus();
    if (!extremum) {
      extremum = size;
      continue;
    }
    AITUNE_ASSIGN_OR_RETURN(
        bool larger, IsNonNegative(fitter_.Simplify(*size + *extremum * -1),
                                   "which of two sizes is larger"));
    if (larger == (call.schema->name() == "prim::max")) extremum = size;
  }
  if (extremum) SetSize(result, *extremum);
  return absl::OkStatus();
}

}  // namespace aitune::frontend
