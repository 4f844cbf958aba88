// Operators that move elements without looking at them: joins, padding,
// repetition, rotation, reversal.
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

absl::Status BuildCat(OpImporter& call) {
  AITUNE_ASSIGN_OR_RETURN(SmallVector<Value> parts, ReadParts(call));
  if (call.RankOf(parts[0]) == 0)
    return Reject("tensors of rank 0 can't be joined");
  AITUNE_ASSIGN_OR_RETURN(
      int64_t dim,
      call.Dim(call.Find("dim") ? "dim" : "axis", call.RankOf(parts[0])));
  return call.SetResult(call.Concat(parts, dim));
}

absl::Status BuildStack(OpImporter& call) {
  AITUNE_ASSIGN_OR_RETURN(SmallVector<Value> parts, ReadParts(call));
  AITUNE_ASSIGN_OR_RETURN(int64_t dim,
                          call.Dim("dim", call.RankOf(parts[0]) + 1));
  for (Value& part : parts) {
    if (dim > call.RankOf(part)) return Reject("the tensors differ in rank");
    part = call.Unsqueeze(part, dim);
  }
  return call.SetResult(call.Concat(parts, dim));
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
  return call.SetResult(
      call.Concat(parts, std::min(dim, call.RankOf(parts[0]) - 1)));
}

// ---- Padding ----

// Padding as ATen gives it: (low, high) pairs from the last axis backwards.
struct Padding {
  SmallVector<int64_t> low, high;
};

absl::StatusOr<Padding> ReadPadding(OpImporter& call, const char* name,
                                    int64_t rank) {
  AITUNE_ASSIGN_OR_RETURN(SmallVector<int64_t> pad, call.Ints(name));
  if (pad.size() % 2 != 0 || static_cast<int64_t>(pad.size()) > 2 * rank) {
    return Reject(absl::StrCat("argument '", name, "' has ", pad.size(),
                               " numbers for a tensor of rank ", rank));
  }
  Padding padding;
  padding.low.assign(rank, 0);
  padding.high.assign(rank, 0);
  for (size_t i = 0; i < pad.size() / 2; ++i) {
    padding.low[rank - 1 - i] = pad[2 * i];
    padding.high[rank - 1 - i] = pad[2 * i + 1];
  }
  return padding;
}

enum class PadMode { kReflect, kReplicate, kCircular };

// Entries of a last axis of `size` entries that repeat in its padding, `count`
// of them, before the axis or after it.
Value RepeatedPart(OpImporter& call, Value value, int64_t size, int64_t count,
                   bool is_low, PadMode mode) {
  const int64_t dim = call.RankOf(value) - 1;
  switch (mode) {
    case PadMode::kReflect: {
      Value part = call.Slice(value, dim, is_low ? 1 : size - 1 - count, count);
      return ait::FlipOp::create(call.builder(), call.location(),
                                 part.getType(), part,
                                 llvm::ArrayRef<int64_t>{dim});
    }
    case PadMode::kReplicate: {
      Sizes sizes = call.SizesOf(value);
      sizes[dim] = call.Constant(count);
      return call.Expand(call.Slice(value, dim, is_low ? 0 : size - 1, 1),
                         sizes);
    }
    case PadMode::kCircular:
      return call.Slice(value, dim, is_low ? size - count : 0, count);
  }
  return Value();
}

// Pads the last axis with copies of parts of it: its neighbours in memory are
// then neighbours in the result, which an index computed for each would hide.
// Null if the axis has no known size, or not enough entries.
Value PadByParts(OpImporter& call, Value value, int64_t low, int64_t high,
                 PadMode mode) {
  const int64_t dim = call.RankOf(value) - 1;
  const std::optional<int64_t> size = call.StaticSize(call.SizesOf(value)[dim]);
  if (!size) return Value();
  // Negative padding removes entries.
  const int64_t begin = std::max<int64_t>(0, -low),
                end = *size + std::min<int64_t>(0, high);
  // A reflection leaves the entry at the end out.
  const int64_t most = mode == PadMode::kReflect    ? *size - 1
                       : mode == PadMode::kCircular ? *size
                                                    : std::max(low, high);
  if (begin >= end || low > most || high > most) return Value();
  SmallVector<Value> parts;
  if (low > 0)
    parts.push_back(RepeatedPart(call, value, *size, low, true, mode));
  parts.push_back(begin == 0 && end == *size
                      ? value
                      : call.Slice(value, dim, begin, end - begin));
  if (high > 0)
    parts.push_back(RepeatedPart(call, value, *size, high, false, mode));
  return parts.size() == 1 ? parts[0] : call.Concat(parts, dim);
}

