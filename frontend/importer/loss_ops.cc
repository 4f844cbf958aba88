// Losses, which some models return beside their outputs.
#include "frontend/importer/registry.h"

namespace aitune::frontend {
namespace {

namespace ait = mlir::ait;
using mlir::Value;

// ATen's at::Reduction.
enum class Reduction { kNone = 0, kMean = 1, kSum = 2 };

absl::StatusOr<Reduction> ReadReduction(OpImporter& call) {
  AITUNE_ASSIGN_OR_RETURN(const int64_t number, call.Int("reduction"));
  if (number < 0 || number > 2) return Reject("the reduction is unknown");
  return static_cast<Reduction>(number);
}

llvm::SmallVector<int64_t> AllAxes(OpImporter& call, Value value) {
  llvm::SmallVector<int64_t> axes;
  for (int64_t axis = 0; axis < call.RankOf(value); ++axis)
    axes.push_back(axis);
  return axes;
}

// The sum of all elements, of rank 0.
Value SumAll(OpImporter& call, Value value) {
  return call.Reshape(call.Reduce<ait::SumOp>(value, AllAxes(call, value)), {});
}

absl::Status SetReduced(OpImporter& call, Value losses, Reduction reduction) {
  if (reduction == Reduction::kNone) return call.SetResult(losses);
  if (reduction == Reduction::kSum) return call.SetResult(SumAll(call, losses));
  const llvm::SmallVector<int64_t> axes = AllAxes(call, losses);
  return call.SetResult(
      call.Reshape(call.Reduce<ait::MeanOp>(losses, axes), {}));
}

struct Distances {
  Value signed_gap, gap;  // self - target, and its size
  Reduction reduction;
};

absl::StatusOr<Distances> ReadDistances(OpImporter& call) {
  AITUNE_ASSIGN_OR_RETURN(Value self, call.Tensor("self"));
  AITUNE_ASSIGN_OR_RETURN(Value target, call.Tensor("target"));
  AITUNE_ASSIGN_OR_RETURN(const Reduction reduction, ReadReduction(call));
  if (!IsFloatingPoint(call.ResultDataType()))
    return Reject("a loss of integers is not supported");
  Value gap =
      call.Subtract(call.ToComputeType(self), call.ToComputeType(target));
  return Distances{gap, call.Unary<ait::AbsOp>(gap), reduction};
}

absl::Status BuildMseLoss(OpImporter& call) {
  AITUNE_ASSIGN_OR_RETURN(const Distances d, ReadDistances(call));
  return SetReduced(call, call.Multiply(d.signed_gap, d.signed_gap),
                    d.reduction);
}

absl::Status BuildL1Loss(OpImporter& call) {
  AITUNE_ASSIGN_OR_RETURN(const Distances d, ReadDistances(call));
  return SetReduced(call, d.gap, d.reduction);
}

// Half a square up to `bend`, then a line; both times `scale`.
absl::Status SetBent(OpImporter& call, const Distances& d, double bend,
                     double scale) {
  Value square = call.Multiply(call.Multiply(d.gap, d.gap), 0.5 * scale);
  Value line = call.Multiply(call.Subtract(d.gap, 0.5 * bend), bend * scale);
  return SetReduced(
      call,
      call.Where(call.Compare<ait::LtOp>(d.gap, Scalar(bend)), square, line),
      d.reduction);
}

absl::Status BuildSmoothL1Loss(OpImporter& call) {
  AITUNE_ASSIGN_OR_RETURN(const Distances d, ReadDistances(call));
  AITUNE_ASSIGN_OR_RETURN(const double beta, call.Double("beta"));
  if (beta == 0) return SetReduced(call, d.gap, d.reduction);
  return SetBent(call, d, beta, 1 / beta);
}

absl::Status BuildHuberLoss(OpImporter& call) {
  AITUNE_ASSIGN_OR_RETURN(const Distances d, ReadDistances(call));
  AITUNE_ASSIGN_OR_RETURN(const double delta, call.Double("delta"));
  return SetBent(call, d, delta, 1);
}

// (1 - target) * self - weight * log(sigmoid(self)), where the weight of a
// target is 1, or for a target of 1 pos_weight.
absl::Status BuildBinaryCrossEntropyWithLogits(OpImporter& call) {
  AITUNE_ASSIGN_OR_RETURN(Value self, call.Tensor("self"));
  AITUNE_ASSIGN_OR_RETURN(Value target, call.Tensor("target"));
  AITUNE_ASSIGN_OR_RETURN(Value weight, call.OptionalTensor("weight"));
  AITUNE_ASSIGN_OR_RETURN(Value positive, call.OptionalTensor("pos_weight"));
  AITUNE_ASSIGN_OR_RETURN(const Reduction reduction, ReadReduction(call));
  if (!IsFloatingPoint(call.ResultDataType()))
    return Reject("a loss of integers is not supported");
  self = call.ToComputeType(self);
  target = call.ToComputeType(target);
  Value log = call.Unary<ait::LogSigmoidOp>(self);
  if (positive) {
    Value share = call.Subtract(call.ToComputeType(positive), 1.0);
    log = call.Multiply(call.Add(call.Multiply(share, target), 1.0), log);
  }
  Value rest = call.Subtract(call.FullLike(1, target), target);
  Value losses = call.Subtract(call.Multiply(rest, self), log);
  if (weight) losses = call.Multiply(losses, call.ToComputeType(weight));
  return SetReduced(call, losses, reduction);
}

// The negated entry that the target names along the axis of classes; of targets
// that are ignore_index 0, and the mean is of the others.
absl::Status SetNegativeLogLikelihood(OpImporter& call, Value logarithms) {
  AITUNE_ASSIGN_OR_RETURN(Value target, call.Tensor("target"));
  AITUNE_ASSIGN_OR_RETURN(const Reduction reduction, ReadReduction(call));
  AITUNE_ASSIGN_OR_RETURN(const int64_t ignored, call.Int("ignore_index"));
  if (!call.IsNone("weight"))
    return Reject("weights of classes are not supported");
  if (IsFloatingPoint(call.DataTypeOf(target)))
    return Reject("targets that are shares of classes are not supported");
  const int64_t rank = call.RankOf(logarithms);
  const int64_t classes = rank == 1 ? 0 : 1;
  if (rank == 0 || call.RankOf(target) != rank - 1)
    return Reject("the target is not one class for each element");
  Sizes elements = call.SizesOf(logarithms);
  elements.erase(elements.begin() + classes);
  if (!call.SameSizes(elements, call.SizesOf(target)))
    return Reject("the target differs in its sizes");
  target = call.Unsqueeze(call.Convert(target, DataType::kInt64), classes);
  Value counts = call.Compare<ait::NeOp>(target, Scalar(ignored));
  Value index =
      call.CheckIndex(call.Where(counts, target, call.FullLike(0, target)),
                      call.SizesOf(logarithms)[classes]);
  Value picked = ait::GatherOp::create(
      call.builder(), call.location(),
      call.TypeOf(call.SizesOf(index), call.DataTypeOf(logarithms)), logarithms,
      index, classes);
  Value losses = call.Where(counts, call.Unary<ait::NegOp>(picked),
                            call.FullLike(0, picked));
  if (reduction == Reduction::kNone)
    return call.SetResult(call.Squeeze(losses, {classes}));
  Value sum = SumAll(call, losses);
  if (reduction == Reduction::kSum) return call.SetResult(sum);
  return call.SetResult(call.Divide(
      sum, SumAll(call, call.Convert(counts, call.DataTypeOf(losses)))));
}

absl::Status BuildNllLoss(OpImporter& call) {
  AITUNE_ASSIGN_OR_RETURN(Value self, call.Tensor("self"));
  return SetNegativeLogLikelihood(call, call.ToComputeType(self));
}

absl::Status BuildCrossEntropyLoss(OpImporter& call) {
  AITUNE_ASSIGN_OR_RETURN(Value self, call.Tensor("self"));
  AITUNE_ASSIGN_OR_RETURN(const double smoothing,
                          call.Double("label_smoothing"));
  if (smoothing != 0) return Reject("label smoothing is not supported");
  const int64_t rank = call.RankOf(self);
  if (rank == 0) return Reject("a tensor of rank 0 has no classes");
  return SetNegativeLogLikelihood(
      call, call.Softmax(call.ToComputeType(self), rank == 1 ? 0 : 1,
                         /*log=*/true));
}

}  // namespace

void RegisterLossOps(Registry& registry) {
  registry.Add({"mse_loss"}, BuildMseLoss);
  registry.Add({"l1_loss"}, BuildL1Loss);
  registry.Add({"smooth_l1_loss"}, BuildSmoothL1Loss);
  registry.Add({"huber_loss"}, BuildHuberLoss);
  registry.Add({"binary_cross_entropy_with_logits"},
               BuildBinaryCrossEntropyWithLogits);
  registry.Add({"nll_loss", "nll_loss_nd"}, BuildNllLoss);
  registry.Add({"cross_entropy_loss"}, BuildCrossEntropyLoss);
}

}  // namespace aitune::frontend
