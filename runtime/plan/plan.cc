#include "runtime/plan/plan.h"

#include <limits>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "runtime/status/status_macros.h"

namespace aitune {
namespace {

using Kind = SizeExpression::Kind;

constexpr int kMaxDepth = 100;

std::optional<Kind> BinaryKind(SizeExpressionProto::Kind kind) {
  switch (kind) {
    case SizeExpressionProto::ADD:
      return Kind::kAdd;
    case SizeExpressionProto::MULTIPLY:
      return Kind::kMultiply;
    case SizeExpressionProto::FLOOR_DIVIDE:
      return Kind::kFloorDivide;
    case SizeExpressionProto::CEIL_DIVIDE:
      return Kind::kCeilDivide;
    case SizeExpressionProto::MODULO:
      return Kind::kModulo;
    default:
      return std::nullopt;
  }
}

SizeExpressionProto::Kind StoredKind(Kind kind) {
  switch (kind) {
    case Kind::kConstant:
      return SizeExpressionProto::CONSTANT;
    case Kind::kSymbol:
      return SizeExpressionProto::SYMBOL;
    case Kind::kAdd:
      return SizeExpressionProto::ADD;
    case Kind::kMultiply:
      return SizeExpressionProto::MULTIPLY;
    case Kind::kFloorDivide:
      return SizeExpressionProto::FLOOR_DIVIDE;
    case Kind::kCeilDivide:
      return SizeExpressionProto::CEIL_DIVIDE;
    case Kind::kModulo:
      return SizeExpressionProto::MODULO;
  }
  return SizeExpressionProto::CONSTANT;
}

// Nothing on overflow and for a divisor below 1.
std::optional<int64_t> CheckedApply(Kind kind, int64_t a, int64_t b) {
  int64_t result = 0;
  switch (kind) {
    case Kind::kAdd:
      return __builtin_add_overflow(a, b, &result) ? std::nullopt
                                                   : std::optional(result);
    case Kind::kMultiply:
      return __builtin_mul_overflow(a, b, &result) ? std::nullopt
                                                   : std::optional(result);
    case Kind::kFloorDivide:
    case Kind::kCeilDivide:
    case Kind::kModulo: {
      if (b < 1) return std::nullopt;
      const int64_t quotient = a / b, remainder = a % b;
      if (kind == Kind::kModulo) {
        return remainder < 0 ? remainder + b : remainder;
      }
      if (kind == Kind::kFloorDivide) return quotient - (remainder < 0);
      return quotient + (remainder > 0);
    }
    case Kind::kConstant:
    case Kind::kSymbol:
      break;
  }
  return std::nullopt;
}

absl::StatusOr<SizeExpression> FromProtoAtDepth(
    const SizeExpressionProto& proto, int symbol_count, int depth) {
  if (depth > kMaxDepth) {
    return absl::InvalidArgumentError(
        absl::StrCat("a size expression is nested deeper than ", kMaxDepth));
  }
  if (proto.kind() == SizeExpressionProto::CONSTANT ||
      proto.kind() == SizeExpressionProto::SYMBOL) {
    if (proto.operands_size() != 0) {
      return absl::InvalidArgumentError(
          "a constant or symbol of a size expression has operands");
    }
    if (proto.kind() == SizeExpressionProto::CONSTANT) {
      return SizeExpression(proto.value());
    }
    if (proto.value() < 0 || proto.value() >= symbol_count) {
      return absl::InvalidArgumentError(
          absl::StrCat("a size expression uses symbol ", proto.value(),
                       ", but the plan has ", symbol_count, " symbols here"));
    }
    return SizeExpression::Symbol(static_cast<int>(proto.value()));
  }
  const std::optional<Kind> kind = BinaryKind(proto.kind());
  if (!kind) {
    return absl::InvalidArgumentError(
        absl::StrCat("a size expression has the unknown kind ", proto.kind()));
  }
  if (proto.operands_size() != 2) {
    return absl::InvalidArgumentError(
        absl::StrCat("a binary size expression has ", proto.operands_size(),
                     " operands instead of 2"));
  }
  AITUNE_ASSIGN_OR_RETURN(
      SizeExpression lhs,
      FromProtoAtDepth(proto.operands(0), symbol_count, depth + 1));
  absl::StatusOr<SizeExpression> rhs =
      FromProtoAtDepth(proto.operands(1), symbol_count, depth + 1);
  if (!rhs.ok()) return rhs;
  // SizeExpression folds constants without checks: refuse what would overflow
  // there, also where it joins the constants of two nested expressions.
  const bool divides = *kind != Kind::kAdd && *kind != Kind::kMultiply;
  if (divides && rhs->constant() && *rhs->constant() < 1) {
    return absl::InvalidArgumentError(absl::StrCat(
        "a size expression divides by ", *rhs->constant(), ", not above 0"));
  }
  auto constant_part = [&](const SizeExpression& e) -> std::optional<int64_t> {
    if (e.constant()) return e.constant();
    if (!divides && e.kind() == *kind) return e.rhs().constant();
    return std::nullopt;
  };
  const std::optional<int64_t> a = constant_part(lhs), b = constant_part(*rhs);
  if (a && b && !CheckedApply(*kind, *a, *b)) {
    return absl::InvalidArgumentError(
        "the constants of a size expression overflow 64 bits");
  }
  return SizeExpression::Binary(*kind, std::move(lhs), *std::move(rhs));
}

}  // namespace

SizeExpressionProto ToProto(const SizeExpression& expression) {
  SizeExpressionProto proto;
  proto.set_kind(StoredKind(expression.kind()));
  if (expression.kind() == Kind::kConstant) {
    proto.set_value(*expression.constant());
  } else if (expression.kind() == Kind::kSymbol) {
    proto.set_value(expression.symbol());
  } else {
    *proto.add_operands() = ToProto(expression.lhs());
    *proto.add_operands() = ToProto(expression.rhs());
  }
  return proto;
}

absl::StatusOr<SizeExpression> FromProto(const SizeExpressionProto& proto,
                                         int symbol_count) {
  return FromProtoAtDepth(proto, symbol_count, 0);
}

absl::StatusOr<PlanTensorType> FromProto(const TensorTypeProto& proto,
                                         int symbol_count) {
  if (!IsDataType(proto.dtype())) {
    return absl::InvalidArgumentError(
        absl::StrCat("the dtype ", proto.dtype(), " is unknown"));
  }
  PlanTensorType type;
  type.dtype = static_cast<DataType>(proto.dtype());
  for (const SizeExpressionProto& size : proto.sizes()) {
    absl::StatusOr<SizeExpression> expression = FromProto(size, symbol_count);
    if (!expression.ok()) return expression.status();
    if (expression->constant() && *expression->constant() < 0) {
      return absl::InvalidArgumentError(
          absl::StrCat("axis ", type.sizes.size(), " has the size ",
                       *expression->constant(), "; sizes are at least 0"));
    }
    type.sizes.push_back(*std::move(expression));
  }
  return type;
}

absl::StatusOr<TensorView> ViewOf(const TensorTypeProto& proto,
                                  absl::Span<const int64_t> symbols) {
  AITUNE_ASSIGN_OR_RETURN(const PlanTensorType type,
                          FromProto(proto, static_cast<int>(symbols.size())));
  TensorView view;
  view.dtype = type.dtype;
  for (const SizeExpression& size : type.sizes)
    view.sizes.push_back(size.Evaluate(symbols));
  return view;
}

SizeConstraintProto ToProto(const SizeConstraint& constraint) {
  using Relation = SizeConstraint::Relation;
  SizeConstraintProto proto;
  *proto.mutable_expression() = ToProto(constraint.expression);
  proto.set_relation(constraint.relation == Relation::kZero
                         ? SizeConstraintProto::ZERO
                     : constraint.relation == Relation::kNonZero
                         ? SizeConstraintProto::NON_ZERO
                         : SizeConstraintProto::NON_NEGATIVE);
  return proto;
}

absl::StatusOr<SizeConstraint> FromProto(const SizeConstraintProto& proto,
                                         int symbol_count) {
  using Relation = SizeConstraint::Relation;
  AITUNE_ASSIGN_OR_RETURN(SizeExpression expression,
                          FromProto(proto.expression(), symbol_count));
  switch (proto.relation()) {
    case SizeConstraintProto::NON_NEGATIVE:
      return SizeConstraint{std::move(expression), Relation::kNonNegative};
    case SizeConstraintProto::ZERO:
      return SizeConstraint{std::move(expression), Relation::kZero};
    case SizeConstraintProto::NON_ZERO:
      return SizeConstraint{std::move(expression), Relation::kNonZero};
    default:
      return absl::InvalidArgumentError(
          absl::StrCat("unknown relation ", static_cast<int>(proto.relation()),
                       " of a constraint"));
  }
}

TensorTypeProto ToProto(const PlanTensorType& type) {
  TensorTypeProto proto;
  proto.set_dtype(static_cast<int>(type.dtype));
  for (const SizeExpression& size : type.sizes) {
    *proto.add_sizes() = ToProto(size);
  }
  return proto;
}

absl::StatusOr<int64_t> EvaluateSize(const SizeExpression& expression,
                                     absl::Span<const int64_t> symbols) {
  if (expression.kind() == Kind::kConstant) return *expression.constant();
  if (expression.kind() == Kind::kSymbol) {
    if (expression.symbol() >= static_cast<int64_t>(symbols.size())) {
      return absl::InvalidArgumentError(
          absl::StrCat("s", expression.symbol(), " has no value"));
    }
    return symbols[expression.symbol()];
  }
  AITUNE_ASSIGN_OR_RETURN(int64_t lhs, EvaluateSize(expression.lhs(), symbols));
  AITUNE_ASSIGN_OR_RETURN(int64_t rhs, EvaluateSize(expression.rhs(), symbols));
  const std::optional<int64_t> value =
      CheckedApply(expression.kind(), lhs, rhs);
  if (!value) {
    return absl::InvalidArgumentError(absl::StrCat(
        "the size ", expression.ToString(), " overflows or divides by less ",
        "than 1 (operands ", lhs, " and ", rhs, ")"));
  }
  return *value;
}

absl::StatusOr<std::vector<int64_t>> EvaluateSizes(
    absl::Span<const SizeExpression> sizes, absl::Span<const int64_t> symbols) {
  std::vector<int64_t> values;
  values.reserve(sizes.size());
  for (const SizeExpression& size : sizes) {
    AITUNE_ASSIGN_OR_RETURN(int64_t value, EvaluateSize(size, symbols));
    if (value < 0) {
      return absl::InvalidArgumentError(absl::StrCat(
          "the size ", size.ToString(), " is ", value, ", below 0"));
    }
    values.push_back(value);
  }
  return values;
}

absl::StatusOr<int64_t> TensorBytes(DataType dtype,
                                    absl::Span<const int64_t> sizes) {
  int64_t bytes = SizeInBytes(dtype);
  bool empty = false, overflow = false;
  for (int64_t size : sizes) {
    if (size < 0) {
      return absl::InvalidArgumentError(absl::StrCat(
          "the sizes ", SizesToString(sizes), " hold a negative one"));
    }
    empty |= size == 0;
    overflow |= __builtin_mul_overflow(bytes, size, &bytes);
  }
  if (empty) return 0;
  if (overflow) {
    return absl::InvalidArgumentError(
        absl::StrCat("a tensor of sizes ", SizesToString(sizes),
                     " has more than 2^63 bytes"));
  }
  return bytes;
}

std::vector<int32_t> StorageRoots(const ExecutablePlan& plan) {
  std::vector<int32_t> roots(plan.values_size(), -1);
  std::vector<int32_t> chain;
  for (int32_t i = 0; i < plan.values_size(); ++i) {
    int32_t at = i;
    chain.clear();
    while (roots[at] < 0 && plan.values(at).storage() == ValueProto::ALIAS) {
      chain.push_back(at);
      at = plan.values(at).index();
    }
    if (roots[at] < 0) roots[at] = at;
    for (int32_t value : chain) roots[value] = roots[at];
  }
  return roots;
}

std::vector<bool> ChooseAlternatives(absl::Span<const Step* const> steps,
                                     absl::Span<const int64_t> symbols) {
  std::vector<bool> runs;
  int32_t group = 0, chosen = -1;  // the last group, and its number that runs
  for (const Step* step : steps) {
    if (!step->has_alternative()) {
      runs.push_back(true);
      continue;
    }
    const AlternativeProto& one = step->alternative();
    if (one.group() != group) {
      group = one.group();
      chosen = -1;
    }
    bool takes = true;
    for (int i = 0; i < one.most_size(); ++i)
      takes = takes && symbols[i] <= one.most(i);
    if (chosen < 0 && takes) chosen = one.number();
    runs.push_back(chosen == one.number());
  }
  return runs;
}

std::vector<int32_t> OutputValues(const ExecutablePlan& plan) {
  if (plan.output_values_size() > 0) {
    return {plan.output_values().begin(), plan.output_values().end()};
  }
  std::vector<int32_t> outputs(plan.outputs_size(), -1);
  for (int32_t i = 0; i < plan.values_size(); ++i) {
    if (plan.values(i).storage() == ValueProto::OUTPUT) {
      outputs[plan.values(i).index()] = i;
    }
  }
  return outputs;
}

absl::Span<const PostOp* const> PostOps(const Step& step) {
  if (step.has_matmul()) {
    return {step.matmul().post_ops().data(),
            static_cast<size_t>(step.matmul().post_ops_size())};
  }
  if (step.has_convolution()) {
    return {step.convolution().post_ops().data(),
            static_cast<size_t>(step.convolution().post_ops_size())};
  }
  return {};
}

std::string SizesToString(absl::Span<const int64_t> sizes) {
  return absl::StrCat("[", absl::StrJoin(sizes, ", "), "]");
}

}  // namespace aitune
