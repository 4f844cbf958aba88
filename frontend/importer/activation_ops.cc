// Activation functions.
#include <string>
#include <type_traits>

#include "absl/strings/str_cat.h"
#include "frontend/importer/registry.h"

namespace aitune::frontend {
namespace {

namespace ait = mlir::ait;
using llvm::APFloat;
using mlir::Value;

template <typename Op>
absl::Status BuildActivation(OpImporter& call) {
  AITUNE_ASSIGN_OR_RETURN(Value self, call.Tensor("self"));
  return call.SetResult(call.Unary<Op>(self));
}

absl::Status BuildRelu(OpImporter& call) {
  AITUNE_ASSIGN_OR_RETURN(Value self, call.Tensor("self"));
  if (IsFloatingPoint(call.DataTypeOf(self)))
    return call.SetResult(call.Unary<ait::ReluOp>(self));
  return call.SetResult(call.Binary<ait::MaximumOp>(self, Scalar(0)));
}

absl::Status BuildRelu6(OpImporter& call) {
  AITUNE_ASSIGN_OR_RETURN(Value self, call.Tensor("self"));
  mlir::Builder& builder = call.builder();
  return call.SetResult(call.Unary<ait::ClampOp>(
      self, builder.getF64FloatAttr(0), builder.getF64FloatAttr(6)));
}

// hardswish, and hardsigmoid, which does not multiply by its argument. On a
// GPU, ATen multiplies by a sixth that is a float, also for float64.
template <typename Op>
absl::Status BuildHardGate(OpImporter& call) {
  AITUNE_ASSIGN_OR_RETURN(Value self, call.Tensor("self"));
  if (!call.state().is_for_gpu() || call.DataTypeOf(self) != DataType::kFloat64)
    return call.SetResult(call.Unary<Op>(self));
  mlir::Builder& builder = call.builder();
  Value gate =
      call.Unary<ait::ClampOp>(call.Add(self, 3.0), builder.getF64FloatAttr(0),
                               builder.getF64FloatAttr(6));
  if constexpr (std::is_same_v<Op, ait::HardswishOp>)
    gate = call.Multiply(self, gate);
  return call.SetResult(call.Multiply(gate, double{1.0f / 6.0f}));
}

absl::Status BuildGelu(OpImporter& call) {
  AITUNE_ASSIGN_OR_RETURN(Value self, call.Tensor("self"));
  std::string approximate = "none";
  if (!call.IsNone("approximate")) {
    AITUNE_ASSIGN_OR_RETURN(approximate, call.String("approximate"));
  }
  if (approximate != "none" && approximate != "tanh") {
    return Reject(absl::StrCat("approximation '", approximate, "' is unknown"));
  }
  return call.SetResult(call.Unary<ait::GeluOp>(self, approximate == "tanh"));
}

absl::Status SetElu(OpImporter& call, double alpha, double scale,
                    double input_scale) {
  AITUNE_ASSIGN_OR_RETURN(Value self, call.Tensor("self"));
  return call.SetResult(call.Unary<ait::EluOp>(
      self, APFloat(alpha), APFloat(scale), APFloat(input_scale)));
}

absl::Status BuildElu(OpImporter& call) {
  AITUNE_ASSIGN_OR_RETURN(double alpha, call.Double("alpha"));
  AITUNE_ASSIGN_OR_RETURN(double scale, call.Double("scale"));
  AITUNE_ASSIGN_OR_RETURN(double input_scale, call.Double("input_scale"));
  return SetElu(call, alpha, scale, input_scale);
}

absl::Status BuildSelu(OpImporter& call) {
  return SetElu(call, 1.6732632423543772848170429916717,
                1.0507009873554804934193349852946, 1);
}

absl::Status BuildCelu(OpImporter& call) {
  AITUNE_ASSIGN_OR_RETURN(double alpha, call.Double("alpha"));
  if (alpha == 0) return Reject("alpha is 0");
  return SetElu(call, alpha, 1, 1 / alpha);
}

absl::Status BuildLeakyRelu(OpImporter& call) {
  AITUNE_ASSIGN_OR_RETURN(Value self, call.Tensor("self"));
  AITUNE_ASSIGN_OR_RETURN(double slope, call.Double("negative_slope"));
  return call.SetResult(call.Unary<ait::LeakyReluOp>(self, APFloat(slope)));
}

absl::Status BuildRandomizedRelu(OpImporter& call) {
  AITUNE_ASSIGN_OR_RETURN(Value self, call.Tensor("self"));
  AITUNE_ASSIGN_OR_RETURN(bool training, call.Bool("training"));
  AITUNE_ASSIGN_OR_RETURN(double lower, call.Double("lower"));
  AITUNE_ASSIGN_OR_RETURN(double upper, call.Double("upper"));
  if (training) return Reject("rrelu in training mode is random");
  return call.SetResult(
      call.Unary<ait::LeakyReluOp>(self, APFloat((lower + upper) / 2)));
}

absl::Status BuildSoftplus(OpImporter& call) {
  AITUNE_ASSIGN_OR_RETURN(Value self, call.Tensor("self"));
  AITUNE_ASSIGN_OR_RETURN(double beta, call.Double("beta"));
  AITUNE_ASSIGN_OR_RETURN(double threshold, call.Double("threshold"));
  return call.SetResult(
      call.Unary<ait::SoftplusOp>(self, APFloat(beta), APFloat(threshold)));
}

// The operand in float32 on a CPU, where ATen compares 16 bits with a number
// that is not rounded to them; as it is on a GPU, where ATen rounds it.
Value ToComparedType(OpImporter& call, Value self) {
  return call.state().is_for_gpu() ? self : call.ToComputeType(self);
}

// softshrink moves the elements that it keeps toward 0; hardshrink does not.
template <bool kSoft>
absl::Status BuildShrink(OpImporter& call) {
  AITUNE_ASSIGN_OR_RETURN(Value self, call.Tensor("self"));
  AITUNE_ASSIGN_OR_RETURN(double lambd, call.Double("lambd"));
  if (kSoft) self = ToComparedType(call, self);
  Value inside = call.Compare<ait::LeOp>(call.Unary<ait::AbsOp>(self), lambd);
  Value outside = self;
  if (kSoft)
    outside = call.Subtract(
        self, call.Multiply(call.Unary<ait::SignOp>(self), lambd));
  return call.SetResult(call.Where(inside, call.FullLike(0, self), outside));
}

absl::Status BuildThreshold(OpImporter& call) {
  AITUNE_ASSIGN_OR_RETURN(Value self, call.Tensor("self"));
  AITUNE_ASSIGN_OR_RETURN(Scalar threshold, call.Number("threshold"));
  AITUNE_ASSIGN_OR_RETURN(Scalar value, call.Number("value"));
  self = ToComparedType(call, self);
  Value below = call.Compare<ait::LeOp>(self, threshold);
  return call.SetResult(call.Where(below, call.FullLike(value, self), self));
}

absl::Status BuildPrelu(OpImporter& call) {
  AITUNE_ASSIGN_OR_RETURN(Value self, call.Tensor("self"));
  AITUNE_ASSIGN_OR_RETURN(Value weight, call.Tensor("weight"));
  Sizes sizes(std::max<int64_t>(call.RankOf(self), 1), call.Constant(1));
  const mlir::AffineExpr count = call.Product(call.SizesOf(weight));
  if (call.StaticSize(count) != 1) {
    if (sizes.size() < 2)
      return Reject("a weight per channel needs an input with channels");
    sizes[1] = count;
  }
  if (call.RankOf(self) == 0) sizes.clear();
  Value scaled = call.Multiply(self, call.Reshape(weight, sizes));
  return call.SetResult(
      call.Where(call.Compare<ait::GtOp>(self, Scalar(0)), self, scaled));
}

// The weight is broadcast as any operand.
absl::Status BuildPreluKernel(OpImporter& call) {
  AITUNE_ASSIGN_OR_RETURN(Value self, call.Tensor("self"));
  AITUNE_ASSIGN_OR_RETURN(Value weight, call.Tensor("weight"));
  return call.SetResult(call.Where(call.Compare<ait::GtOp>(self, Scalar(0)),
                                   self, call.Multiply(self, weight)));
}

absl::Status BuildGlu(OpImporter& call) {
  AITUNE_ASSIGN_OR_RETURN(Value self, call.Tensor("self"));
  AITUNE_ASSIGN_OR_RETURN(int64_t dim, call.Dim("dim", call.RankOf(self)));
  if (call.RankOf(self) == 0)
    return Reject("a tensor of rank 0 can't be halved");
  mlir::AffineExpr half = call.SizesOf(self)[dim].floorDiv(2);
  Value gate = call.Slice(self, dim, half, half);
  return call.SetResult(
      call.Multiply(call.Slice(self, dim, call.Constant(0), half),
                    call.Unary<ait::SigmoidOp>(gate)));
}

absl::Status BuildLogit(OpImporter& call) {
  AITUNE_ASSIGN_OR_RETURN(Value self, call.Tensor("self"));
  Value x = call.ToComputeType(call.Convert(self, call.ResultDataType()));
  if (!call.IsNone("eps")) {
    AITUNE_ASSIGN_OR_RETURN(const double eps, call.Double("eps"));
    // Numbers of the result's type: 1 - 1e-6 is 1 in float16.
    const DataType type = call.ResultDataType();
    const double least = Scalar(eps).RoundedTo(type).AsDouble();
    const double most = Scalar(1 - least).RoundedTo(type).AsDouble();
    mlir::Builder& builder = call.builder();
    x = call.Unary<ait::ClampOp>(x, builder.getF64FloatAttr(least),
                                 builder.getF64FloatAttr(most));
  }
  return call.SetResult(call.Unary<ait::LogOp>(
      call.Divide(x, call.Subtract(call.FullLike(1, x), x))));
}

}  // namespace

void RegisterActivationOps(Registry& registry) {
  registry.Add({"relu"}, BuildRelu);
  registry.Add({"relu6"}, BuildRelu6);
  registry.Add({"silu"}, BuildActivation<ait::SiluOp>);
  registry.Add({"mish"}, BuildActivation<ait::MishOp>);
  registry.Add({"hardswish"}, BuildHardGate<ait::HardswishOp>);
  registry.Add({"hardsigmoid"}, BuildHardGate<ait::HardsigmoidOp>);
  registry.Add({"log_sigmoid"}, BuildActivation<ait::LogSigmoidOp>);
  registry.Add({"gelu"}, BuildGelu);
  registry.Add({"elu"}, BuildElu);
  registry.Add({"selu"}, BuildSelu);
  registry.Add({"celu"}, BuildCelu);
  registry.Add({"leaky_relu"}, BuildLeakyRelu);
  registry.Add({"rrelu"}, BuildRandomizedRelu);
  registry.Add({"softplus"}, BuildSoftplus);
  registry.Add({"softshrink"}, BuildShrink<true>);
  registry.Add({"hardshrink"}, BuildShrink<false>);
  registry.Add({"threshold"}, BuildThreshold);
  registry.Add({"prelu"}, BuildPrelu);
  registry.Add({"_prelu_kernel"}, BuildPreluKernel);
  registry.Add({"glu"}, BuildGlu);
  registry.Add({"logit", "special_logit"}, BuildLogit);
}

}  // namespace aitune::frontend
