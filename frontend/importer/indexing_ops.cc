// Operators that read elements by index tensors.
#include <algorithm>

#include "frontend/importer/index_positions.h"
#include "frontend/importer/registry.h"

namespace aitune::frontend {
namespace {

namespace ait = mlir::ait;
using llvm::SmallVector;
using mlir::AffineExpr;
using mlir::Value;

absl::Status BuildEmbedding(OpImporter& call) {
  AITUNE_ASSIGN_OR_RETURN(Value weight, call.Tensor("weight"));
  AITUNE_ASSIGN_OR_RETURN(Value raw, call.Tensor("indices"));
  AITUNE_ASSIGN_OR_RETURN(Value indices, ToIndex(call, raw));
  if (call.RankOf(weight) != 2) return Reject("the weight is not a matrix");
  indices = call.CheckIndex(indices, call.SizesOf(weight)[0]);
  Sizes sizes = call.SizesOf(indices);
  sizes.push_back(call.SizesOf(weight)[1]);
  return call.SetResult(ait::EmbeddingOp::create(
      call.builder(), call.location(),
      call.TypeOf(sizes, call.DataTypeOf(weight)), weight, indices));
}

absl::Status BuildIndexSelect(OpImporter& call) {
  AITUNE_ASSIGN_OR_RETURN(Value self, call.Tensor("self"));
  AITUNE_ASSIGN_OR_RETURN(Value raw, call.Tensor("index"));
  AITUNE_ASSIGN_OR_RETURN(Value index, ToIndex(call, raw));
  if (call.RankOf(self) == 0)
    return Reject("a tensor of rank 0 has no axis to pick along");
  AITUNE_ASSIGN_OR_RETURN(int64_t dim, call.Dim("dim", call.RankOf(self)));
  if (call.RankOf(index) == 0) index = call.Unsqueeze(index, 0);
  index = call.CheckIndex(index, call.SizesOf(self)[dim]);
  return call.SetResult(call.IndexSelect(self, dim, index));
}

absl::Status SetGather(OpImporter& call, Value self, Value index, int64_t dim) {
  // Along the other axes only the index's part of the input is read.
  const Sizes sizes = call.SizesOf(index);
  for (int64_t axis = 0; axis < call.RankOf(self); ++axis) {
    if (axis != dim)
      self = call.Slice(self, axis, call.Constant(0), sizes[axis]);
  }
  AITUNE_RETURN_IF_ERROR(call.status());
  index = call.CheckIndex(index, call.SizesOf(self)[dim]);
  return call.SetResult(ait::GatherOp::create(
      call.builder(), call.location(),
      call.TypeOf(sizes, call.DataTypeOf(self)), self, index, dim));
}

absl::Status BuildGather(OpImporter& call) {
  AITUNE_ASSIGN_OR_RETURN(Value self, call.Tensor("self"));
  AITUNE_ASSIGN_OR_RETURN(Value raw, call.Tensor("index"));
  AITUNE_ASSIGN_OR_RETURN(Value index, ToIndex(call, raw));
  const int64_t rank = call.RankOf(self);
  if (rank == 0 || call.RankOf(index) != rank)
    return Reject("input and index differ in rank");
  AITUNE_ASSIGN_OR_RETURN(int64_t dim, call.Dim("dim", rank));
  return SetGather(call, self, index, dim);
}

absl::Status BuildTakeAlongDim(OpImporter& call) {
  AITUNE_ASSIGN_OR_RETURN(Value self, call.Tensor("self"));
  AITUNE_ASSIGN_OR_RETURN(Value raw, call.Tensor("indices"));
  AITUNE_ASSIGN_OR_RETURN(Value index, ToIndex(call, raw));
  if (call.IsNone("dim")) {
    self = call.Reshape(self, {call.Product(call.SizesOf(self))});
    index = call.Reshape(index, {call.Product(call.SizesOf(index))});
  }
  const int64_t rank = call.RankOf(self);
  if (rank == 0 || call.RankOf(index) != rank)
    return Reject("input and indices differ in rank");
  int64_t dim = 0;
  if (!call.IsNone("dim")) {
    AITUNE_ASSIGN_OR_RETURN(dim, call.Dim("dim", rank));
  }
  Sizes self_sizes = call.SizesOf(self), index_sizes = call.SizesOf(index);
  self_sizes[dim] = index_sizes[dim] = call.Constant(1);
  const Sizes common = call.BroadcastSizes(self_sizes, index_sizes);
  auto expand = [&](Value value) {
    Sizes sizes = common;
    sizes[dim] = call.SizesOf(value)[dim];
    return call.Expand(value, sizes);
  };
  if (!call.IsNone("dim")) {
    // Along an axis eager takes indices modulo its size.
    const Sizes sizes = call.SizesOf(index);
    index = call.Convert(index, DataType::kInt64);
    index = call.Binary<ait::RemainderOp>(
        index, call.CheckDivisor(call.Full(Scalar(call.SizesOf(self)[dim]),
                                           sizes, DataType::kInt64)));
  }
  self = expand(self);
  return SetGather(call, self, expand(index), dim);
}

// Picks entries of `self` by one index for each of its first `indices.size()`
// axes. The result's axes are the common axes of the indices, then the
// remaining axes of `self`.
Value PickFromFront(OpImporter& call, Value self,
                    llvm::ArrayRef<Value> indices) {
  const Sizes sizes = call.SizesOf(self);
  Value position = PositionsInMergedAxes(call, indices, sizes);
  const Sizes picked = call.SizesOf(position);
  if (call.RankOf(position) != 1)
    position = call.Reshape(position, {call.Product(picked)});
  Value merged =
      indices.size() > 1 ? call.Flatten(self, 0, indices.size() - 1) : self;
  Sizes result = picked;
  result.append(sizes.begin() + indices.size(), sizes.end());
  return call.Reshape(call.IndexSelect(merged, 0, position), result);
}

absl::Status BuildIndex(OpImporter& call) {
  AITUNE_ASSIGN_OR_RETURN(Value self, call.Tensor("self"));
  AITUNE_ASSIGN_OR_RETURN(SmallVector<Value> given, call.Tensors("indices"));
  const int64_t rank = call.RankOf(self);
  if (static_cast<int64_t>(given.size()) > rank)
    return Reject("there are more indices than axes");
  SmallVector<int64_t> indexed, others;
  SmallVector<Value> indices;
  for (int64_t axis = 0; axis < rank; ++axis) {
    if (axis >= static_cast<int64_t>(given.size()) || !given[axis]) {
      others.push_back(axis);
      continue;
    }
    if (call.DataTypeOf(given[axis]) == DataType::kUInt8)
      return Reject("a tensor of uint8 is a mask");
    AITUNE_ASSIGN_OR_RETURN(Value index, ToIndex(call, given[axis]));
    indexed.push_back(axis);
    indices.push_back(index);
  }
  if (indexed.empty()) return call.SetResult(self);
  if (indexed.size() == 1 && call.RankOf(indices[0]) <= 1) {
    const bool drop = call.RankOf(indices[0]) == 0;
    Value index = drop ? call.Unsqueeze(indices[0], 0) : indices[0];
    index = call.CheckIndex(index, call.SizesOf(self)[indexed[0]],
                            /*from_end=*/true);
    Value picked = call.IndexSelect(self, indexed[0], index);
    return call.SetResult(drop ? call.Squeeze(picked, {indexed[0]}) : picked);
  }
  SmallVector<int64_t> order(indexed);
  order.append(others);
  Value result = PickFromFront(call, call.Permute(self, order), indices);
  // Neighbouring indices leave their axes where they were; others, in front.
  const bool neighbours = indexed.back() - indexed.front() + 1 ==
                          static_cast<int64_t>(indexed.size());
  const int64_t before = neighbours ? indexed.front() : 0;
  const int64_t new_axes =
      call.RankOf(result) - static_cast<int64_t>(others.size());
  SmallVector<int64_t> back;
  for (int64_t axis = 0; axis < before; ++axis) back.push_back(new_axes + axis);
  for (int64_t axis = 0; axis < new_axes; ++axis) back.push_back(axis);
  for (int64_t axis = new_axes + before; axis < call.RankOf(result); ++axis)
    back.push_back(axis);
  return call.SetResult(call.Permute(result, back));
}

absl::Status BuildTake(OpImporter& call) {
  AITUNE_ASSIGN_OR_RETURN(Value self, call.Tensor("self"));
  AITUNE_ASSIGN_OR_RETURN(Value raw, call.Tensor("index"));
  AITUNE_ASSIGN_OR_RETURN(Value index, ToIndex(call, raw));
  Value flat = call.Reshape(self, {call.Product(call.SizesOf(self))});
  return call.SetResult(PickFromFront(call, flat, {index}));
}

absl::Status BuildOneHot(OpImporter& call) {
  AITUNE_ASSIGN_OR_RETURN(Value self, call.Tensor("self"));
  AITUNE_ASSIGN_OR_RETURN(int64_t classes, call.Int("num_classes"));
  if (classes < 0) return Reject("the number of classes depends on data");
  Sizes sizes = call.SizesOf(self);
  sizes.push_back(call.Constant(classes));
  Value classes_along =
      call.Iota(sizes, call.RankOf(self), 0, 1, call.DataTypeOf(self));
  self = call.CheckIndex(self, call.Constant(classes));
  Value index = call.Expand(call.Unsqueeze(self, call.RankOf(self)), sizes);
  return call.SetResult(call.Compare<ait::EqOp>(index, classes_along));
}

// triu and tril: zeros below or above a diagonal.
template <bool kUpper>
absl::Status BuildTriangle(OpImporter& call) {
  AITUNE_ASSIGN_OR_RETURN(Value self, call.Tensor("self"));
  AITUNE_ASSIGN_OR_RETURN(int64_t diagonal, call.Int("diagonal"));
  const Sizes sizes = call.SizesOf(self);
  const size_t rank = sizes.size();
  if (rank < 2) return Reject("a matrix is expected");
  const Sizes matrix = {sizes[rank - 2], sizes[rank - 1]};
  Value row = call.Iota(matrix, 0, diagonal, 1, DataType::kInt64);
  Value column = call.Iota(matrix, 1, 0, 1, DataType::kInt64);
  Value keep = kUpper ? call.Compare<ait::GeOp>(column, row)
                      : call.Compare<ait::LeOp>(column, row);
  return call.SetResult(call.Where(keep, self, call.FullLike(0, self)));
}

}  // namespace

void RegisterIndexingOps(Registry& registry) {
  registry.Add({"embedding"}, BuildEmbedding);
  registry.Add({"index_select"}, BuildIndexSelect);
  registry.Add({"gather"}, BuildGather);
  registry.Add({"take_along_dim"}, BuildTakeAlongDim);
  registry.Add({"index", "_unsafe_index"}, BuildIndex);
  registry.Add({"take"}, BuildTake);
  registry.Add({"one_hot"}, BuildOneHot);
  registry.Add({"triu"}, BuildTriangle<true>);
  registry.Add({"tril"}, BuildTriangle<false>);
}

}  // namespace aitune::frontend
