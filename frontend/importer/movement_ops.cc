// Operators that move elements without looking at them: joins, repetition,
// rotation, reversal.
#include <algorithm>

#include "absl/strings/str_cat.h"
#include "frontend/importer/registry.h"
#include "frontend/importer/type_promotion.h"

namespace aitune::frontend {
namespace {

namespace ait = mlir::ait;
using llvm::SmallVector;
using mlir::AffineExpr;
using mlir::Value;

// The tensors of the list argument, converted to the result's dtype; rejects
// None. ATen allows an empty tensor of rank 1 in any list; such tensors are
// left out.
absl::StatusOr<SmallVector<Value>> ReadParts(OpImporter& call) {
  AITUNE_ASSIGN_OR_RETURN(SmallVector<Value> tensors, call.Tensors("tensors"));
  SmallVector<Value> parts;
  for (Value tensor : tensors) {
    if (!tensor) return Reject("a tensor is None");
    if (call.RankOf(tensor) == 1 &&
        call.StaticSize(call.SizesOf(tensor)[0]) == 0)
      continue;
    parts.push_back(call.Convert(tensor, call.ResultDataType()));
  }
  if (parts.empty()) return Reject("there is nothing to join");
  return parts;
}

// Sets the result to the parts joined along `dim`.
absl::Status SetJoined(OpImporter& call, llvm::ArrayRef<Value> parts,
                       int64_t dim) {
  // On a CPU each part of a row is a loop of its own, up to this many: code for
  // 300 takes ten seconds.
  constexpr size_t kMostParts = 128;
  if (!call.state().is_for_gpu() && parts.size() > kMostParts &&
      dim + 1 == call.RankOf(parts[0]))
    return Reject("LibTorch joins rows of so many parts faster");
  return call.SetResult(call.Concat(parts, dim));
}

absl::Status BuildCat(OpImporter& call) {
  AITUNE_ASSIGN_OR_RETURN(SmallVector<Value> parts, ReadParts(call));
  if (call.RankOf(parts[0]) == 0)
    return Reject("tensors of rank 0 can't be joined");
  AITUNE_ASSIGN_OR_RETURN(
      int64_t dim,
      call.Dim(call.Find("dim") ? "dim" : "axis", call.RankOf(parts[0])));
  return SetJoined(call, parts, dim);
}

absl::Status BuildStack(OpImporter& call) {
  AITUNE_ASSIGN_OR_RETURN(SmallVector<Value> parts, ReadParts(call));
  AITUNE_ASSIGN_OR_RETURN(int64_t dim,
                          call.Dim("dim", call.RankOf(parts[0]) + 1));
  for (Value& part : parts) {
    if (dim > call.RankOf(part)) return Reject("the tensors differ in rank");
    part = call.Unsqueeze(part, dim);
  }
  return SetJoined(call, parts, dim);
}

// hstack, vstack, dstack, column_stack: joins along `dim` after at least
// `rank` axes are there.
absl::Status BuildStackAlong(OpImporter& call, int64_t dim, int64_t rank,
                             bool columns) {
  AITUNE_ASSIGN_OR_RETURN(SmallVector<Value> parts, ReadParts(call));
  for (Value& part : parts) {
    while (call.RankOf(part) < rank) {
      // A vector becomes a row, or a column where columns are joined.
      const int64_t axes = call.RankOf(part);
      part =
          call.Unsqueeze(part, (columns && axes == 1) || axes >= 2 ? axes : 0);
    }
  }
  // Vectors are joined along their only axis.
  return SetJoined(call, parts, std::min(dim, call.RankOf(parts[0]) - 1));
}

// ---- Repetition ----

absl::Status BuildRepeat(OpImporter& call, const char* name) {
  AITUNE_ASSIGN_OR_RETURN(Value self, call.Tensor("self"));
  AITUNE_ASSIGN_OR_RETURN(Sizes repeats, call.SizeList(name));
  Sizes sizes = call.SizesOf(self);
  while (repeats.size() < sizes.size())
    repeats.insert(repeats.begin(), call.Constant(1));
  while (sizes.size() < repeats.size())
    sizes.insert(sizes.begin(), call.Constant(1));
  // Each repeated axis gets an axis of its own before it.
  Sizes split, repeated;
  for (size_t i = 0; i < sizes.size(); ++i) {
    const std::optional<int64_t> count = call.StaticSize(repeats[i]);
    if (count == 1) {
      split.push_back(sizes[i]);
      repeated.push_back(sizes[i]);
    } else if (call.StaticSize(sizes[i]) == 1) {
      split.push_back(sizes[i]);
      repeated.push_back(repeats[i]);
    } else {
      split.append({call.Constant(1), sizes[i]});
      repeated.append({repeats[i], sizes[i]});
    }
  }
  Value expanded = call.Expand(call.Reshape(self, split), repeated);
  return call.SetResult(call.Reshape(expanded, call.ResultSizes()));
}

absl::Status BuildRepeatInterleave(OpImporter& call) {
  AITUNE_ASSIGN_OR_RETURN(Value self, call.Tensor("self"));
  AITUNE_ASSIGN_OR_RETURN(AffineExpr repeats, call.Size("repeats"));
  int64_t dim = 0;
  if (call.IsNone("dim")) {
    self = call.Reshape(self, {call.Product(call.SizesOf(self))});
  } else {
    AITUNE_ASSIGN_OR_RETURN(dim, call.Dim("dim", call.RankOf(self)));
  }
  if (call.RankOf(self) == 0)
    return Reject("a tensor of rank 0 has no axis to repeat along");
  Sizes sizes = call.SizesOf(self);
  sizes.insert(sizes.begin() + dim + 1, repeats);
  return call.SetResult(call.Flatten(
      call.Expand(call.Unsqueeze(self, dim + 1), sizes), dim, dim + 1));
}

// ---- Rotation and reversal ----

Value Roll(OpImporter& call, Value value, int64_t dim, int64_t shift) {
  const AffineExpr size = call.SizesOf(value)[dim];
  if (std::optional<int64_t> fixed = call.StaticSize(size)) {
    if (*fixed == 0) return value;
    shift = (shift % *fixed + *fixed) % *fixed;
  }
  if (shift == 0) return value;
  // The last `shift` entries come first (for a negative one: the first last).
  const AffineExpr cut = shift > 0 ? size - shift : call.Constant(-shift);
  Value tail = call.Slice(value, dim, cut, size - cut);
  return call.Concat({tail, call.Slice(value, dim, call.Constant(0), cut)},
                     dim);
}

absl::Status BuildRoll(OpImporter& call) {
  AITUNE_ASSIGN_OR_RETURN(Value self, call.Tensor("self"));
  AITUNE_ASSIGN_OR_RETURN(SmallVector<int64_t> shifts, call.Ints("shifts"));
  AITUNE_ASSIGN_OR_RETURN(SmallVector<int64_t> dims, call.Ints("dims"));
  const int64_t rank = call.RankOf(self);
  if (dims.empty() && shifts.size() == 1) {
    Value flat = call.Reshape(self, {call.Product(call.SizesOf(self))});
    return call.SetResult(
        call.Reshape(Roll(call, flat, 0, shifts[0]), call.SizesOf(self)));
  }
  if (dims.size() != shifts.size())
    return Reject("shifts and dims differ in length");
  for (size_t i = 0; i < dims.size(); ++i) {
    const int64_t dim = dims[i] < 0 ? dims[i] + rank : dims[i];
    if (dim < 0 || dim >= rank) return Reject("argument 'dims' names no axis");
    self = Roll(call, self, dim, shifts[i]);
  }
  return call.SetResult(self);
}

absl::Status BuildFlip(OpImporter& call, std::optional<int64_t> axis) {
  AITUNE_ASSIGN_OR_RETURN(Value self, call.Tensor("self"));
  SmallVector<int64_t> dims;
  if (axis) {
    if (*axis >= call.RankOf(self))
      return Reject("the tensor has too few axes");
    dims = {*axis};
  } else {
    AITUNE_ASSIGN_OR_RETURN(
        dims, call.Dims("dims", call.RankOf(self), /*empty_is_all=*/false));
  }
  if (dims.empty()) return call.SetResult(self);
  return call.SetResult(ait::FlipOp::create(call.builder(), call.location(),
                                            self.getType(), self, dims));
}

// A quarter turn from dims[0] to dims[1], `k` times.
absl::Status BuildRotate(OpImporter& call) {
  AITUNE_ASSIGN_OR_RETURN(Value self, call.Tensor("self"));
  AITUNE_ASSIGN_OR_RETURN(const int64_t times, call.Int("k"));
  const int64_t rank = call.RankOf(self);
  // In this order, which tells the direction.
  AITUNE_ASSIGN_OR_RETURN(SmallVector<int64_t> dims, call.Ints("dims", 2));
  for (int64_t& dim : dims) {
    if (dim < -rank || dim >= rank) return Reject("an axis is out of range");
    if (dim < 0) dim += rank;
  }
  if (dims[0] == dims[1]) return Reject("two axes are expected");
  const int64_t turns = (times % 4 + 4) % 4;
  SmallVector<int64_t> flipped;
  if (turns == 1 || turns == 2) flipped.push_back(dims[1]);
  if (turns == 2 || turns == 3) flipped.push_back(dims[0]);
  if (!flipped.empty())
    self = ait::FlipOp::create(call.builder(), call.location(), self.getType(),
                               self, flipped);
  SmallVector<int64_t> order = llvm::to_vector(llvm::seq<int64_t>(0, rank));
  if (turns % 2 == 1) std::swap(order[dims[0]], order[dims[1]]);
  return call.SetResult(call.Permute(self, order));
}

// ---- Differences of neighbours ----

absl::Status BuildDiff(OpImporter& call) {
  AITUNE_ASSIGN_OR_RETURN(Value self, call.Tensor("self"));
  AITUNE_ASSIGN_OR_RETURN(int64_t times, call.Int("n"));
  if (call.RankOf(self) == 0)
    return Reject("a tensor of rank 0 has no neighbours");
  AITUNE_ASSIGN_OR_RETURN(int64_t dim, call.Dim("dim", call.RankOf(self)));
  AITUNE_ASSIGN_OR_RETURN(Value before, call.OptionalTensor("prepend"));
  AITUNE_ASSIGN_OR_RETURN(Value after, call.OptionalTensor("append"));
  if (times < 0 || times > 16)
    return Reject(
        absl::StrCat("differences of order ", times, " are not supported"));
  SmallVector<Value> parts;
  for (Value part : {before, self, after}) {
    if (!part) continue;
    if (call.RankOf(part) != call.RankOf(self))
      return Reject("the tensors differ in rank");
    parts.push_back(call.Convert(part, call.ResultDataType()));
  }
  Value value = call.Concat(parts, dim);
  for (int64_t i = 0; i < times; ++i) {
    const AffineExpr size = call.SizesOf(value)[dim] - 1;
    Value next = call.Slice(value, dim, call.Constant(1), size);
    Value own = call.Slice(value, dim, call.Constant(0), size);
    const bool is_bool = call.ResultDataType() == DataType::kBool;
    value = is_bool ? call.Binary<ait::BitwiseXorOp>(next, own)
                    : call.Subtract(next, own);
  }
  return call.SetResult(value);
}

// ---- Writing into a part ----

Value ScatterSlice(OpImporter& call, Value self, Value source, int64_t dim,
                   int64_t start, int64_t step) {
  SmallVector<int64_t> starts(call.RankOf(self), 0),
      steps(call.RankOf(self), 1);
  starts[dim] = start;
  steps[dim] = step;
  return ait::SliceScatterOp::create(
      call.builder(), call.location(), self.getType(), self,
      call.Convert(source, call.DataTypeOf(self)), starts, steps);
}

// The same with a start that depends on sizes and a step of 1: what is before
// the slice, the slice, and what is behind it.
absl::Status ReplaceSlice(OpImporter& call, Value self, Value slice,
                          int64_t dim, AffineExpr start) {
  if (call.state().sizes().Bounds(start).first < 0)
    return Reject(
        "writing from a start that depends on the sizes of the inputs and may "
        "be negative is not supported");
  const AffineExpr end = start + call.SizesOf(slice)[dim];
  return call.SetResult(
      call.Concat({call.Slice(self, dim, call.Constant(0), start),
                   call.Convert(slice, call.DataTypeOf(self)),
                   call.Slice(self, dim, end, call.SizesOf(self)[dim] - end)},
                  dim));
}

absl::Status BuildSliceScatter(OpImporter& call) {
  AITUNE_ASSIGN_OR_RETURN(Value self, call.Tensor("self"));
  AITUNE_ASSIGN_OR_RETURN(Value source, call.Tensor("src"));
  const int64_t rank = call.RankOf(self);
  if (rank == 0) return Reject("a tensor of rank 0 has no slices");
  AITUNE_ASSIGN_OR_RETURN(int64_t dim, call.Dim("dim", rank));
  AITUNE_ASSIGN_OR_RETURN(int64_t step, call.Int("step"));
  if (step < 1) return Reject(absl::StrCat("step ", step, " is not positive"));
  const AffineExpr size = call.SizesOf(self)[dim];
  AffineExpr start = call.Constant(0), end = size;
  if (!call.IsNone("start")) {
    AITUNE_ASSIGN_OR_RETURN(start, call.Size("start"));
  }
  if (!call.IsNone("end")) {
    AITUNE_ASSIGN_OR_RETURN(end, call.Size("end"));
  }
  SymbolicSizes& sizes = call.state().sizes();
  auto normalize = [&](AffineExpr position) {
    if (sizes.Bounds(position).first < 0) position = position + size;
    if (sizes.Bounds(position).second <= 0) return call.Constant(0);
    return sizes.Bounds(position - size).first >= 0 ? size : position;
  };
  start = normalize(start);
  end = normalize(end);
  Sizes part = call.SizesOf(self);
  part[dim] = (end - start).ceilDiv(step);
  const std::optional<int64_t> count = call.StaticSize(part[dim]);
  if (count && *count <= 0) return call.SetResult(self);
  const Value slice = call.Expand(source, part);
  const std::optional<int64_t> first = call.StaticSize(start);
  if (first)
    return call.SetResult(ScatterSlice(call, self, slice, dim, *first, step));
  if (step != 1 || sizes.Bounds(end - start).first < 0)
    return Reject(
        "writing with a step, or nothing at some sizes, from a start that "
        "depends on the sizes of the inputs is not supported");
  return ReplaceSlice(call, self, slice, dim, start);
}

absl::Status BuildSelectScatter(OpImporter& call) {
  AITUNE_ASSIGN_OR_RETURN(Value self, call.Tensor("self"));
  AITUNE_ASSIGN_OR_RETURN(Value source, call.Tensor("src"));
  const int64_t rank = call.RankOf(self);
  if (rank == 0) return Reject("a tensor of rank 0 has nothing to select");
  AITUNE_ASSIGN_OR_RETURN(int64_t dim, call.Dim("dim", rank));
  AITUNE_ASSIGN_OR_RETURN(int64_t index, call.Int("index"));
  const AffineExpr size = call.SizesOf(self)[dim];
  Sizes part = call.SizesOf(self);
  part.erase(part.begin() + dim);
  const Value slice = call.Unsqueeze(call.Expand(source, part), dim);
  if (index < 0) {
    const std::optional<int64_t> known = call.StaticSize(size);
    if (!known) return ReplaceSlice(call, self, slice, dim, size + index);
    index += *known;
  }
  return call.SetResult(ScatterSlice(call, self, slice, dim, index, 1));
}

}  // namespace

void RegisterMovementOps(Registry& registry) {
  registry.Add({"cat", "concat", "concatenate"}, BuildCat);
  registry.Add({"stack"}, BuildStack);
  registry.Add({"hstack"}, [](OpImporter& call) {
    return BuildStackAlong(call, 1, 1, false);
  });
  registry.Add({"vstack", "row_stack"}, [](OpImporter& call) {
    return BuildStackAlong(call, 0, 2, false);
  });
  registry.Add({"dstack"}, [](OpImporter& call) {
    return BuildStackAlong(call, 2, 3, false);
  });
  registry.Add({"column_stack"}, [](OpImporter& call) {
    return BuildStackAlong(call, 1, 2, true);
  });
  registry.Add({"repeat"},
               [](OpImporter& call) { return BuildRepeat(call, "repeats"); });
  registry.Add({"tile"},
               [](OpImporter& call) { return BuildRepeat(call, "dims"); });
  registry.Add({"repeat_interleave"}, BuildRepeatInterleave);
  registry.Add({"roll"}, BuildRoll);
  registry.Add({"flip"},
               [](OpImporter& call) { return BuildFlip(call, std::nullopt); });
  registry.Add({"fliplr"}, [](OpImporter& call) { return BuildFlip(call, 1); });
  registry.Add({"flipud"}, [](OpImporter& call) { return BuildFlip(call, 0); });
  registry.Add({"rot90"}, BuildRotate);
  registry.Add({"diff"}, BuildDiff);
  registry.Add({"slice_scatter"}, BuildSliceScatter);
  registry.Add({"select_scatter"}, BuildSelectScatter);
}

}  // namespace aitune::frontend
