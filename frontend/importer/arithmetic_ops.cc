// Pointwise arithmetic of two and three operands.
#include <cmath>
#include <limits>
#include <type_traits>

#include "frontend/importer/pointwise_operands.h"
#include "frontend/importer/registry.h"

namespace aitune::frontend {
namespace {

namespace ait = mlir::ait;
using mlir::Value;

// An operator without special cases, computed in the result's dtype.
template <typename Op>
absl::Status BuildBinary(OpImporter& call) {
  AITUNE_ASSIGN_OR_RETURN(PointwiseOperands operands,
                          PointwiseOperands::Read(call, {"self", "other"}));
  const DataType dtype = std::is_same_v<Op, ait::MulOp>
                             ? operands.ScalingType(call.ResultDataType())
                             : operands.ComputeType(call.ResultDataType());
  if (dtype == DataType::kBool) return Reject("not defined on bool");
  Value lhs = operands.Tensor(0, dtype);
  return call.SetResult(call.Binary<Op>(lhs, operands.Tensor(1, dtype)));
}

// As BuildBinary, for divisions of integers too. Of 16 bits ATen divides by a
// number as it is, and takes remainders of what it is rounded to.
template <typename Op, bool kRoundsNumbers>
absl::Status BuildQuotient(OpImporter& call) {
  AITUNE_ASSIGN_OR_RETURN(PointwiseOperands operands,
                          PointwiseOperands::Read(call, {"self", "other"}));
  const DataType dtype = kRoundsNumbers
                             ? call.ResultDataType()
                             : operands.ScalingType(call.ResultDataType());
  if (dtype == DataType::kBool) return Reject("not defined on bool");
  Value lhs = operands.StoredTensor(0, dtype);
  return call.SetResult(
      call.Binary<Op>(lhs, call.CheckDivisor(operands.StoredTensor(1, dtype))));
}

// As BuildBinary; on bool the operator is `BoolOp`.
template <typename Op, typename BoolOp>
absl::Status BuildBinaryOrBool(OpImporter& call) {
  if (call.ResultDataType() != DataType::kBool) return BuildBinary<Op>(call);
  AITUNE_ASSIGN_OR_RETURN(PointwiseOperands operands,
                          PointwiseOperands::Read(call, {"self", "other"}));
  Value lhs = operands.Tensor(0, DataType::kBool);
  return call.SetResult(
      call.Binary<BoolOp>(lhs, operands.Tensor(1, DataType::kBool)));
}

// self + alpha * other, self - alpha * other, and other - alpha * self.
enum class AddKind { kAdd, kSubtract, kReverseSubtract };

template <AddKind kKind>
absl::Status BuildAdd(OpImporter& call) {
  AITUNE_ASSIGN_OR_RETURN(PointwiseOperands operands,
                          PointwiseOperands::Read(call, {"self", "other"}));
  Scalar alpha = 1;
  if (call.Find("alpha")) {
    AITUNE_ASSIGN_OR_RETURN(alpha, call.Number("alpha"));
  }
  const bool scaled = !alpha.is_static() || alpha.AsDouble() != 1;
  // Of 16 bits a CPU rounds the numbers first, and a GPU adds them as they are.
  DataType dtype = call.ResultDataType();
  if (call.state().is_for_gpu())
    dtype = operands.ComputeType(dtype);
  else if (scaled && alpha.is_static() && IsFloatingPoint(dtype))
    alpha = alpha.RoundedTo(dtype);
  Value lhs =
      operands.Tensor(kKind == AddKind::kReverseSubtract ? 1 : 0, dtype);
  Value rhs =
      operands.Tensor(kKind == AddKind::kReverseSubtract ? 0 : 1, dtype);
  if (scaled) {
    lhs = call.ToComputeType(lhs);
    rhs = call.ToComputeType(rhs);
    dtype = call.DataTypeOf(lhs);
  }
  if (dtype == DataType::kBool) {
    if (kKind != AddKind::kAdd || scaled)
      return Reject("subtraction is not defined on bool");
    return call.SetResult(call.Binary<ait::BitwiseOrOp>(lhs, rhs));
  }
  // Rounded once, as ATen does, where the product is added.
  const bool negates = kKind != AddKind::kAdd && scaled && alpha.is_static() &&
                       IsFloatingPoint(dtype);
  if (negates) alpha = -alpha.AsDouble();
  if (scaled) rhs = call.Multiply(rhs, alpha);
  return call.SetResult(kKind == AddKind::kAdd || negates
                            ? call.Add(lhs, rhs)
                            : call.Subtract(lhs, rhs));
}

absl::Status BuildDivide(OpImporter& call) {
  AITUNE_ASSIGN_OR_RETURN(PointwiseOperands operands,
                          PointwiseOperands::Read(call, {"self", "other"}));
  std::string rounding;
  if (!call.IsNone("rounding_mode")) {
    AITUNE_ASSIGN_OR_RETURN(rounding, call.String("rounding_mode"));
  }
  const DataType dtype = operands.ScalingType(call.ResultDataType());
  if (dtype == DataType::kBool)
    return Reject("division is not defined on bool");
  const auto operand = [&](size_t index) {
    return rounding.empty() ? operands.Tensor(index, dtype)
                            : operands.StoredTensor(index, dtype);
  };
  Value lhs = operand(0);
  Value rhs = call.CheckDivisor(operand(1));
  if (rounding == "floor")
    return call.SetResult(call.Binary<ait::FloorDivideOp>(lhs, rhs));
  if (!rounding.empty() && rounding != "trunc")
    return Reject(absl::StrCat("rounding mode '", rounding, "' is unknown"));
  Value quotient = call.Divide(lhs, rhs);
  if (rounding == "trunc" && IsFloatingPoint(dtype))
    quotient = call.Unary<ait::TruncOp>(quotient);
  return call.SetResult(quotient);
}

// value^exponent for a small whole exponent, by squaring.
Value WholePower(OpImporter& call, Value value, int64_t exponent) {
  Value result;
  for (Value square = value; exponent > 0; exponent /= 2) {
    if (exponent % 2) result = result ? call.Multiply(result, square) : square;
    if (exponent > 1) square = call.Multiply(square, square);
  }
  return result;
}

// `rounded` is the exponent as a tensor of value's sizes. Eager computes roots
// where the exponent is no tensor: the root of minus infinity is NaN, its power
// by 0.5 is infinity.
Value PowerOfNumber(OpImporter& call, Value value, double exponent,
                    Value rounded, bool has_roots) {
  if (exponent == 0) return call.FullLike(1, value);
  if (has_roots && exponent == 0.5) return call.Unary<ait::SqrtOp>(value);
  if (has_roots && exponent == -0.5) return call.Unary<ait::RsqrtOp>(value);
  if (exponent == 1 || exponent == 2 || exponent == 3)
    return WholePower(call, value, static_cast<int64_t>(exponent));
  if (exponent == -1) return call.Unary<ait::ReciprocalOp>(value);
  if (exponent == -2)
    return call.Unary<ait::ReciprocalOp>(call.Multiply(value, value));
  return call.Binary<ait::PowOp>(value, rounded);
}

absl::Status BuildPower(OpImporter& call) {
  AITUNE_ASSIGN_OR_RETURN(PointwiseOperands operands,
                          PointwiseOperands::Read(call, {"self", "exponent"}));
  // ATen rounds a base and an exponent that are numbers to this dtype.
  const DataType dtype = call.ResultDataType();
  const std::optional<Scalar>& exponent = operands[1].number;
  const bool is_number = exponent && exponent->is_static();
  if (dtype == DataType::kBool)
    return Reject("powers of bool are not supported");
  if (!IsFloatingPoint(dtype)) {
    // Whole powers only: there is no integer pow operation.
    if (!is_number || exponent->AsInt() < 0 || exponent->AsInt() > 64) {
      return Reject(
          "powers of integers are supported for constant exponents from 0 to "
          "64");
    }
    Value base = operands.Tensor(0, dtype);
    return call.SetResult(exponent->AsInt() == 0
                              ? call.FullLike(1, base)
                              : WholePower(call, base, exponent->AsInt()));
  }
  if (is_number && (operands[1].tensor == nullptr || !operands[1].has_axes)) {
    return call.SetResult(PowerOfNumber(
        call, call.ToComputeType(operands.Tensor(0, dtype)),
        exponent->AsDouble(), call.ToComputeType(operands.Tensor(1, dtype)),
        // A CPU has none of float16.
        /*has_roots=*/operands[1].tensor == nullptr &&
            (dtype != DataType::kFloat16 || call.state().is_for_gpu())));
  }
  const std::optional<Scalar>& base = operands[0].number;
  Value power = operands.Tensor(1, dtype);
  if (base && base->is_static() && base->AsDouble() == 2)
    return call.SetResult(call.Unary<ait::Exp2Op>(power));
  return call.SetResult(
      call.Binary<ait::PowOp>(operands.Tensor(0, dtype), power));
}

// fmax and fmin: the other operand where one is NaN.
template <typename Op>
absl::Status BuildIgnoringNan(OpImporter& call) {
  AITUNE_ASSIGN_OR_RETURN(PointwiseOperands operands,
                          PointwiseOperands::Read(call, {"self", "other"}));
  const DataType dtype = call.ResultDataType();
  Value lhs = operands.Tensor(0, dtype);
  Value rhs = operands.Tensor(1, dtype);
  Value result = call.Binary<Op>(lhs, rhs);
  if (IsFloatingPoint(dtype)) {
    result = call.Where(call.Predicate<ait::IsNanOp>(rhs), lhs, result);
    result = call.Where(call.Predicate<ait::IsNanOp>(lhs), rhs, result);
  }
  return call.SetResult(result);
}

// sqrt(x^2 + y^2) as greater * sqrt(1 + (lesser / greater)^2): no square is out
// of range where the result is in it.
absl::Status BuildHypot(OpImporter& call) {
  AITUNE_ASSIGN_OR_RETURN(PointwiseOperands operands,
                          PointwiseOperands::Read(call, {"self", "other"}));
  auto magnitude = [&](int index) {
    return call.Unary<ait::AbsOp>(
        call.ToComputeType(operands.Tensor(index, call.ResultDataType())));
  };
  Value x = magnitude(0), y = magnitude(1);
  Value greater = call.Binary<ait::MaximumOp>(x, y);
  Value ratio = call.Divide(call.Binary<ait::MinimumOp>(x, y), greater);
  Value length = call.Multiply(greater, call.Unary<ait::SqrtOp>(call.Add(
                                            call.Multiply(ratio, ratio), 1.0)));
  length =
      call.Where(call.Compare<ait::EqOp>(greater, Scalar(0)), greater, length);
  // An infinity is as long beside NaN.
  Value infinite = call.Binary<ait::BitwiseOrOp>(
      call.Predicate<ait::IsInfOp>(x), call.Predicate<ait::IsInfOp>(y));
  return call.SetResult(call.Where(
      infinite, call.FullLike(std::numeric_limits<double>::infinity(), length),
      length));
}

absl::Status BuildXLogY(OpImporter& call) {
  AITUNE_ASSIGN_OR_RETURN(PointwiseOperands operands,
                          PointwiseOperands::Read(call, {"self", "other"}));
  Value x = operands.Tensor(0, call.ResultDataType());
  Value y = operands.Tensor(1, call.ResultDataType());
  Value product = call.Multiply(x, call.Unary<ait::LogOp>(y));
  Value result = call.Where(call.Compare<ait::EqOp>(x, Scalar(0)),
                            call.FullLike(0, x), product);
  return call.SetResult(call.Where(call.Predicate<ait::IsNanOp>(y), y, result));
}

absl::Status BuildLogAddExp(OpImporter& call) {
  AITUNE_ASSIGN_OR_RETURN(PointwiseOperands operands,
                          PointwiseOperands::Read(call, {"self", "other"}));
  Value x = call.ToComputeType(operands.Tensor(0, call.ResultDataType()));
  Value y = call.ToComputeType(operands.Tensor(1, call.ResultDataType()));
  Value gap =
      call.Unary<ait::NegOp>(call.Unary<ait::AbsOp>(call.Subtract(x, y)));
  Value sum = call.Add(call.Binary<ait::MaximumOp>(x, y),
                       call.Unary<ait::Log1pOp>(call.Unary<ait::ExpOp>(gap)));
  // Equal infinities have no gap.
  Value same = call.Binary<ait::BitwiseAndOp>(call.Compare<ait::EqOp>(x, y),
                                              call.Predicate<ait::IsInfOp>(x));
  return call.SetResult(call.Where(same, x, sum));
}

// Shifts by a constant: products with a power of two and floor divisions by
// one.
template <bool kLeft>
absl::Status BuildShift(OpImporter& call) {
  AITUNE_ASSIGN_OR_RETURN(Value self, call.Tensor("self"));
  AITUNE_ASSIGN_OR_RETURN(int64_t bits, call.Int("other"));
  const DataType dtype = call.ResultDataType();
  if (IsFloatingPoint(dtype) || dtype == DataType::kBool)
    return Reject("shifts are supported for integers only");
  Value value = call.Convert(self, dtype);
  const int width = 8 * static_cast<int>(SizeInBytes(dtype));
  // ATen converts the amount to that dtype too: it counts modulo 2^width.
  if (width < 64) bits &= (int64_t{1} << width) - 1;
  const bool is_signed = dtype != DataType::kUInt8;
  // The sign stays when all other bits are shifted out. An amount that is too
  // large here is negative in ATen, which shifts everything out then too.
  const int most = kLeft || !is_signed ? width : width - 1;
  if (bits < 0 || bits >= most) {
    Value zero = call.FullLike(0, value);
    if (kLeft || !is_signed) return call.SetResult(zero);
    return call.SetResult(call.Where(call.Compare<ait::LtOp>(value, Scalar(0)),
                                     call.FullLike(-1, value), zero));
  }
  const auto factor = static_cast<int64_t>(uint64_t{1} << bits);
  return call.SetResult(kLeft ? call.Multiply(value, factor)
                              : call.Binary<ait::FloorDivideOp>(value, factor));
}

// self + value * tensor1 * tensor2, and with a quotient.
template <bool kDivide>
absl::Status BuildAddC(OpImporter& call) {
  AITUNE_ASSIGN_OR_RETURN(
      PointwiseOperands operands,
      PointwiseOperands::Read(call, {"self", "tensor1", "tensor2"}));
  AITUNE_ASSIGN_OR_RETURN(Scalar value, call.Number("value"));
  // A weight that is a number is not rounded to 16 bits.
  const DataType dtype = operands.ComputeType(call.ResultDataType());
  auto tensor = [&](int index) {
    return call.ToComputeType(operands.Tensor(index, dtype));
  };
  Value scaled = tensor(1);
  if (!value.is_static() || value.AsDouble() != 1)
    scaled = call.Multiply(scaled, value);
  scaled = kDivide ? call.Divide(scaled, tensor(2))
                   : call.Multiply(scaled, tensor(2));
  return call.SetResult(call.Add(tensor(0), scaled));
}

absl::Status BuildLerp(OpImporter& call) {
  AITUNE_ASSIGN_OR_RETURN(
      PointwiseOperands operands,
      PointwiseOperands::Read(call, {"self", "end", "weight"}));
  // A weight that is a number is not rounded to 16 bits.
  const DataType dtype = operands.ComputeType(call.ResultDataType());
  auto tensor = [&](int index) {
    return call.ToComputeType(operands.Tensor(index, dtype));
  };
  Value self = tensor(0), end = tensor(1), weight = tensor(2);
  Value gap = call.Subtract(end, self);
  // From the nearer end, as ATen does: the ends are then exact.
  Value from_self = call.Add(self, call.Multiply(weight, gap));
  Value from_end = call.Subtract(
      end, call.Multiply(gap, call.Subtract(call.FullLike(1, weight), weight)));
  Value small = call.Compare<ait::LtOp>(call.Unary<ait::AbsOp>(weight), 0.5);
  return call.SetResult(call.Where(small, from_self, from_end));
}

// ---- Clamp ----

// Limits `self` by the arguments of these names; an empty name or None: no
// limit.
absl::Status BuildLimits(OpImporter& call, const char* low, const char* high) {
  AITUNE_ASSIGN_OR_RETURN(Value self, call.Tensor("self"));
  const DataType dtype = call.ResultDataType();
  self = call.Convert(self, dtype);
  std::optional<Operand> bounds[2];
  const char* names[2] = {low, high};
  bool plain = IsFloatingPoint(dtype);
  for (int i = 0; i < 2; ++i) {
    if (!*names[i] || call.IsNone(names[i])) continue;
    AITUNE_ASSIGN_OR_RETURN(bounds[i], call.TensorOrNumber(names[i]));
    plain = plain && bounds[i]->number && bounds[i]->number->is_static();
  }
  if (plain) {
    auto attribute = [&](const std::optional<Operand>& bound) {
      return bound ? call.builder().getF64FloatAttr(bound->number->AsDouble())
                   : mlir::FloatAttr();
    };
    return call.SetResult(call.Unary<ait::ClampOp>(self, attribute(bounds[0]),
                                                   attribute(bounds[1])));
  }
  auto tensor = [&](const Operand& bound) {
    return bound.number ? call.Full(*bound.number, {}, dtype)
                        : call.Convert(bound.tensor, dtype);
  };
  if (bounds[0]) self = call.Binary<ait::MaximumOp>(self, tensor(*bounds[0]));
  if (bounds[1]) self = call.Binary<ait::MinimumOp>(self, tensor(*bounds[1]));
  return call.SetResult(self);
}

// Eager passes over a bound of clamp that is no number, if it is the only one.
absl::Status RejectNan(OpImporter& call, const char* bound) {
  if (call.IsNone(bound)) return absl::OkStatus();
  AITUNE_ASSIGN_OR_RETURN(const Operand operand, call.TensorOrNumber(bound));
  if (operand.number && operand.number->is_static() &&
      std::isnan(operand.number->AsDouble()))
    return Reject("one bound alone, which is not a number");
  return absl::OkStatus();
}

}  // namespace

void RegisterArithmeticOps(Registry& registry) {
  registry.Add({"add"}, BuildAdd<AddKind::kAdd>);
  registry.Add({"sub", "subtract"}, BuildAdd<AddKind::kSubtract>);
  registry.Add({"rsub"}, BuildAdd<AddKind::kReverseSubtract>);
  registry.Add({"mul", "multiply"},
               BuildBinaryOrBool<ait::MulOp, ait::BitwiseAndOp>);
  registry.Add({"div", "divide", "true_divide"}, BuildDivide);
  registry.Add({"floor_divide"}, BuildQuotient<ait::FloorDivideOp, false>);
  registry.Add({"remainder"}, BuildQuotient<ait::RemainderOp, true>);
  registry.Add({"fmod"}, BuildQuotient<ait::FmodOp, true>);
  registry.Add({"pow"}, BuildPower);
  registry.Add({"atan2", "arctan2"}, BuildBinary<ait::Atan2Op>);
  registry.Add({"copysign"}, BuildBinary<ait::CopysignOp>);
  registry.Add({"maximum"},
               BuildBinaryOrBool<ait::MaximumOp, ait::BitwiseOrOp>);
  registry.Add({"minimum"},
               BuildBinaryOrBool<ait::MinimumOp, ait::BitwiseAndOp>);
  registry.Add({"fmax"}, BuildIgnoringNan<ait::MaximumOp>);
  registry.Add({"fmin"}, BuildIgnoringNan<ait::MinimumOp>);
  registry.Add({"hypot"}, BuildHypot);
  registry.Add({"xlogy", "special_xlogy"}, BuildXLogY);
  registry.Add({"logaddexp"}, BuildLogAddExp);
  registry.Add({"__lshift__", "bitwise_left_shift"}, BuildShift<true>);
  registry.Add({"__rshift__", "bitwise_right_shift"}, BuildShift<false>);
  registry.Add({"addcmul"}, BuildAddC<false>);
  registry.Add({"addcdiv"}, BuildAddC<true>);
  registry.Add({"lerp"}, BuildLerp);
  registry.Add({"clamp", "clip"}, [](OpImporter& call) {
    if (call.IsNone("min") != call.IsNone("max")) {
      AITUNE_RETURN_IF_ERROR(RejectNan(call, "min"));
      AITUNE_RETURN_IF_ERROR(RejectNan(call, "max"));
    }
    return BuildLimits(call, "min", "max");
  });
  registry.Add({"clamp_min"},
               [](OpImporter& call) { return BuildLimits(call, "min", ""); });
  registry.Add({"clamp_max"},
               [](OpImporter& call) { return BuildLimits(call, "", "max"); });
  registry.Add({"hardtanh"}, [](OpImporter& call) {
    return BuildLimits(call, "min_val", "max_val");
  });
}

}  // namespace aitune::frontend
