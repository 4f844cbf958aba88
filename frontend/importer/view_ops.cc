// Views: other sizes, other axis orders, parts. The trace has no aliasing, so
// they are plain functions here.
#include <algorithm>

#include "absl/strings/str_cat.h"
#include "frontend/importer/registry.h"

namespace aitune::frontend {
namespace {

namespace ait = mlir::ait;
using llvm::SmallVector;
using mlir::AffineExpr;
using mlir::Value;

// Everything that keeps the elements' order: the trace knows the sizes.
absl::Status BuildReshape(OpImporter& call) {
  AITUNE_ASSIGN_OR_RETURN(Value self,
                          call.Tensor(call.Find("self") ? "self" : "input"));
  if (call.Find("dtype"))
    return Reject("reinterpreting the bits of another dtype is not supported");
  return call.SetResult(call.Reshape(self, call.ResultSizes()));
}

absl::Status BuildExpand(OpImporter& call) {
  AITUNE_ASSIGN_OR_RETURN(Value self, call.Tensor("self"));
  return call.SetResult(call.Expand(self, call.ResultSizes()));
}

absl::Status BuildPermute(OpImporter& call) {
  AITUNE_ASSIGN_OR_RETURN(Value self, call.Tensor("self"));
  AITUNE_ASSIGN_OR_RETURN(SmallVector<int64_t> dims, call.Ints("dims"));
  const int64_t rank = call.RankOf(self);
  SmallVector<bool> seen(rank, false);
  for (int64_t& dim : dims) {
    if (dim < 0) dim += rank;
    if (dim < 0 || dim >= rank || seen[dim])
      return Reject("argument 'dims' doesn't name each axis once");
    seen[dim] = true;
  }
  if (static_cast<int64_t>(dims.size()) != rank)
    return Reject("argument 'dims' doesn't name each axis once");
  return call.SetResult(call.Permute(self, dims));
}

absl::Status BuildTranspose(OpImporter& call, const char* first,
                            const char* second) {
  AITUNE_ASSIGN_OR_RETURN(Value self, call.Tensor("self"));
  AITUNE_ASSIGN_OR_RETURN(int64_t a, call.Dim(first, call.RankOf(self)));
  AITUNE_ASSIGN_OR_RETURN(int64_t b, call.Dim(second, call.RankOf(self)));
  return call.SetResult(call.Transpose(self, a, b));
}

// t, numpy_T, mT: the last two axes, or (reverse) all.
absl::Status BuildMatrixTranspose(OpImporter& call, bool reverse) {
  AITUNE_ASSIGN_OR_RETURN(Value self, call.Tensor("self"));
  const int64_t rank = call.RankOf(self);
  if (rank < 2) return call.SetResult(self);
  if (!reverse) return call.SetResult(call.Transpose(self, rank - 2, rank - 1));
  auto dims = llvm::to_vector(llvm::seq<int64_t>(0, rank));
  std::reverse(dims.begin(), dims.end());
  return call.SetResult(call.Permute(self, dims));
}

absl::Status BuildMoveDim(OpImporter& call) {
  AITUNE_ASSIGN_OR_RETURN(Value self, call.Tensor("self"));
  const int64_t rank = call.RankOf(self);
  AITUNE_ASSIGN_OR_RETURN(SmallVector<int64_t> source, call.Ints("source"));
  AITUNE_ASSIGN_OR_RETURN(SmallVector<int64_t> destination,
                          call.Ints("destination"));
  if (source.size() != destination.size())
    return Reject("source and destination differ in length");
  SmallVector<int64_t> dims(rank, -1);
  SmallVector<bool> moved(rank, false);
  for (size_t i = 0; i < source.size(); ++i) {
    const int64_t from = source[i] < 0 ? source[i] + rank : source[i];
    const int64_t to =
        destination[i] < 0 ? destination[i] + rank : destination[i];
    if (from < 0 || from >= rank || to < 0 || to >= rank || moved[from] ||
        dims[to] >= 0) {
      return Reject("source and destination don't name axes");
    }
    dims[to] = from;
    moved[from] = true;
  }
  int64_t next = 0;
  for (int64_t& dim : dims) {
    if (dim >= 0) continue;
    while (moved[next]) ++next;
    dim = next++;
  }
  return call.SetResult(call.Permute(self, dims));
}

// ---- Parts ----

absl::Status BuildSelect(OpImporter& call) {
  AITUNE_ASSIGN_OR_RETURN(Value self, call.Tensor("self"));
  const int64_t rank = call.RankOf(self);
  if (rank == 0) return Reject("a tensor of rank 0 has nothing to select");
  AITUNE_ASSIGN_OR_RETURN(int64_t dim, call.Dim("dim", rank));
  AITUNE_ASSIGN_OR_RETURN(AffineExpr index, call.Size("index"));
  if (call.state().sizes().Bounds(index).first < 0)
    index = index + call.SizesOf(self)[dim];
  return call.SetResult(
      call.Squeeze(call.Slice(self, dim, index, call.Constant(1)), {dim}));
}

absl::Status BuildSlice(OpImporter& call) {
  AITUNE_ASSIGN_OR_RETURN(Value self, call.Tensor("self"));
  const int64_t rank = call.RankOf(self);
  if (rank == 0) return Reject("a tensor of rank 0 has nothing to slice");
  AITUNE_ASSIGN_OR_RETURN(int64_t dim, call.Dim("dim", rank));
  AffineExpr start = call.Constant(0);
  if (!call.IsNone("start")) {
    AITUNE_ASSIGN_OR_RETURN(start, call.Size("start"));
  }
  AITUNE_ASSIGN_OR_RETURN(int64_t step, call.Int("step"));
  if (step < 1) return Reject(absl::StrCat("step ", step, " is not positive"));
  const AffineExpr size = call.SizesOf(self)[dim];
  if (call.state().sizes().Bounds(start).first < 0) start = start + size;
  // Past the beginning is the beginning.
  if (call.state().sizes().Bounds(start).second <= 0) start = call.Constant(0);
  const Sizes result = call.ResultSizes();
  if (static_cast<int64_t>(result.size()) != rank)
    return Reject("the result's rank differs from the input's");
  return call.SetResult(call.Slice(self, dim, start, result[dim], step));
}

absl::Status BuildNarrow(OpImporter& call) {
  AITUNE_ASSIGN_OR_RETURN(Value self, call.Tensor("self"));
  if (call.RankOf(self) == 0)
    return Reject("a tensor of rank 0 has nothing to narrow");
  AITUNE_ASSIGN_OR_RETURN(int64_t dim, call.Dim("dim", call.RankOf(self)));
  AITUNE_ASSIGN_OR_RETURN(AffineExpr start, call.Size("start"));
  AITUNE_ASSIGN_OR_RETURN(AffineExpr length, call.Size("length"));
  if (call.state().sizes().Bounds(start).first < 0)
    start = start + call.SizesOf(self)[dim];
  return call.SetResult(call.Slice(self, dim, start, length));
}

// split, chunk, tensor_split, unbind: one part after the other, as long as the
// trace says.
absl::Status BuildParts(OpImporter& call, bool drop_axis) {
  AITUNE_ASSIGN_OR_RETURN(Value self, call.Tensor("self"));
  const int64_t rank = call.RankOf(self);
  if (rank == 0) return Reject("a tensor of rank 0 can't be split");
  int64_t dim = 0;
  if (call.Find("dim")) {
    AITUNE_ASSIGN_OR_RETURN(dim, call.Dim("dim", rank));
  }
  AffineExpr start = call.Constant(0);
  for (int i = 0; i < static_cast<int>(call.op().results.size()); ++i) {
    const Sizes sizes = call.ResultSizes(i);
    if (static_cast<int64_t>(sizes.size()) != rank - (drop_axis ? 1 : 0)) {
      return Reject("a part's rank differs from what is expected");
    }
    const AffineExpr size = drop_axis ? call.Constant(1) : sizes[dim];
    Value part = call.Slice(self, dim, start, size);
    AITUNE_RETURN_IF_ERROR(
        call.SetResult(drop_axis ? call.Squeeze(part, {dim}) : part, i));
    start = start + size;
  }
  return absl::OkStatus();
}

absl::Status BuildBroadcastTensors(OpImporter& call) {
  AITUNE_ASSIGN_OR_RETURN(SmallVector<Value> tensors, call.Tensors("tensors"));
  if (tensors.size() != call.op().results.size())
    return Reject("one result a tensor is expected");
  for (int i = 0; i < static_cast<int>(tensors.size()); ++i) {
    if (!tensors[i]) return Reject("a tensor is None");
    if (!call.HasResult(i)) continue;
    AITUNE_RETURN_IF_ERROR(
        call.SetResult(call.Expand(tensors[i], call.ResultSizes(i)), i));
  }
  return absl::OkStatus();
}

absl::Status BuildMeshgrid(OpImporter& call) {
  AITUNE_ASSIGN_OR_RETURN(SmallVector<Value> tensors, call.Tensors("tensors"));
  const int64_t count = tensors.size();
  if (count != static_cast<int64_t>(call.op().results.size()))
    return Reject("one result a tensor is expected");
  std::string indexing = "ij";
  if (!call.IsNone("indexing")) {
    AITUNE_ASSIGN_OR_RETURN(indexing, call.String("indexing"));
  }
  for (int64_t i = 0; i < count; ++i) {
    if (!tensors[i] || call.RankOf(tensors[i]) > 1)
      return Reject("tensors of rank 0 or 1 are expected");
    if (!call.HasResult(i)) continue;
    const int64_t axis = indexing == "xy" && i < 2 && count > 1 ? 1 - i : i;
    Sizes sizes(count, call.Constant(1));
    sizes[axis] = call.Product(call.SizesOf(tensors[i]));
    AITUNE_RETURN_IF_ERROR(call.SetResult(
        call.Expand(call.Reshape(tensors[i], sizes), call.ResultSizes(i)), i));
  }
  return absl::OkStatus();
}

absl::Status BuildDiagonal(OpImporter& call) {
  AITUNE_ASSIGN_OR_RETURN(Value self, call.Tensor("self"));
  const int64_t rank = call.RankOf(self);
  if (rank < 2) return Reject("a diagonal needs two axes");
  AITUNE_ASSIGN_OR_RETURN(int64_t offset, call.Int("offset"));
  AITUNE_ASSIGN_OR_RETURN(int64_t dim1, call.Dim("dim1", rank));
  AITUNE_ASSIGN_OR_RETURN(int64_t dim2, call.Dim("dim2", rank));
  if (dim1 == dim2) return Reject("a diagonal needs two axes");
  const Sizes result = call.ResultSizes();
  if (static_cast<int64_t>(result.size()) != rank - 1)
    return Reject("the result's rank is not the input's less one");
  return call.SetResult(call.Diagonal(self, dim1, dim2, offset, result.back()));
}

// Overlapping windows of one axis as a new last axis.
absl::Status BuildUnfold(OpImporter& call) {
  AITUNE_ASSIGN_OR_RETURN(Value self, call.Tensor("self"));
  const int64_t rank = call.RankOf(self);
  if (rank == 0) return Reject("a tensor of rank 0 can't be unfolded");
  AITUNE_ASSIGN_OR_RETURN(int64_t dim, call.Dim("dimension", rank));
  AITUNE_ASSIGN_OR_RETURN(int64_t size, call.Int("size"));
  AITUNE_ASSIGN_OR_RETURN(int64_t step, call.Int("step"));
  if (step < 1 || size < 1) return Reject("size and step must be positive");
  const Sizes result = call.ResultSizes();
  if (static_cast<int64_t>(result.size()) != rank + 1)
    return Reject("the result's rank is not the input's plus one");
  const Sizes grid = {result[dim], call.Constant(size)};
  Value index = call.Add(call.Iota(grid, 0, 0, step, DataType::kInt64),
                         call.Iota(grid, 1, 0, 1, DataType::kInt64));
  Value windows = call.IndexSelect(self, dim, call.Flatten(index, 0, 1));
  Sizes sizes = call.SizesOf(self);
  sizes[dim] = result[dim];
  sizes.insert(sizes.begin() + dim + 1, call.Constant(size));
  SmallVector<int64_t> order;
  for (int64_t axis = 0; axis <= rank; ++axis) {
    if (axis != dim + 1) order.push_back(axis);
  }
  order.push_back(dim + 1);
  return call.SetResult(call.Permute(call.Reshape(windows, sizes), order));
}

// ---- Pixels and channels ----

absl::Status BuildPixelShuffle(OpImporter& call) {
  AITUNE_ASSIGN_OR_RETURN(Value self, call.Tensor("self"));
  AITUNE_ASSIGN_OR_RETURN(int64_t factor, call.Int("upscale_factor"));
  const int64_t rank = call.RankOf(self);
  if (rank < 3 || factor < 1)
    return Reject("an image and a positive factor are expected");
  Sizes sizes = call.SizesOf(self);
  const AffineExpr channels = sizes[rank - 3].floorDiv(factor * factor);
  const AffineExpr height = sizes[rank - 2], width = sizes[rank - 1];
  sizes.resize(rank - 3);
  sizes.append(
      {channels, call.Constant(factor), call.Constant(factor), height, width});
  auto order = llvm::to_vector(llvm::seq<int64_t>(0, rank - 3));
  for (int64_t axis : {0, 3, 1, 4, 2}) order.push_back(rank - 3 + axis);
  return call.SetResult(call.Reshape(
      call.Permute(call.Reshape(self, sizes), order), call.ResultSizes()));
}

absl::Status BuildPixelUnshuffle(OpImporter& call) {
  AITUNE_ASSIGN_OR_RETURN(Value self, call.Tensor("self"));
  AITUNE_ASSIGN_OR_RETURN(int64_t factor, call.Int("downscale_factor"));
  const int64_t rank = call.RankOf(self);
  if (rank < 3 || factor < 1)
    return Reject("an image and a positive factor are expected");
  Sizes sizes = call.SizesOf(self);
  const AffineExpr channels = sizes[rank - 3];
  const AffineExpr height = sizes[rank - 2].floorDiv(factor),
                   width = sizes[rank - 1].floorDiv(factor);
  sizes.resize(rank - 3);
  sizes.append(
      {channels, height, call.Constant(factor), width, call.Constant(factor)});
  auto order = llvm::to_vector(llvm::seq<int64_t>(0, rank - 3));
  for (int64_t axis : {0, 2, 4, 1, 3}) order.push_back(rank - 3 + axis);
  return call.SetResult(call.Reshape(
      call.Permute(call.Reshape(self, sizes), order), call.ResultSizes()));
}

absl::Status BuildChannelShuffle(OpImporter& call) {
  AITUNE_ASSIGN_OR_RETURN(Value self, call.Tensor("self"));
  AITUNE_ASSIGN_OR_RETURN(int64_t groups, call.Int("groups"));
  if (call.RankOf(self) < 3 || groups < 1)
    return Reject("an image and a positive number of groups are expected");
  Sizes sizes = call.SizesOf(self);
  const AffineExpr channels = sizes[1];
  sizes[1] = call.Constant(groups);
  sizes.insert(sizes.begin() + 2, channels.floorDiv(groups));
  Value split = call.Reshape(self, sizes);
  return call.SetResult(
      call.Reshape(call.Transpose(split, 1, 2), call.ResultSizes()));
}

}  // namespace

void RegisterViewOps(Registry& registry) {
  registry.Add({"view", "reshape", "_unsafe_view", "_reshape_alias", "flatten",
                "unflatten", "unsqueeze", "squeeze", "ravel", "view_as",
                "reshape_as", "atleast_1d", "atleast_2d", "atleast_3d"},
               BuildReshape);
  registry.Add({"expand", "expand_as", "broadcast_to", "expand_copy"},
               BuildExpand);
  registry.Add({"broadcast_tensors"}, BuildBroadcastTensors);
  registry.Add({"permute"}, BuildPermute);
  registry.Add({"transpose"}, [](OpImporter& call) {
    return BuildTranspose(call, "dim0", "dim1");
  });
  registry.Add({"swapaxes"}, [](OpImporter& call) {
    return BuildTranspose(call, "axis0", "axis1");
  });
  registry.Add({"swapdims"}, [](OpImporter& call) {
    return BuildTranspose(call, "dim0", "dim1");
  });
  registry.Add({"t", "mT", "adjoint", "mH"}, [](OpImporter& call) {
    return BuildMatrixTranspose(call, false);
  });
  registry.Add({"numpy_T", "matrix_H"}, [](OpImporter& call) {
    return BuildMatrixTranspose(call, true);
  });
  registry.Add({"movedim", "moveaxis"}, BuildMoveDim);
  registry.Add({"select"}, BuildSelect);
  registry.Add({"slice"}, BuildSlice);
  registry.Add({"narrow"}, BuildNarrow);
  registry.Add({"split", "split_with_sizes", "chunk", "tensor_split",
                "unsafe_split", "unsafe_chunk", "unsafe_split_with_sizes"},
               [](OpImporter& call) { return BuildParts(call, false); });
  registry.Add({"unbind"},
               [](OpImporter& call) { return BuildParts(call, true); });
  registry.Add({"meshgrid"}, BuildMeshgrid);
  registry.Add({"diagonal"}, BuildDiagonal);
  registry.Add({"unfold"}, BuildUnfold);
  registry.Add({"pixel_shuffle"}, BuildPixelShuffle);
  registry.Add({"pixel_unshuffle"}, BuildPixelUnshuffle);
  registry.Add({"channel_shuffle", "native_channel_shuffle"},
               BuildChannelShuffle);
}

}  // namespace aitune::frontend
