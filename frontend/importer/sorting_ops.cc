// Sorting along a short axis. Each entry's place is the number of entries that
// come before it: n^2 comparisons, no branches, and stable by construction.
#include <cmath>

#include "absl/strings/str_cat.h"
#include "frontend/importer/registry.h"

namespace aitune::frontend {
namespace {

namespace ait = mlir::ait;
using mlir::AffineExpr;
using mlir::Value;

// Longer axes are better sorted by LibTorch.
constexpr int64_t kMaxSorted = 128;

// Where `a` comes before `b`, ties aside: NaN counts as the greatest.
Value Precedes(OpImporter& call, Value a, Value b, bool descending) {
  Value before = descending ? call.Compare<ait::GtOp>(a, b)
                            : call.Compare<ait::LtOp>(a, b);
  if (!IsFloatingPoint(call.DataTypeOf(a))) return before;
  Value first = call.Predicate<ait::IsNanOp>(descending ? a : b);
  Value second =
      call.LogicalNot(call.Predicate<ait::IsNanOp>(descending ? b : a));
  return call.Binary<ait::BitwiseOrOp>(
      before, call.Binary<ait::BitwiseAndOp>(first, second));
}

// The positions along axis `dim` of the entries that come first to `count`-th.
absl::StatusOr<Value> SortedPositions(OpImporter& call, Value value,
                                      int64_t dim, int64_t count,
                                      bool descending) {
  const int64_t rank = call.RankOf(value);
  const std::optional<int64_t> size = call.StaticSize(call.SizesOf(value)[dim]);
  if (!size || *size > kMaxSorted) {
    return Reject(
        absl::StrCat("sorting is supported along static axes of up to ",
                     kMaxSorted, " entries"));
  }
  if (count < 0 || count > *size)
    return Reject(absl::StrCat(count, " of ", *size, " entries are wanted"));
  if (call.DataTypeOf(value) == DataType::kBool)
    value = call.Convert(value, DataType::kInt32);
  value = call.Transpose(value, dim, rank - 1);
  Sizes table = call.SizesOf(value);
  table.insert(table.end() - 1, call.Constant(*size));
  if (call.ComparesTooMany(table))
    return Reject("LibTorch sorts axes of so many entries faster");
  // Row i finds the place of entry i by comparing it with entry j in column j.
  Value own = call.Expand(call.Unsqueeze(value, rank), table);
  Value other = call.Expand(call.Unsqueeze(value, rank - 1), table);
  Value row = call.Iota(table, rank - 1, 0, 1, DataType::kInt64);
  Value column = call.Iota(table, rank, 0, 1, DataType::kInt64);
  Value precedes = Precedes(call, other, own, descending);
  Value tied = call.LogicalNot(call.Binary<ait::BitwiseOrOp>(
      precedes, Precedes(call, own, other, descending)));
  tied = call.Binary<ait::BitwiseAndOp>(tied,
                                        call.Compare<ait::LtOp>(column, row));
  Value counted = call.Convert(call.Binary<ait::BitwiseOrOp>(precedes, tied),
                               DataType::kInt64);
  Value place = call.Squeeze(call.Reduce<ait::SumOp>(counted, {rank}), {rank});
  // The entry of each place: the only one for which the place matches.
  Sizes match = table;
  match[rank - 1] = call.Constant(count);
  Value wanted = call.Iota(match, rank - 1, 0, 1, DataType::kInt64);
  Value matches = call.Compare<ait::EqOp>(
      call.Expand(call.Unsqueeze(place, rank - 1), match), wanted);
  Value entry = call.Iota(match, rank, 0, 1, DataType::kInt64);
  Value chosen = call.Where(matches, entry, call.FullLike(0, entry));
  Value positions =
      call.Squeeze(call.Reduce<ait::SumOp>(chosen, {rank}), {rank});
  return call.Transpose(positions, dim, rank - 1);
}

absl::Status SetSorted(OpImporter& call, int64_t dim,
                       std::optional<int64_t> count, bool descending,
                       bool values) {
  AITUNE_ASSIGN_OR_RETURN(Value self, call.Tensor("self"));
  if (call.RankOf(self) == 0) return Reject("a tensor of rank 0 has no order");
  const std::optional<int64_t> size = call.StaticSize(call.SizesOf(self)[dim]);
  AITUNE_ASSIGN_OR_RETURN(
      Value positions,
      SortedPositions(call, self, dim, count.value_or(size.value_or(0)),
                      descending));
  if (!values) return call.SetResult(positions);
  AITUNE_RETURN_IF_ERROR(call.SetResult(ait::GatherOp::create(
      call.builder(), call.location(),
      call.TypeOf(call.SizesOf(positions), call.DataTypeOf(self)), self,
      positions, dim)));
  return call.SetResult(positions, 1);
}

// Axes of up to so many entries are sorted by insertion in the standard library
// that LibTorch is built with, which leaves equal ones in their order.
constexpr int64_t kSortedInOrder = 16;

absl::Status BuildSort(OpImporter& call, bool values) {
  AITUNE_ASSIGN_OR_RETURN(Value self, call.Tensor("self"));
  AITUNE_ASSIGN_OR_RETURN(int64_t dim, call.Dim("dim", call.RankOf(self)));
  AITUNE_ASSIGN_OR_RETURN(bool descending, call.Bool("descending"));
  bool stable = false;
  if (call.Find("stable") && !call.IsNone("stable")) {
    AITUNE_ASSIGN_OR_RETURN(stable, call.Bool("stable"));
  }
  const bool uses_positions = !values || call.IsResultUsed(1);
  const std::optional<int64_t> size =
      call.RankOf(self) > 0 ? call.StaticSize(call.SizesOf(self)[dim]) : 1;
  if (!stable && uses_positions && (!size || *size > kSortedInOrder)) {
    return Reject(
        "in which order an unstable sort leaves equal entries is LibTorch's "
        "own affair, and the model uses the positions");
  }
  return SetSorted(call, dim, std::nullopt, descending, values);
}

// The least entry along an axis, of which NaN is the greatest.
Value LeastBesideNan(OpImporter& call, Value self, int64_t dim) {
  if (!IsFloatingPoint(call.DataTypeOf(self)))
    return call.Reduce<ait::AminOp>(self, {dim});
  const Value is_nan = call.Predicate<ait::IsNanOp>(self);
  const Value least = call.Reduce<ait::AminOp>(
      call.Where(is_nan, call.FullLike(INFINITY, self), self), {dim});
  const Value numbers = call.Reduce<ait::AmaxOp>(
      call.Where(is_nan, call.FullLike(0, self), call.FullLike(1, self)),
      {dim});
  return call.Where(call.Compare<ait::EqOp>(numbers, Scalar(0)),
                    call.FullLike(NAN, least), least);
}

absl::Status BuildTopK(OpImporter& call) {
  if (call.IsResultUsed(1)) {
    return Reject(
        "which of equal entries topk names is LibTorch's own affair, and the "
        "model uses the positions");
  }
  AITUNE_ASSIGN_OR_RETURN(Value self, call.Tensor("self"));
  AITUNE_ASSIGN_OR_RETURN(int64_t k, call.Int("k"));
  AITUNE_ASSIGN_OR_RETURN(int64_t dim, call.Dim("dim", call.RankOf(self)));
  AITUNE_ASSIGN_OR_RETURN(bool largest, call.Bool("largest"));
  if (k != 1 || call.RankOf(self) == 0 ||
      call.DataTypeOf(self) == DataType::kBool) {
    return SetSorted(call, dim, k, largest, /*values=*/true);
  }
  // One of any number of entries is a reduction.
  const mlir::RankedTensorType type =
      call.ReducedType(self, {dim}, DataType::kInt64);
  Value value = largest ? call.Reduce<ait::AmaxOp>(self, {dim})
                        : LeastBesideNan(call, self, dim);
  Value position = largest
                       ? Value(ait::ArgmaxOp::create(
                             call.builder(), call.location(), type, self, dim))
                       : Value(ait::ArgminOp::create(
                             call.builder(), call.location(), type, self, dim));
  AITUNE_RETURN_IF_ERROR(call.SetResult(value));
  return call.SetResult(position, 1);
}

}  // namespace

void RegisterSortingOps(Registry& registry) {
  registry.Add({"sort"}, [](OpImporter& call) {
    return BuildSort(call, /*values=*/true);
  });
  registry.Add({"argsort"}, [](OpImporter& call) {
    return BuildSort(call, /*values=*/false);
  });
  registry.Add({"topk"}, BuildTopK);
}

}  // namespace aitune::frontend
