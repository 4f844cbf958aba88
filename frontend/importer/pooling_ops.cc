// Pooling over windows of one, two and three dimensions; the dialect has the
// two-dimensional one.
#include <algorithm>

#include "absl/strings/str_cat.h"
#include "frontend/importer/registry.h"

namespace aitune::frontend {
namespace {

namespace ait = mlir::ait;
using llvm::ArrayRef;
using llvm::SmallVector;
using mlir::AffineExpr;
using mlir::Value;

enum class PoolKind { kMax, kAverage };

// More windows of uneven sizes than this along an axis are not unrolled.
constexpr int64_t kUnevenWindows = 64;

struct Pool {
  PoolKind kind = PoolKind::kMax;
  // One a spatial axis.
  SmallVector<int64_t> kernel, stride, padding, dilation;
  bool count_include_pad = true;
  std::optional<int64_t> divisor;
};

// input [N, C, H, W]; windows over the last two axes.
Value Pool2d(OpImporter& call, const Pool& pool, Value input,
             ArrayRef<AffineExpr> result_spatial) {
  const auto all = [](ArrayRef<int64_t> numbers, int64_t wanted) {
    return llvm::all_of(numbers, [&](int64_t n) { return n == wanted; });
  };
  if (all(pool.kernel, 1) && all(pool.stride, 1) && all(pool.padding, 0) &&
      !pool.divisor)
    return input;
  Sizes sizes = call.SizesOf(input);
  sizes.truncate(2);
  sizes.append(result_spatial.begin(), result_spatial.end());
  const mlir::RankedTensorType type =
      call.TypeOf(sizes, call.DataTypeOf(input));
  if (pool.kind == PoolKind::kMax) {
    return ait::MaxPool2dOp::create(call.builder(), call.location(), type,
                                    input, pool.kernel, pool.stride,
                                    pool.padding, pool.dilation);
  }
  mlir::IntegerAttr divisor;
  if (pool.divisor) divisor = call.builder().getI64IntegerAttr(*pool.divisor);
  return ait::AvgPool2dOp::create(call.builder(), call.location(), type, input,
                                  pool.kernel, pool.stride, pool.padding,
                                  pool.count_include_pad, divisor);
}

// The parts of `pool` along two of its axes; -1 is an axis of no extent.
Pool Along(const Pool& pool, int64_t first, int64_t second) {
  Pool part = pool;
  for (auto [numbers, from, none] :
       {std::tuple{&part.kernel, &pool.kernel, int64_t{1}},
        {&part.stride, &pool.stride, int64_t{1}},
        {&part.padding, &pool.padding, int64_t{0}},
        {&part.dilation, &pool.dilation, int64_t{1}}}) {
    *numbers = {first < 0 ? none : (*from)[first],
                second < 0 ? none : (*from)[second]};
  }
  return part;
}

// input [N, C, spatial...] of one to three spatial axes.
Value PoolSpatial(OpImporter& call, const Pool& pool, Value input,
                  ArrayRef<AffineExpr> result) {
  if (result.size() == 2) return Pool2d(call, pool, input, result);
  if (result.size() == 1) {
    Value row = call.Unsqueeze(input, 2);
    return call.Squeeze(
        Pool2d(call, Along(pool, -1, 0), row, {call.Constant(1), result[0]}),
        {2});
  }
  // Greatest and mean separate: planes first, then depth. Planes are a part of
  // the batch, which channels-last order leaves together.
  const Sizes sizes = call.SizesOf(input);
  const AffineExpr channels = sizes[1], depth = sizes[2];
  Value planes = Pool2d(call, Along(pool, 1, 2),
                        call.Flatten(call.Transpose(input, 1, 2), 0, 1),
                        result.drop_front());
  planes = call.Transpose(
      call.Reshape(planes, {sizes[0], depth, channels, result[1], result[2]}),
      1, 2);
  Value columns = call.Flatten(planes, 3, 4);
  Value pooled = Pool2d(call, Along(pool, 0, -1), columns,
                        {result[0], call.Product(result.drop_front())});
  return call.Reshape(pooled,
                      {sizes[0], channels, result[0], result[1], result[2]});
}

absl::Status BuildPool(OpImporter& call, PoolKind kind, int64_t spatial) {
  Pool pool;
  pool.kind = kind;
  AITUNE_ASSIGN_OR_RETURN(Value self, call.Tensor("self"));
  AITUNE_ASSIGN_OR_RETURN(pool.kernel, call.Ints("kernel_size", spatial));
  AITUNE_ASSIGN_OR_RETURN(pool.stride, call.Ints("stride"));
  if (pool.stride.empty()) {
    pool.stride = pool.kernel;
  } else {
    AITUNE_ASSIGN_OR_RETURN(pool.stride, call.Ints("stride", spatial));
  }
  AITUNE_ASSIGN_OR_RETURN(pool.padding, call.Ints("padding", spatial));
  pool.dilation.assign(spatial, 1);
  AITUNE_ASSIGN_OR_RETURN(bool ceil_mode, call.Bool("ceil_mode"));
  if (kind == PoolKind::kMax) {
    AITUNE_ASSIGN_OR_RETURN(pool.dilation, call.Ints("dilation", spatial));
  } else {
    AITUNE_ASSIGN_OR_RETURN(pool.count_include_pad,
                            call.Bool("count_include_pad"));
    if (!call.IsNone("divisor_override")) {
      AITUNE_ASSIGN_OR_RETURN(pool.divisor, call.Int("divisor_override"));
    }
    // Windows past the padding count fewer elements, and not axis by axis.
    if (spatial == 3 && (pool.divisor || ceil_mode)) {
      return Reject(
          "three-dimensional averages with divisor_override or ceil_mode are "
          "not supported");
    }
  }
  if (!IsFloatingPoint(call.DataTypeOf(self)))
    return Reject("pooling of integers is not supported");
  if (call.op().results.size() > 1 && call.IsResultUsed(1))
    return Reject("the positions of the greatest are not supported");
  const int64_t rank = call.RankOf(self);
  if (rank != spatial + 1 && rank != spatial + 2)
    return Reject(absl::StrCat("an input of rank ", rank, " is not expected"));
  const Sizes result = call.ResultSizes();
  if (static_cast<int64_t>(result.size()) != rank)
    return Reject("the result's rank is not the input's");
  const bool batched = rank == spatial + 2;
  if (!batched) self = call.Unsqueeze(self, 0);
  Value pooled = PoolSpatial(call, pool, self,
                             ArrayRef<AffineExpr>(result).take_back(spatial));
  return call.SetResult(batched ? pooled : call.Squeeze(pooled, {0}));
}

// ---- Adaptive: the number of windows is given ----

Value ReduceWindow(OpImporter& call, PoolKind kind, Value value,
                   ArrayRef<int64_t> dims) {
  return kind == PoolKind::kMax ? call.Reduce<ait::AmaxOp>(value, dims)
                                : call.Reduce<ait::MeanOp>(value, dims);
}

// Windows of one axis, which may overlap and differ in size by one.
absl::StatusOr<Value> PoolUnevenly(OpImporter& call, PoolKind kind, Value value,
                                   int64_t dim, int64_t windows) {
  const std::optional<int64_t> size = call.StaticSize(call.SizesOf(value)[dim]);
  if (!size || windows < 1 || windows > kUnevenWindows) {
    return Reject(
        "adaptive pooling of a dynamic axis, or to many windows of uneven "
        "sizes, is not supported");
  }
  if (*size == windows) return value;
  SmallVector<Value> parts;
  for (int64_t i = 0; i < windows; ++i) {
    const int64_t start = i * *size / windows;
    const int64_t end = ((i + 1) * *size + windows - 1) / windows;
    parts.push_back(ReduceWindow(
        call, kind, call.Slice(value, dim, start, end - start), {dim}));
  }
  return call.Concat(parts, dim);
}

absl::Status BuildAdaptivePool(OpImporter& call, PoolKind kind,
                               int64_t spatial) {
  AITUNE_ASSIGN_OR_RETURN(Value self, call.Tensor("self"));
  const int64_t rank = call.RankOf(self);
  if (rank != spatial + 1 && rank != spatial + 2)
    return Reject(absl::StrCat("an input of rank ", rank, " is not expected"));
  if (!IsFloatingPoint(call.DataTypeOf(self)))
    return Reject("pooling of integers is not supported");
  if (call.op().results.size() > 1 && call.IsResultUsed(1))
    return Reject("the positions of the greatest are not supported");
  const Sizes result = call.ResultSizes();
  if (static_cast<int64_t>(result.size()) != rank)
    return Reject("the result's rank is not the input's");
  const Sizes sizes = call.SizesOf(self);
  SmallVector<int64_t> to_one;
  bool even = spatial == 2 && rank == 4;
  Pool pool;
  pool.kind = kind;
  for (int64_t axis = rank - spatial; axis < rank; ++axis) {
    const std::optional<int64_t> from = call.StaticSize(sizes[axis]),
                                 to = call.StaticSize(result[axis]);
    if (to == 1) to_one.push_back(axis);
    even = even && from && to && *to > 0 && *from % *to == 0;
    if (even) pool.kernel.push_back(*from / *to);
  }
  if (static_cast<int64_t>(to_one.size()) == spatial)
    return call.SetResult(ReduceWindow(call, kind, self, to_one));
  if (call.SameSizes(sizes, result)) return call.SetResult(self);
  if (even) {
    pool.stride = pool.kernel;
    pool.padding = {0, 0};
    pool.dilation = {1, 1};
    return call.SetResult(
        Pool2d(call, pool, self, ArrayRef<AffineExpr>(result).take_back(2)));
  }
  // Means of means are rounded once, as in ATen.
  if (kind == PoolKind::kAverage) self = call.ToComputeType(self);
  for (int64_t axis = rank - spatial; axis < rank; ++axis) {
    if (call.SameSize(sizes[axis], result[axis])) continue;
    const std::optional<int64_t> windows = call.StaticSize(result[axis]);
    if (windows == 1) {
      self = ReduceWindow(call, kind, self, {axis});
    } else {
      AITUNE_ASSIGN_OR_RETURN(
          self, PoolUnevenly(call, kind, self, axis, windows.value_or(0)));
    }
  }
  return call.SetResult(self);
}

}  // namespace

void RegisterPoolingOps(Registry& registry) {
  registry.Add({"max_pool1d", "max_pool1d_with_indices"}, [](OpImporter& call) {
    return BuildPool(call, PoolKind::kMax, 1);
  });
  registry.Add({"max_pool2d", "max_pool2d_with_indices"}, [](OpImporter& call) {
    return BuildPool(call, PoolKind::kMax, 2);
  });
  registry.Add({"max_pool3d", "max_pool3d_with_indices"}, [](OpImporter& call) {
    return BuildPool(call, PoolKind::kMax, 3);
  });
  registry.Add({"avg_pool1d"}, [](OpImporter& call) {
    return BuildPool(call, PoolKind::kAverage, 1);
  });
  registry.Add({"avg_pool2d"}, [](OpImporter& call) {
    return BuildPool(call, PoolKind::kAverage, 2);
  });
  registry.Add({"avg_pool3d"}, [](OpImporter& call) {
    return BuildPool(call, PoolKind::kAverage, 3);
  });
  for (auto [spatial, average, max] :
       {std::tuple{1, "adaptive_avg_pool1d", "adaptive_max_pool1d"},
        {2, "adaptive_avg_pool2d", "adaptive_max_pool2d"},
        {3, "adaptive_avg_pool3d", "adaptive_max_pool3d"}}) {
    const int64_t axes = spatial;
    registry.Add({average}, [axes](OpImporter& call) {
      return BuildAdaptivePool(call, PoolKind::kAverage, axes);
    });
    registry.Add({max}, [axes](OpImporter& call) {
      return BuildAdaptivePool(call, PoolKind::kMax, axes);
    });
  }
}

}  // namespace aitune::frontend
