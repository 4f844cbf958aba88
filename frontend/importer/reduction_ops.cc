// Reductions, softmax and running sums.
#include <cmath>
#include <limits>

#include "absl/strings/str_cat.h"
#include "frontend/importer/registry.h"

namespace aitune::frontend {

namespace {

namespace ait = mlir::ait;
using llvm::SmallVector;
using mlir::Value;

// The arguments that reductions share; dim, keepdim may be missing.
struct Reduction {
  Value self;
  SmallVector<int64_t> dims;
  bool keep_dims = false;
};

absl::StatusOr<Reduction> ReadReduction(OpImporter& call) {
  Reduction reduction;
  AITUNE_ASSIGN_OR_RETURN(reduction.self, call.Tensor("self"));
  AITUNE_ASSIGN_OR_RETURN(reduction.dims,
                          call.Dims("dim", call.RankOf(reduction.self)));
  if (call.Find("keepdim")) {
    AITUNE_ASSIGN_OR_RETURN(reduction.keep_dims, call.Bool("keepdim"));
  }
  return reduction;
}

// Sets a result from a value whose reduced axes have size 1.
absl::Status SetReduced(OpImporter& call, const Reduction& reduction,
                        Value value, int index = 0) {
  return call.SetResult(
      reduction.keep_dims ? value : call.Squeeze(value, reduction.dims), index);
}

// sum, mean and prod: in the result's dtype. Sums of bool are true or false.
template <typename Op>
absl::Status BuildAccumulation(OpImporter& call) {
  AITUNE_ASSIGN_OR_RETURN(Reduction reduction, ReadReduction(call));
  Value value = call.Convert(reduction.self, call.ResultDataType());
  const bool is_any = std::is_same_v<Op, ait::SumOp> &&
                      call.ResultDataType() == DataType::kBool;
  return SetReduced(call, reduction,
                    is_any ? call.Reduce<ait::AnyOp>(value, reduction.dims)
                           : call.Reduce<Op>(value, reduction.dims));
}

absl::Status BuildNanSum(OpImporter& call) {
  AITUNE_ASSIGN_OR_RETURN(Reduction reduction, ReadReduction(call));
  Value value = reduction.self;
  if (IsFloatingPoint(call.DataTypeOf(value))) {
    value = call.Where(call.Predicate<ait::IsNanOp>(value),
                       call.FullLike(0, value), value);
  }
  value = call.Convert(value, call.ResultDataType());
  return SetReduced(call, reduction,
                    call.Reduce<ait::SumOp>(value, reduction.dims));
}

absl::Status BuildCountNonzero(OpImporter& call) {
  AITUNE_ASSIGN_OR_RETURN(Reduction reduction, ReadReduction(call));
  Value ones = call.Convert(call.Convert(reduction.self, DataType::kBool),
                            DataType::kInt64);
  return SetReduced(call, reduction,
                    call.Reduce<ait::SumOp>(ones, reduction.dims));
}

template <typename Op>
absl::Status BuildTruth(OpImporter& call) {
  AITUNE_ASSIGN_OR_RETURN(Reduction reduction, ReadReduction(call));
  Value value = call.Convert(reduction.self, DataType::kBool);
  return SetReduced(call, reduction, call.Reduce<Op>(value, reduction.dims));
}

enum class Extreme { kGreatest, kLeast };

Value ReduceToExtreme(OpImporter& call, Extreme extreme, Value value,
                      llvm::ArrayRef<int64_t> dims) {
  if (call.DataTypeOf(value) == DataType::kBool) {
    return extreme == Extreme::kGreatest ? call.Reduce<ait::AnyOp>(value, dims)
                                         : call.Reduce<ait::AllOp>(value, dims);
  }
  return extreme == Extreme::kGreatest ? call.Reduce<ait::AmaxOp>(value, dims)
                                       : call.Reduce<ait::AminOp>(value, dims);
}

// Positions along one axis, which stays with size 1.
Value ReduceToPosition(OpImporter& call, Extreme extreme, Value value,
                       int64_t dim) {
  if (call.DataTypeOf(value) == DataType::kBool)
    value = call.Convert(value, DataType::kInt32);
  if (call.RankOf(value) == 0) return call.Full(0, {}, DataType::kInt64);
  const mlir::RankedTensorType type =
      call.ReducedType(value, {dim}, DataType::kInt64);
  if (extreme == Extreme::kGreatest)
    return ait::ArgmaxOp::create(call.builder(), call.location(), type, value,
                                 dim);
  return ait::ArgminOp::create(call.builder(), call.location(), type, value,
                               dim);
}

template <Extreme kExtreme>
absl::Status BuildAmax(OpImporter& call) {
  AITUNE_ASSIGN_OR_RETURN(Reduction reduction, ReadReduction(call));
  return SetReduced(
      call, reduction,
      ReduceToExtreme(call, kExtreme, reduction.self, reduction.dims));
}

// max and min: of two tensors, of all elements, or values and positions along
// an axis.
template <Extreme kExtreme>
absl::Status BuildMax(OpImporter& call) {
  if (call.Find("other")) {
    const char* binary =
        kExtreme == Extreme::kGreatest ? "aten::maximum" : "aten::minimum";
    return (*Registry::Get().Find(binary))(call);
  }
  AITUNE_RETURN_IF_ERROR(BuildAmax<kExtreme>(call));
  if (!call.IsResultUsed(1)) return absl::OkStatus();
  AITUNE_ASSIGN_OR_RETURN(Reduction reduction, ReadReduction(call));
  const int64_t dim = reduction.dims.empty() ? 0 : reduction.dims[0];
  return SetReduced(call, reduction,
                    ReduceToPosition(call, kExtreme, reduction.self, dim), 1);
}

absl::Status BuildAminMax(OpImporter& call) {
  AITUNE_ASSIGN_OR_RETURN(Reduction reduction, ReadReduction(call));
  AITUNE_RETURN_IF_ERROR(SetReduced(
      call, reduction,
      ReduceToExtreme(call, Extreme::kLeast, reduction.self, reduction.dims),
      0));
  return SetReduced(
      call, reduction,
      ReduceToExtreme(call, Extreme::kGreatest, reduction.self, reduction.dims),
      1);
}

template <Extreme kExtreme>
absl::Status BuildArgmax(OpImporter& call) {
  AITUNE_ASSIGN_OR_RETURN(Value self, call.Tensor("self"));
  const int64_t rank = call.RankOf(self);
  if (rank == 0 || call.IsNone("dim")) {
    Value flat = call.Reshape(self, {call.Product(call.SizesOf(self))});
    return call.SetResult(call.Reshape(
        ReduceToPosition(call, kExtreme, flat, 0), call.ResultSizes()));
  }
  AITUNE_ASSIGN_OR_RETURN(int64_t dim, call.Dim("dim", rank));
  return call.SetResult(call.Reshape(
      ReduceToPosition(call, kExtreme, self, dim), call.ResultSizes()));
}

// ---- Moments ----

// Variance (and, as second result, mean) over dims; `standard_deviation` takes
// the root.
absl::Status BuildMoments(OpImporter& call, bool standard_deviation,
                          bool with_mean) {
  AITUNE_ASSIGN_OR_RETURN(Reduction reduction, ReadReduction(call));
  double correction = 1;
  if (call.Find("unbiased")) {
    AITUNE_ASSIGN_OR_RETURN(bool unbiased, call.Bool("unbiased"));
    correction = unbiased ? 1 : 0;
  } else if (!call.IsNone("correction")) {
    AITUNE_ASSIGN_OR_RETURN(correction, call.Double("correction"));
  }
  Value x = call.ToComputeType(reduction.self);
  // As ATen does on a CPU: squares may leave float32, and are summed there.
  if (!call.state().is_for_gpu()) x = call.Convert(x, DataType::kFloat64);
  Value mean = call.Reduce<ait::MeanOp>(x, reduction.dims);
  Value centred = call.Subtract(x, mean);
  Value variance =
      call.Reduce<ait::MeanOp>(call.Multiply(centred, centred), reduction.dims);
  if (correction != 0) {
    // The mean divides by the count; the variance by the count less correction.
    const Sizes sizes = call.SizesOf(x);
    mlir::AffineExpr count = call.Constant(1);
    for (int64_t dim : reduction.dims) count = count * sizes[dim];
    Value factor;
    if (std::optional<int64_t> fixed = call.StaticSize(count)) {
      const double n = static_cast<double>(*fixed);
      // As ATen: NaN (0 / 0) or infinity when nothing is left to divide by.
      factor = call.FullLike(n / std::max(n - correction, 0.0), variance);
    } else {
      Value n = call.Full(Scalar(count), call.SizesOf(variance),
                          call.DataTypeOf(variance));
      Value rest =
          call.Binary<ait::MaximumOp>(call.Subtract(n, correction), Scalar(0));
      factor = call.Divide(n, rest);
    }
    variance = call.Multiply(variance, factor);
  }
  if (standard_deviation) variance = call.Unary<ait::SqrtOp>(variance);
  AITUNE_RETURN_IF_ERROR(SetReduced(call, reduction, variance));
  return with_mean ? SetReduced(call, reduction, mean, 1) : absl::OkStatus();
}

// ---- Norms ----

Value Norm(OpImporter& call, Value x, double order,
           llvm::ArrayRef<int64_t> dims) {
  // Of one number LibTorch takes the magnitude, whose powers may overflow.
  const bool is_of_one = llvm::all_of(dims, [&](int64_t dim) {
    return call.StaticSize(call.SizesOf(x)[dim]) == 1;
  });
  if (is_of_one && order != 0)
    return call.Reduce<ait::SumOp>(call.Unary<ait::AbsOp>(x), dims);
  if (order == 2)
    return call.Unary<ait::SqrtOp>(
        call.Reduce<ait::SumOp>(call.Multiply(x, x), dims));
  if (order == 0) {
    Value nonzero =
        call.Convert(call.Compare<ait::NeOp>(x, Scalar(0)), call.DataTypeOf(x));
    return call.Reduce<ait::SumOp>(nonzero, dims);
  }
  Value magnitude = call.Unary<ait::AbsOp>(x);
  if (order == 1) return call.Reduce<ait::SumOp>(magnitude, dims);
  if (std::isinf(order)) {
    return ReduceToExtreme(call,
                           order > 0 ? Extreme::kGreatest : Extreme::kLeast,
                           magnitude, dims);
  }
  Value sum =
      call.Reduce<ait::SumOp>(call.Binary<ait::PowOp>(magnitude, order), dims);
  return call.Binary<ait::PowOp>(sum, 1 / order);
}

absl::Status BuildNorm(OpImporter& call) {
  AITUNE_ASSIGN_OR_RETURN(Reduction reduction, ReadReduction(call));
  double order = 2;
  bool given = false;
  for (const char* name : {"p", "ord"}) {
    if (call.IsNone(name)) continue;
    AITUNE_ASSIGN_OR_RETURN(order, call.Double(name));
    given = true;
  }
  if (call.op().name == "aten::linalg_norm" && given &&
      reduction.dims.size() != 1) {
    return Reject("matrix norms are not supported");
  }
  const DataType dtype = call.ResultDataType();
  if (!IsFloatingPoint(dtype))
    return Reject("norms of integers are not supported");
  Value x = call.ToComputeType(call.Convert(reduction.self, dtype));
  return SetReduced(call, reduction, Norm(call, x, order, reduction.dims));
}

absl::Status BuildCosineSimilarity(OpImporter& call) {
  AITUNE_ASSIGN_OR_RETURN(Value x1, call.Tensor("x1"));
  AITUNE_ASSIGN_OR_RETURN(Value x2, call.Tensor("x2"));
  AITUNE_ASSIGN_OR_RETURN(double eps, call.Double("eps"));
  const int64_t rank = std::max(call.RankOf(x1), call.RankOf(x2));
  AITUNE_ASSIGN_OR_RETURN(int64_t dim, call.Dim("dim", rank));
  const Sizes sizes = call.BroadcastSizes(call.SizesOf(x1), call.SizesOf(x2));
  // float16 has 0 for the default, 1e-8.
  const Scalar least = Scalar(eps).RoundedTo(call.ResultDataType());
  auto normalized = [&](Value x) {
    x = call.Expand(call.ToComputeType(call.Convert(x, call.ResultDataType())),
                    sizes);
    return call.Divide(
        x, call.Binary<ait::MaximumOp>(Norm(call, x, 2, {dim}), least));
  };
  if (rank == 0) return Reject("needs a tensor with axes");
  Value product = call.Multiply(normalized(x1), normalized(x2));
  return call.SetResult(
      call.Squeeze(call.Reduce<ait::SumOp>(product, {dim}), {dim}));
}

absl::Status BuildLogSumExp(OpImporter& call) {
  AITUNE_ASSIGN_OR_RETURN(Reduction reduction, ReadReduction(call));
  Value x =
      call.ToComputeType(call.Convert(reduction.self, call.ResultDataType()));
  Value greatest = call.Reduce<ait::AmaxOp>(x, reduction.dims);
  // Infinities would give inf - inf.
  greatest = call.Where(call.Predicate<ait::IsInfOp>(greatest),
                        call.FullLike(0, greatest), greatest);
  Value sum = call.Reduce<ait::SumOp>(
      call.Unary<ait::ExpOp>(call.Subtract(x, greatest)), reduction.dims);
  return SetReduced(call, reduction,
                    call.Add(call.Unary<ait::LogOp>(sum), greatest));
}

// ---- Along an axis ----

absl::Status BuildSoftmax(OpImporter& call, bool log) {
  AITUNE_ASSIGN_OR_RETURN(Value self, call.Tensor("self"));
  AITUNE_ASSIGN_OR_RETURN(int64_t dim, call.Dim("dim", call.RankOf(self)));
  if (!IsFloatingPoint(call.ResultDataType()))
    return Reject("softmax of integers needs a dtype argument");
  Value value = call.Convert(self, call.ResultDataType());
  if (call.RankOf(self) == 0) {
    // Not a constant: that of a NaN or an infinity is NaN.
    const Value row = call.Softmax(call.Unsqueeze(value, 0), 0, log);
    return call.SetResult(call.Squeeze(row, {0}));
  }
  return call.SetResult(call.Softmax(value, dim, log));
}

absl::Status BuildCumsum(OpImporter& call) {
  AITUNE_ASSIGN_OR_RETURN(Value self, call.Tensor("self"));
  AITUNE_ASSIGN_OR_RETURN(int64_t dim, call.Dim("dim", call.RankOf(self)));
  Value value = call.Convert(self, call.ResultDataType());
  if (call.RankOf(self) == 0) return call.SetResult(value);
  return call.SetResult(ait::CumsumOp::create(call.builder(), call.location(),
                                              value.getType(), value, dim));
}

}  // namespace

void RegisterReductionOps(Registry& registry) {
  registry.Add({"sum"}, BuildAccumulation<ait::SumOp>);
  registry.Add({"mean"}, BuildAccumulation<ait::MeanOp>);
  registry.Add({"prod"}, BuildAccumulation<ait::ProdOp>);
  registry.Add({"nansum"}, BuildNanSum);
  registry.Add({"count_nonzero"}, BuildCountNonzero);
  registry.Add({"any"}, BuildTruth<ait::AnyOp>);
  registry.Add({"all"}, BuildTruth<ait::AllOp>);
  registry.Add({"amax"}, BuildAmax<Extreme::kGreatest>);
  registry.Add({"amin"}, BuildAmax<Extreme::kLeast>);
  registry.Add({"max"}, BuildMax<Extreme::kGreatest>);
  registry.Add({"min"}, BuildMax<Extreme::kLeast>);
  registry.Add({"aminmax"}, BuildAminMax);
  registry.Add({"argmax"}, BuildArgmax<Extreme::kGreatest>);
  registry.Add({"argmin"}, BuildArgmax<Extreme::kLeast>);
  registry.Add({"var"}, [](OpImporter& call) {
    return BuildMoments(call, false, false);
  });
  registry.Add({"std"}, [](OpImporter& call) {
    return BuildMoments(call, true, false);
  });
  registry.Add({"var_mean"}, [](OpImporter& call) {
    return BuildMoments(call, false, true);
  });
  registry.Add({"std_mean"},
               [](OpImporter& call) { return BuildMoments(call, true, true); });
  registry.Add({"norm", "linalg_vector_norm", "linalg_norm", "frobenius_norm"},
               BuildNorm);
  registry.Add({"cosine_similarity"}, BuildCosineSimilarity);
  registry.Add({"logsumexp", "special_logsumexp"}, BuildLogSumExp);
  registry.Add({"softmax", "_softmax", "special_softmax"},
               [](OpImporter& call) { return BuildSoftmax(call, false); });
  registry.Add({"log_softmax", "_log_softmax", "special_log_softmax"},
               [](OpImporter& call) { return BuildSoftmax(call, true); });
  registry.Add({"cumsum"}, BuildCumsum);
}

}  // namespace aitune::frontend