// Picks along each padded axis by an index computed from its position, but
// joins parts of the last one.
Value PadByEntries(OpImporter& call, Value value, const Padding& padding,
                   PadMode mode) {
  for (int64_t dim = 0; dim < call.RankOf(value); ++dim) {
    int64_t low = padding.low[dim], high = padding.high[dim];
    if (low == 0 && high == 0) continue;
    if (mode == PadMode::kCircular && (low < 0 || high < 0)) {
      // What negative padding removes is not repeated on the other side.
      const int64_t begin = std::max<int64_t>(0, -low);
      const int64_t removed = begin + std::max<int64_t>(0, -high);
      value = call.Slice(value, dim, call.Constant(begin),
                         call.SizesOf(value)[dim] - removed);
      low = std::max<int64_t>(0, low);
      high = std::max<int64_t>(0, high);
      if (low == 0 && high == 0) continue;
    }
    if (dim + 1 == call.RankOf(value)) {
      if (Value joined = PadByParts(call, value, low, high, mode))
        return joined;
    }
    const AffineExpr size = call.SizesOf(value)[dim];
    const Sizes padded = {size + (low + high)};
    Value index = call.Iota(padded[0], -low, 1, DataType::kInt64);
    Value last = call.Full(Scalar(size - 1), padded, DataType::kInt64);
    switch (mode) {
      case PadMode::kReflect: {
        Value from_low = call.Unary<ait::AbsOp>(index);
        index = call.Subtract(
            last, call.Unary<ait::AbsOp>(call.Subtract(last, from_low)));
        break;
      }
      case PadMode::kReplicate:
        index = call.Binary<ait::MinimumOp>(
            call.Binary<ait::MaximumOp>(index, Scalar(0)), last);
        break;
      case PadMode::kCircular:
        index = call.Binary<ait::RemainderOp>(
            index, call.Full(Scalar(size), padded, DataType::kInt64));
        break;
    }
    value = call.IndexSelect(value, dim, index);
  }
  return value;
}

absl::Status PadWith(OpImporter& call, const char* name,
                     std::optional<PadMode> mode) {
  AITUNE_ASSIGN_OR_RETURN(Value self, call.Tensor("self"));
  AITUNE_ASSIGN_OR_RETURN(Padding padding,
                          ReadPadding(call, name, call.RankOf(self)));
  if (mode) return call.SetResult(PadByEntries(call, self, padding, *mode));
  double value = 0;
  if (!call.IsNone("value")) {
    AITUNE_ASSIGN_OR_RETURN(value, call.Double("value"));
  }
  return call.SetResult(call.Pad(self, padding.low, padding.high, value));
}

absl::Status BuildPad(OpImporter& call) {
  AITUNE_ASSIGN_OR_RETURN(std::string mode, call.String("mode"));
  if (mode == "constant") return PadWith(call, "pad", std::nullopt);
  if (mode == "reflect") return PadWith(call, "pad", PadMode::kReflect);
  if (mode == "replicate") return PadWith(call, "pad", PadMode::kReplicate);
  if (mode == "circular") return PadWith(call, "pad", PadMode::kCircular);
  return Reject(absl::StrCat("padding mode '", mode, "' is unknown"));
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
  const std::optional<int64_t> first = call.StaticSize(start);
  if (!first)
    return Reject(
        "writing from a start that depends on the sizes of the inputs is not "
        "supported");
  Sizes part = call.SizesOf(self);
  part[dim] = (end - start).ceilDiv(step);
  const std::optional<int64_t> count = call.StaticSize(part[dim]);
  if (count && *count <= 0) return call.SetResult(self);
  return call.SetResult(
      ScatterSlice(call, self, call.Expand(source, part), dim, *first, step));
}

absl::Status BuildSelectScatter(OpImporter& call) {
  AITUNE_ASSIGN_OR_RETURN(Value self, call.Tensor("self"));
  AITUNE_ASSIGN_OR_RETURN(Value source, call.Tensor("src"));
  const int64_t rank = call.RankOf(self);
  if (rank == 0) return Reject("a tensor of rank 0 has nothing to select");
  AITUNE_ASSIGN_OR_RETURN(int64_t dim, call.Dim("dim", rank));
  AITUNE_ASSIGN_OR_RETURN(int64_t index, call.Int("index"));
  if (index < 0) {
    const std::optional<int64_t> size =
        call.StaticSize(call.SizesOf(self)[dim]);
    if (!size)
      return Reject("writing from the end of a dynamic axis is not supported");
    index += *size;
  }
  Sizes part = call.SizesOf(self);
  part.erase(part.begin() + dim);
  Value slice = call.Unsqueeze(call.Expand(source, part), dim);
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
  registry.Add({"pad"}, BuildPad);
  registry.Add({"constant_pad_nd"}, [](OpImporter& call) {
    return PadWith(call, "pad", std::nullopt);
  });
  registry.Add({"reflection_pad1d", "reflection_pad2d", "reflection_pad3d"},
               [](OpImporter& call) {
                 return PadWith(call, "padding", PadMode::kReflect);
               });
  registry.Add({"replication_pad1d", "replication_pad2d", "replication_pad3d"},
               [](OpImporter& call) {
                 return PadWith(call, "padding", PadMode::kReplicate);
               });
  registry.Add({"_pad_circular"}, [](OpImporter& call) {
    return PadWith(call, "pad", PadMode::kCircular);
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
  registry.Add({"diff"}, BuildDiff);
  registry.Add({"slice_scatter"}, BuildSliceScatter);
  registry.Add({"select_scatter"}, BuildSelectScatter);
}

}  // namespace aitune::frontend
