// Operators that write elements where index tensors say.
//
// A kernel computes each element of its result; it does not write to places
// that data says. So each element looks which of the indices name it: a table
// of size * written comparisons, for few indices.
#include "absl/strings/str_cat.h"
#include "frontend/importer/index_positions.h"
#include "frontend/importer/registry.h"

namespace aitune::frontend {
namespace {

namespace ait = mlir::ait;
using llvm::SmallVector;
using mlir::AffineExpr;
using mlir::Value;

// The most indices along an axis; more are better written by LibTorch.
constexpr int64_t kMaxWritten = 128;
// The same where each comparison chooses among elements to be added up.
constexpr int64_t kMaxAdded = 32;

// The number of indices along the last axis, which are written to one of `size`
// entries; rejects too many.
absl::StatusOr<int64_t> CountWritten(OpImporter& call, Value index,
                                     AffineExpr size, int64_t most) {
  const std::optional<int64_t> count =
      call.StaticSize(call.SizesOf(index).back());
  if (!count || *count > most) {
    return Reject(absl::StrCat(
        "writing by index is supported for a static number of up to ", most,
        " indices along an axis"));
  }
  Sizes table = call.SizesOf(index);
  table.push_back(size);
  if (call.ComparesTooMany(table))
    return Reject("LibTorch is faster for so many entries and indices");
  return *count;
}

// For indices [..., K] into an axis of `size` entries: whether index k names
// entry n, as bool[..., size, K].
Value NamedBy(OpImporter& call, Value index, AffineExpr size) {
  const int64_t rank = call.RankOf(index);
  Sizes table = call.SizesOf(index);
  table.insert(table.end() - 1, size);
  Value entry = call.Iota(table, rank - 1, 0, 1, call.DataTypeOf(index));
  return call.Compare<ait::EqOp>(
      call.Expand(call.Unsqueeze(index, rank - 1), table), entry);
}

// The position along the last axis of the last index that names each entry, or
// -1 where none does: int64[..., size].
Value LastToName(OpImporter& call, Value index, AffineExpr size) {
  Value named = NamedBy(call, index, size);
  const int64_t last = call.RankOf(named) - 1;
  Value position = call.Iota(call.SizesOf(named), last, 0, 1, DataType::kInt64);
  Value written = call.Where(named, position, call.FullLike(-1, position));
  return call.Squeeze(call.Reduce<ait::AmaxOp>(written, {last}), {last});
}

// `value`, of rank 1 along axis `dim` of `sizes`, repeated along the others.
Value AlongAxis(OpImporter& call, Value value, int64_t dim,
                llvm::ArrayRef<AffineExpr> sizes) {
  Sizes along(sizes.size(), call.Constant(1));
  along[dim] = sizes[dim];
  return call.Expand(call.Reshape(value, along), sizes);
}

// `self` with entry k of `source`, along `dim`, at index k of `index`, of rank
// 1; of indices that are equal the last counts.
absl::StatusOr<Value> CopyEntries(OpImporter& call, Value self, int64_t dim,
                                  Value index, Value source) {
  AITUNE_ASSIGN_OR_RETURN(
      const int64_t count,
      CountWritten(call, index, call.SizesOf(self)[dim], kMaxWritten));
  if (count == 0) return self;
  const Sizes sizes = call.SizesOf(self);
  Value from = LastToName(call, index, sizes[dim]);
  Value written = call.Compare<ait::GeOp>(from, Scalar(0));
  from = call.Binary<ait::MaximumOp>(from, Scalar(0));
  return call.Where(AlongAxis(call, written, dim, sizes),
                    call.IndexSelect(source, dim, from), self);
}

// Whether an index names each entry: bool[..., size], of NamedBy's table.
Value IsNamed(OpImporter& call, Value named) {
  const int64_t last = call.RankOf(named) - 1;
  return call.Squeeze(call.Reduce<ait::AnyOp>(named, {last}), {last});
}

// target + sums where `is_named`; elsewhere target, also -0.
Value AddWhere(OpImporter& call, Value is_named, Value target, Value sums) {
  Value wide = call.ToComputeType(target);
  return call.Where(is_named, call.Add(wide, sums), wide);
}

// `self` plus, along `dim`, entry k of `source` at index k of `index`.
absl::StatusOr<Value> AddEntries(OpImporter& call, Value self, int64_t dim,
                                 Value index, Value source) {
  AITUNE_ASSIGN_OR_RETURN(
      const int64_t count,
      CountWritten(call, index, call.SizesOf(self)[dim], kMaxAdded));
  if (count == 0) return self;
  if (call.DataTypeOf(self) == DataType::kBool)
    return Reject("sums of bools are not supported");
  const int64_t rank = call.RankOf(self);
  // [..., size, K] with the written axis last.
  Value last = call.ToComputeType(call.Transpose(source, dim, rank - 1));
  Sizes table = call.SizesOf(last);
  table.insert(table.end() - 1, call.SizesOf(self)[dim]);
  if (call.ComparesTooMany(table))
    return Reject("LibTorch is faster for so many sums of entries");
  Value named = NamedBy(call, index, call.SizesOf(self)[dim]);
  Value is_named =
      AlongAxis(call, IsNamed(call, named), dim, call.SizesOf(self));
  named = call.Expand(named, table);
  last = call.Expand(call.Unsqueeze(last, rank - 1), table);
  Value chosen = call.Where(named, last, call.FullLike(0, last));
  Value sums = call.Squeeze(call.Reduce<ait::SumOp>(chosen, {rank}), {rank});
  return AddWhere(call, is_named, self, call.Transpose(sums, dim, rank - 1));
}

// ---- One index for each entry of an axis ----

struct AxisIndex {
  int64_t dim;
  Value index;  // of rank 1
};

// The arguments "dim" and "index" for `self`, which has axes.
absl::StatusOr<AxisIndex> ReadAxisIndex(OpImporter& call, Value self,
                                        bool from_end) {
  const int64_t rank = call.RankOf(self);
  if (rank == 0) return Reject("a tensor of rank 0 has no axis to write along");
  AITUNE_ASSIGN_OR_RETURN(const int64_t dim, call.Dim("dim", rank));
  AITUNE_ASSIGN_OR_RETURN(Value raw, call.Tensor("index"));
  AITUNE_ASSIGN_OR_RETURN(Value index, ToIndex(call, raw));
  if (call.RankOf(index) == 0) index = call.Unsqueeze(index, 0);
  return AxisIndex{dim,
                   call.CheckIndex(index, call.SizesOf(self)[dim], from_end)};
}

absl::StatusOr<Value> ReadSource(OpImporter& call, Value self,
                                 const AxisIndex& at) {
  AITUNE_ASSIGN_OR_RETURN(Value source, call.Tensor("source"));
  Sizes sizes = call.SizesOf(self);
  sizes[at.dim] = call.SizesOf(at.index)[0];
  if (call.RankOf(source) == 0) source = call.Unsqueeze(source, 0);
  if (!call.SameSizes(call.SizesOf(source), sizes))
    return Reject("the source is not one entry for each index");
  return call.Convert(source, call.DataTypeOf(self));
}

absl::Status BuildIndexCopy(OpImporter& call) {
  AITUNE_ASSIGN_OR_RETURN(Value self, call.Tensor("self"));
  AITUNE_ASSIGN_OR_RETURN(AxisIndex at,
                          ReadAxisIndex(call, self, /*from_end=*/false));
  AITUNE_ASSIGN_OR_RETURN(Value source, ReadSource(call, self, at));
  AITUNE_ASSIGN_OR_RETURN(Value result,
                          CopyEntries(call, self, at.dim, at.index, source));
  return call.SetResult(result);
}

absl::Status BuildIndexAdd(OpImporter& call) {
  AITUNE_ASSIGN_OR_RETURN(Value self, call.Tensor("self"));
  AITUNE_ASSIGN_OR_RETURN(AxisIndex at,
                          ReadAxisIndex(call, self, /*from_end=*/false));
  AITUNE_ASSIGN_OR_RETURN(Value source, ReadSource(call, self, at));
  AITUNE_ASSIGN_OR_RETURN(Scalar alpha, call.Number("alpha"));
  if (!alpha.is_static() || alpha.AsDouble() != 1)
    return Reject("alpha is not 1");
  AITUNE_ASSIGN_OR_RETURN(Value result,
                          AddEntries(call, self, at.dim, at.index, source));
  return call.SetResult(result);
}

absl::Status BuildIndexFill(OpImporter& call) {
  AITUNE_ASSIGN_OR_RETURN(Value self, call.Tensor("self"));
  AITUNE_ASSIGN_OR_RETURN(AxisIndex at,
                          ReadAxisIndex(call, self, /*from_end=*/true));
  AITUNE_ASSIGN_OR_RETURN(Operand value, call.TensorOrNumber("value"));
  AITUNE_ASSIGN_OR_RETURN(
      const int64_t count,
      CountWritten(call, at.index, call.SizesOf(self)[at.dim], kMaxWritten));
  if (count == 0) return call.SetResult(self);
  if (value.has_axes) return Reject("the value is not one number");
  AITUNE_RETURN_IF_ERROR(call.CheckFits(value, call.DataTypeOf(self)));
  const Sizes sizes = call.SizesOf(self);
  Value named = NamedBy(call, at.index, sizes[at.dim]);
  named = IsNamed(call, named);
  return call.SetResult(
      call.Where(AlongAxis(call, named, at.dim, sizes),
                 call.Materialize(value, call.DataTypeOf(self), {}), self));
}

// ---- One index for each element ----

// scatter of a tensor or a number, and scatter_add.
absl::Status BuildScatter(OpImporter& call, bool adds) {
  AITUNE_ASSIGN_OR_RETURN(Value self, call.Tensor("self"));
  if (call.Find("reduce")) return Reject("reductions are not supported");
  const int64_t rank = call.RankOf(self);
  AITUNE_ASSIGN_OR_RETURN(Value raw, call.Tensor("index"));
  AITUNE_ASSIGN_OR_RETURN(Value index, ToIndex(call, raw));
  if (rank == 0 || call.RankOf(index) != rank)
    return Reject("input and index differ in rank");
  AITUNE_ASSIGN_OR_RETURN(const int64_t dim, call.Dim("dim", rank));
  const Sizes sizes = call.SizesOf(self), written = call.SizesOf(index);
  for (int64_t axis = 0; axis < rank; ++axis) {
    if (axis != dim && !call.SameSize(sizes[axis], written[axis]))
      return Reject("the index is smaller than what is written to");
  }
  // From here on the axis that is written along is the last one.
  const AffineExpr size = sizes[dim];
  index = call.Transpose(call.CheckIndex(index, size), dim, rank - 1);
  AITUNE_ASSIGN_OR_RETURN(
      const int64_t count,
      CountWritten(call, index, size, adds ? kMaxAdded : kMaxWritten));
  if (count == 0) return call.SetResult(self);
  const DataType dtype = call.DataTypeOf(self);
  if (call.Find("value")) {
    AITUNE_ASSIGN_OR_RETURN(Scalar value, call.Number("value"));
    Value named = NamedBy(call, index, size);
    return call.SetResult(
        call.Where(call.Transpose(IsNamed(call, named), dim, rank - 1),
                   call.Full(value, {}, dtype), self));
  }
  AITUNE_ASSIGN_OR_RETURN(Value source, call.Tensor("src"));
  if (call.RankOf(source) != rank)
    return Reject("input and source differ in rank");
  for (int64_t axis = 0; axis < rank; ++axis)
    source = call.Slice(source, axis, call.Constant(0), written[axis]);
  AITUNE_RETURN_IF_ERROR(call.status());
  source = call.Transpose(call.Convert(source, dtype), dim, rank - 1);
  Value target = call.Transpose(self, dim, rank - 1);
  Value result;
  if (adds) {
    if (dtype == DataType::kBool)
      return Reject("sums of bools are not supported");
    Value named = NamedBy(call, index, size);
    Value chosen = call.ToComputeType(
        call.Expand(call.Unsqueeze(source, rank - 1), call.SizesOf(named)));
    chosen = call.Where(named, chosen, call.FullLike(0, chosen));
    result =
        AddWhere(call, IsNamed(call, named), target,
                 call.Squeeze(call.Reduce<ait::SumOp>(chosen, {rank}), {rank}));
  } else {
    Value from = LastToName(call, index, size);
    Value is_written = call.Compare<ait::GeOp>(from, Scalar(0));
    from = call.Binary<ait::MaximumOp>(from, Scalar(0));
    Value moved = ait::GatherOp::create(call.builder(), call.location(),
                                        call.TypeOf(call.SizesOf(from), dtype),
                                        source, from, rank - 1);
    result = call.Where(is_written, moved, target);
  }
  return call.SetResult(call.Transpose(result, dim, rank - 1));
}

// ---- index_put ----

// x[mask] = values, where all chosen elements, or rows, get the same.
absl::StatusOr<Value> PutByMask(OpImporter& call, Value self, Value mask,
                                int64_t before, Value values) {
  const int64_t after = call.RankOf(self) - before - call.RankOf(mask);
  if (after < 0) return Reject("the mask has more axes than the tensor");
  if (call.RankOf(values) > after &&
      call.StaticSize(call.Product(call.SizesOf(values))) != 1)
    return Reject("what is written differs from one place to the next");
  if (call.RankOf(values) > after) values = call.Reshape(values, {});
  Sizes sizes = call.SizesOf(mask);
  sizes.append(after, call.Constant(1));
  return call.Where(call.Reshape(mask, sizes), values, self);
}

// x[:, i, j] = values, with index tensors for neighbouring axes.
absl::StatusOr<Value> PutByIndices(OpImporter& call, Value self, int64_t before,
                                   llvm::ArrayRef<Value> given, Value values,
                                   bool accumulate) {
  SmallVector<Value> indices;
  for (Value raw : given) {
    if (!raw) return Reject("an axis between those with indices has none");
    if (call.DataTypeOf(raw) == DataType::kUInt8)
      return Reject("a tensor of uint8 is a mask");
    AITUNE_ASSIGN_OR_RETURN(Value index, ToIndex(call, raw));
    indices.push_back(index);
  }
  const Sizes sizes = call.SizesOf(self);
  const auto indexed =
      llvm::ArrayRef<AffineExpr>(sizes).slice(before, indices.size());
  Value position = PositionsInMergedAxes(call, indices, indexed);
  const Sizes places = call.SizesOf(position);
  const AffineExpr count = call.Product(places);
  // What is written, with one axis for all places.
  Sizes front(sizes.begin(), sizes.begin() + before);
  const Sizes back(sizes.begin() + before + indices.size(), sizes.end());
  Sizes wanted = front;
  wanted.append(places);
  wanted.append(back);
  values = call.Expand(values, wanted);
  wanted = front;
  wanted.push_back(count);
  wanted.append(back);
  values = call.Reshape(values, wanted);
  Sizes merged = front;
  merged.push_back(call.Product(indexed));
  merged.append(back);
  Value target = call.Reshape(self, merged);
  position = call.Reshape(position, {count});
  AITUNE_RETURN_IF_ERROR(call.status());
  AITUNE_ASSIGN_OR_RETURN(
      Value result, accumulate
                        ? AddEntries(call, target, before, position, values)
                        : CopyEntries(call, target, before, position, values));
  return call.Reshape(result, sizes);
}

absl::Status BuildIndexPut(OpImporter& call) {
  AITUNE_ASSIGN_OR_RETURN(Value self, call.Tensor("self"));
  AITUNE_ASSIGN_OR_RETURN(SmallVector<Value> given, call.Tensors("indices"));
  AITUNE_ASSIGN_OR_RETURN(Value values, call.Tensor("values"));
  AITUNE_ASSIGN_OR_RETURN(const bool accumulate, call.Bool("accumulate"));
  values = call.Convert(values, call.DataTypeOf(self));
  while (!given.empty() && !given.back()) given.pop_back();
  // Axes before the first index are taken whole.
  size_t before = 0;
  while (before < given.size() && !given[before]) ++before;
  const auto indices = llvm::ArrayRef<Value>(given).drop_front(before);
  if (indices.empty()) return Reject("no index says what is written");
  const bool has_mask = llvm::any_of(indices, [&](Value index) {
    return index && call.DataTypeOf(index) == DataType::kBool;
  });
  if (!has_mask && given.size() > static_cast<size_t>(call.RankOf(self)))
    return Reject("there are more indices than axes");
  if (has_mask && accumulate)
    return Reject("sums where a mask says are not supported");
  if (has_mask && indices.size() != 1)
    return Reject("a mask beside other indices is not supported");
  const int64_t front = static_cast<int64_t>(before);
  AITUNE_ASSIGN_OR_RETURN(
      Value result,
      has_mask ? PutByMask(call, self, indices[0], front, values)
               : PutByIndices(call, self, front, indices, values, accumulate));
  return call.SetResult(result);
}

}  // namespace

void RegisterScatterOps(Registry& registry) {
  registry.Add({"index_copy"}, BuildIndexCopy);
  registry.Add({"index_add"}, BuildIndexAdd);
  registry.Add({"index_fill"}, BuildIndexFill);
  registry.Add({"index_put"}, BuildIndexPut);
  registry.Add({"scatter"}, [](OpImporter& call) {
    return BuildScatter(call, /*adds=*/false);
  });
  registry.Add({"scatter_add"}, [](OpImporter& call) {
    return BuildScatter(call, /*adds=*/true);
  });
}

}  // namespace aitune::frontend
