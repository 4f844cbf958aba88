// Normalisations. Those that the dialect has stay whole; batch normalisation of
// a model in eval mode is a scale and a shift for each channel.
#include <algorithm>
#include <limits>

#include "absl/strings/str_cat.h"
#include "frontend/importer/normalization.h"
#include "frontend/importer/registry.h"
#include "frontend/importer/type_promotion.h"

namespace aitune::frontend {
namespace {

namespace ait = mlir::ait;
using llvm::ArrayRef;
using mlir::AffineExpr;
using mlir::Value;

// One of the dialect's normalisations in the widest dtype of its operands,
// converted back to the input's.
template <typename Op>
Value Normalize(OpImporter& call, Value input, Value weight, Value bias,
                int64_t count, double eps) {
  const DataType result = call.DataTypeOf(input);
  DataType dtype = result;
  for (Value parameter : {weight, bias}) {
    if (parameter) dtype = PromoteTypes(dtype, call.DataTypeOf(parameter));
  }
  input = call.Convert(input, dtype);
  if (weight) weight = call.Convert(weight, dtype);
  if (bias) bias = call.Convert(bias, dtype);
  Value normalized =
      Op::create(call.builder(), call.location(), input.getType(), input,
                 weight, bias, count, llvm::APFloat(eps));
  return call.Convert(normalized, result);
}

// The number of axes that `normalized_shape` names, after a look at them.
absl::StatusOr<int64_t> ReadNormalizedRank(OpImporter& call, Value input) {
  AITUNE_ASSIGN_OR_RETURN(Sizes shape, call.SizeList("normalized_shape"));
  const Sizes sizes = call.SizesOf(input);
  if (shape.empty() || shape.size() > sizes.size() ||
      !call.SameSizes(shape,
                      ArrayRef<AffineExpr>(sizes).take_back(shape.size()))) {
    return Reject("argument 'normalized_shape' is not the input's last sizes");
  }
  return static_cast<int64_t>(shape.size());
}

absl::Status BuildLayerNorm(OpImporter& call) {
  AITUNE_ASSIGN_OR_RETURN(Value input, call.Tensor("input"));
  AITUNE_ASSIGN_OR_RETURN(Value weight, call.OptionalTensor("weight"));
  AITUNE_ASSIGN_OR_RETURN(Value bias, call.OptionalTensor("bias"));
  AITUNE_ASSIGN_OR_RETURN(double eps, call.Double("eps"));
  AITUNE_ASSIGN_OR_RETURN(int64_t axes, ReadNormalizedRank(call, input));
  if (!IsFloatingPoint(call.DataTypeOf(input)))
    return Reject("integers can't be normalised");
  AITUNE_RETURN_IF_ERROR(
      call.SetResult(LayerNorm(call, input, weight, bias, axes, eps)));
  // native_layer_norm also gives mean and 1 / sqrt(variance + eps).
  if (call.op().results.size() < 3 ||
      (!call.IsResultUsed(1) && !call.IsResultUsed(2)))
    return absl::OkStatus();
  llvm::SmallVector<int64_t> dims;
  for (int64_t axis = call.RankOf(input) - axes; axis < call.RankOf(input);
       ++axis)
    dims.push_back(axis);
  Value x = call.ToComputeType(input);
  Value mean = call.Reduce<ait::MeanOp>(x, dims);
  Value centred = call.Subtract(x, mean);
  Value variance =
      call.Reduce<ait::MeanOp>(call.Multiply(centred, centred), dims);
  AITUNE_RETURN_IF_ERROR(call.SetResult(mean, 1));
  return call.SetResult(call.Unary<ait::RsqrtOp>(call.Add(variance, eps)), 2);
}

absl::Status BuildRmsNorm(OpImporter& call) {
  AITUNE_ASSIGN_OR_RETURN(Value input, call.Tensor("input"));
  AITUNE_ASSIGN_OR_RETURN(Value weight, call.OptionalTensor("weight"));
  AITUNE_ASSIGN_OR_RETURN(int64_t axes, ReadNormalizedRank(call, input));
  if (!IsFloatingPoint(call.DataTypeOf(input)))
    return Reject("integers can't be normalised");
  if (call.op().results.size() > 1 && call.IsResultUsed(1))
    return Reject("only the first result is supported");
  // ATen computes small floats in float32 and takes that type's epsilon.
  double eps = call.DataTypeOf(input) == DataType::kFloat64
                   ? std::numeric_limits<double>::epsilon()
                   : std::numeric_limits<float>::epsilon();
  if (!call.IsNone("eps")) {
    AITUNE_ASSIGN_OR_RETURN(eps, call.Double("eps"));
  }
  return call.SetResult(
      Normalize<ait::RmsNormOp>(call, input, weight, Value(), axes, eps));
}

absl::Status SetGroupNorm(OpImporter& call, Value input, Value weight,
                          Value bias, int64_t groups, double eps) {
  if (call.RankOf(input) < 2)
    return Reject("an input with channels is expected");
  if (!IsFloatingPoint(call.DataTypeOf(input)))
    return Reject("integers can't be normalised");
  const std::optional<int64_t> channels =
      call.StaticSize(call.SizesOf(input)[1]);
  if (!channels || groups < 1 || *channels % groups != 0)
    return Reject("the groups don't divide the channels");
  return call.SetResult(
      Normalize<ait::GroupNormOp>(call, input, weight, bias, groups, eps));
}

absl::Status BuildGroupNorm(OpImporter& call) {
  AITUNE_ASSIGN_OR_RETURN(Value input, call.Tensor("input"));
  AITUNE_ASSIGN_OR_RETURN(Value weight, call.OptionalTensor("weight"));
  AITUNE_ASSIGN_OR_RETURN(Value bias, call.OptionalTensor("bias"));
  AITUNE_ASSIGN_OR_RETURN(
      int64_t groups,
      call.Int(call.Find("num_groups") ? "num_groups" : "group"));
  AITUNE_ASSIGN_OR_RETURN(double eps, call.Double("eps"));
  for (int i = 1; i < static_cast<int>(call.op().results.size()); ++i) {
    if (call.IsResultUsed(i))
      return Reject("only the first result is supported");
  }
  return SetGroupNorm(call, input, weight, bias, groups, eps);
}

// (x - mean) / sqrt(variance + eps) * weight + bias as x * scale + shift, as
// ATen computes it.
absl::Status NormalizeByRunningStatistics(OpImporter& call, Value input,
                                          Value weight, Value bias) {
  if (call.IsNone("running_mean") || call.IsNone("running_var"))
    return Reject("there are no running statistics");
  AITUNE_ASSIGN_OR_RETURN(Value mean, call.Tensor("running_mean"));
  AITUNE_ASSIGN_OR_RETURN(Value variance, call.Tensor("running_var"));
  AITUNE_ASSIGN_OR_RETURN(double eps, call.Double("eps"));
  const int64_t rank = call.RankOf(input);
  if (rank < 2) return Reject("an input with channels is expected");
  Value scale =
      call.Unary<ait::RsqrtOp>(call.Add(call.ToComputeType(variance), eps));
  if (weight) scale = call.Multiply(scale, call.ToComputeType(weight));
  Value shift =
      call.Unary<ait::NegOp>(call.Multiply(call.ToComputeType(mean), scale));
  if (bias) shift = call.Add(shift, call.ToComputeType(bias));
  Sizes sizes(rank, call.Constant(1));
  sizes[1] = call.SizesOf(input)[1];
  Value x = call.ToComputeType(input);
  return call.SetResult(call.Add(call.Multiply(x, call.Reshape(scale, sizes)),
                                 call.Reshape(shift, sizes)));
}

absl::Status BuildBatchNorm(OpImporter& call) {
  AITUNE_ASSIGN_OR_RETURN(Value input, call.Tensor("input"));
  AITUNE_ASSIGN_OR_RETURN(Value weight, call.OptionalTensor("weight"));
  AITUNE_ASSIGN_OR_RETURN(Value bias, call.OptionalTensor("bias"));
  bool training = false;
  if (call.Find("training")) {
    AITUNE_ASSIGN_OR_RETURN(training, call.Bool("training"));
  }
  if (training)
    return Reject(
        "batch normalisation in training mode; call eval() on the model before "
        "exporting");
  for (int i = 1; i < static_cast<int>(call.op().results.size()); ++i) {
    if (call.IsResultUsed(i))
      return Reject("only the first result is supported");
  }
  return NormalizeByRunningStatistics(call, input, weight, bias);
}

absl::Status BuildInstanceNorm(OpImporter& call) {
  AITUNE_ASSIGN_OR_RETURN(Value input, call.Tensor("input"));
  AITUNE_ASSIGN_OR_RETURN(Value weight, call.OptionalTensor("weight"));
  AITUNE_ASSIGN_OR_RETURN(Value bias, call.OptionalTensor("bias"));
  AITUNE_ASSIGN_OR_RETURN(bool use_input_stats, call.Bool("use_input_stats"));
  if (!use_input_stats)
    return NormalizeByRunningStatistics(call, input, weight, bias);
  AITUNE_ASSIGN_OR_RETURN(double eps, call.Double("eps"));
  if (call.RankOf(input) < 2)
    return Reject("an input with channels is expected");
  const std::optional<int64_t> channels =
      call.StaticSize(call.SizesOf(input)[1]);
  if (!channels) return Reject("the number of channels is not static");
  return SetGroupNorm(call, input, weight, bias, *channels, eps);
}

// v * (g / norm of v over all axes but one, or with -1 over all).
absl::Status BuildWeightNorm(OpImporter& call) {
  AITUNE_ASSIGN_OR_RETURN(Value v, call.Tensor("v"));
  AITUNE_ASSIGN_OR_RETURN(Value g, call.Tensor("g"));
  AITUNE_ASSIGN_OR_RETURN(int64_t kept, call.Int("dim"));
  if (kept < -1) kept += call.RankOf(v);
  llvm::SmallVector<int64_t> dims;
  for (int64_t axis = 0; axis < call.RankOf(v); ++axis) {
    if (axis != kept) dims.push_back(axis);
  }
  Value x = call.ToComputeType(v);
  Value norm = call.Unary<ait::SqrtOp>(
      call.Reduce<ait::SumOp>(call.Multiply(x, x), dims));
  return call.SetResult(
      call.Multiply(x, call.Divide(call.ToComputeType(g), norm)));
}

}  // namespace

Value LayerNorm(OpImporter& call, Value input, Value weight, Value bias,
                int64_t axes, double eps) {
  return Normalize<ait::LayerNormOp>(call, input, weight, bias, axes, eps);
}

void RegisterNormalizationOps(Registry& registry) {
  registry.Add({"layer_norm", "native_layer_norm"}, BuildLayerNorm);
  registry.Add({"rms_norm", "_fused_rms_norm"}, BuildRmsNorm);
  registry.Add({"group_norm", "native_group_norm"}, BuildGroupNorm);
  registry.Add({"instance_norm"}, BuildInstanceNorm);
  registry.Add({"batch_norm", "native_batch_norm", "cudnn_batch_norm",
                "_native_batch_norm_legit_no_training"},
               BuildBatchNorm);
  registry.Add({"_weight_norm"}, BuildWeightNorm);
}

}  // namespace aitune::frontend
