// What OpImporter makes of elements that only move.
#include <algorithm>

#include "absl/strings/str_cat.h"
#include "frontend/importer/op_importer.h"

namespace aitune::frontend {

namespace ait = mlir::ait;
using llvm::ArrayRef;
using llvm::SmallVector;
using mlir::AffineExpr;
using mlir::RankedTensorType;
using mlir::Value;

Value OpImporter::Reshape(Value value, ArrayRef<AffineExpr> sizes) {
  const RankedTensorType type = TypeOf(sizes, DataTypeOf(value));
  if (value.getType() == type) return value;
  if (!SameSize(Product(SizesOf(value)), Product(sizes))) {
    Fail(absl::StrCat("sizes ", ToString(SizesOf(value)), " and ",
                      ToString(sizes), " differ in element count"));
    return Zeros(type);
  }
  return ait::ReshapeOp::create(builder(), location_, type, value);
}

Value OpImporter::Expand(Value value, ArrayRef<AffineExpr> sizes) {
  const RankedTensorType type = TypeOf(sizes, DataTypeOf(value));
  if (value.getType() == type) return value;
  const Sizes from = SizesOf(value);
  bool fits = from.size() <= sizes.size();
  for (size_t i = 0; fits && i < from.size(); ++i) {
    AffineExpr size = from[from.size() - 1 - i];
    fits = StaticSize(size) == 1 || SameSize(size, sizes[sizes.size() - 1 - i]);
  }
  if (!fits) {
    Fail(absl::StrCat("sizes ", ToString(from), " don't expand to ",
                      ToString(sizes)));
    return Zeros(type);
  }
  if (auto full = value.getDefiningOp<ait::FullOp>()) {
    return ait::FullOp::create(builder(), location_, type, full.getValueAttr());
  }
  return ait::ExpandOp::create(builder(), location_, type, value);
}

Value OpImporter::Permute(Value value, ArrayRef<int64_t> permutation) {
  if (llvm::equal(permutation, llvm::seq<int64_t>(0, permutation.size())))
    return value;
  const Sizes from = SizesOf(value);
  Sizes sizes;
  for (int64_t axis : permutation) sizes.push_back(from[axis]);
  return ait::PermuteOp::create(builder(), location_,
                                TypeOf(sizes, DataTypeOf(value)), value,
                                permutation);
}

Value OpImporter::Transpose(Value value, int64_t a, int64_t b) {
  auto permutation = llvm::to_vector(llvm::seq<int64_t>(0, RankOf(value)));
  if (!permutation.empty()) std::swap(permutation[a], permutation[b]);
  return Permute(value, permutation);
}

Value OpImporter::Unsqueeze(Value value, int64_t dim) {
  Sizes sizes = SizesOf(value);
  sizes.insert(sizes.begin() + dim, Constant(1));
  return Reshape(value, sizes);
}

Value OpImporter::Squeeze(Value value, ArrayRef<int64_t> dims) {
  const Sizes from = SizesOf(value);
  Sizes sizes;
  for (size_t axis = 0; axis < from.size(); ++axis) {
    if (!llvm::is_contained(dims, static_cast<int64_t>(axis)))
      sizes.push_back(from[axis]);
  }
  return Reshape(value, sizes);
}

Value OpImporter::Flatten(Value value, int64_t first, int64_t last) {
  const Sizes from = SizesOf(value);
  Sizes sizes(from.begin(), from.begin() + first);
  sizes.push_back(
      Product(ArrayRef<AffineExpr>(from).slice(first, last - first + 1)));
  sizes.append(from.begin() + last + 1, from.end());
  return Reshape(value, sizes);
}

Value OpImporter::Slice(Value value, int64_t dim, AffineExpr start,
                        AffineExpr size, int64_t step) {
  const Sizes from = SizesOf(value);
  Sizes sizes = from;
  sizes[dim] = size;
  const RankedTensorType type = TypeOf(sizes, DataTypeOf(value));
  const bool whole = StaticSize(start) == 0 && step == 1;
  if (whole && value.getType() == type) return value;
  // In range wherever there is an entry at all; past that, starts don't matter.
  AffineExpr slack = from[dim] - start - (size - 1) * step;
  const bool empty = StaticSize(size) == 0;
  if (!empty && (state_.sizes().Bounds(start).first < 0 ||
                 state_.sizes().Bounds(slack).first < 1)) {
    Fail(absl::StrCat("a slice of axis ", dim,
                      " is out of range for some sizes of the inputs"));
    return Zeros(type);
  }
  if (std::optional<int64_t> fixed = empty ? 0 : StaticSize(start)) {
    SmallVector<int64_t> starts(from.size(), 0), steps(from.size(), 1);
    starts[dim] = *fixed;
    steps[dim] = step;
    return ait::SliceOp::create(builder(), location_, type, value, starts,
                                steps);
  }
  // A start that moves with the sizes. Along the last axis an index would hide
  // from a CPU's loops that neighbours are neighbours in memory: the axis is
  // cut behind the last entry, and the slice is what is then first from the
  // end.
  if (!state_.is_for_gpu() && dim + 1 == RankOf(value) &&
      StaticSize(size) != 1 &&
      (step == 1 || state_.sizes().Bounds(size).first > 0)) {
    const Value cut =
        Slice(value, dim, Constant(0), start + (size - 1) * step + 1);
    return Reverse(Slice(Reverse(cut, dim), dim, Constant(0), size, step), dim);
  }
  // Counted from the end if that is fixed.
  if (std::optional<int64_t> from_end = StaticSize(start - from[dim])) {
    return IndexSelect(value, dim,
                       Iota(size, *from_end, step, DataType::kInt64));
  }
  Value indices = Iota(size, 0, step, DataType::kInt64);
  return IndexSelect(
      value, dim, Add(indices, Full(Scalar(start), {size}, DataType::kInt64)));
}

Value OpImporter::Reverse(Value value, int64_t dim) {
  return ait::FlipOp::create(builder(), location_, value.getType(), value,
                             ArrayRef<int64_t>{dim});
}

Value OpImporter::Diagonal(Value value, int64_t dim1, int64_t dim2,
                           int64_t offset, AffineExpr length) {
  const int64_t rank = RankOf(value);
  SmallVector<int64_t> order;
  for (int64_t axis = 0; axis < rank; ++axis) {
    if (axis != dim1 && axis != dim2) order.push_back(axis);
  }
  order.append({dim1, dim2});
  const AffineExpr columns = SizesOf(value)[dim2];
  const Value flat = Flatten(Permute(value, order), rank - 2, rank - 1);
  // One row and one column further at each step.
  const AffineExpr start = offset >= 0 ? Constant(offset) : columns * -offset;
  if (const std::optional<int64_t> known = StaticSize(columns))
    return Slice(flat, rank - 2, start, length, *known + 1);
  const auto full = [&](AffineExpr number) {
    return Full(Scalar(number), {length}, DataType::kInt64);
  };
  const Value steps =
      Multiply(Iota(length, 0, 1, DataType::kInt64), full(columns + 1));
  return IndexSelect(flat, rank - 2, Add(steps, full(start)));
}

Value OpImporter::Concat(ArrayRef<Value> values, int64_t dim) {
  if (values.size() == 1) return values[0];
  Sizes sizes = SizesOf(values[0]);
  AffineExpr total = Constant(0);
  bool fits = true;
  for (Value value : values) {
    const Sizes part = SizesOf(value);
    fits &= part.size() == sizes.size() &&
            DataTypeOf(value) == DataTypeOf(values[0]);
    for (size_t axis = 0; fits && axis < sizes.size(); ++axis) {
      fits = static_cast<int64_t>(axis) == dim ||
             SameSize(part[axis], sizes[axis]);
    }
    if (fits) total = total + part[dim];
  }
  sizes[dim] = total;
  const RankedTensorType type = TypeOf(sizes, DataTypeOf(values[0]));
  if (!fits) {
    Fail("tensors to be joined differ in sizes or dtype");
    return Zeros(type);
  }
  return ait::ConcatOp::create(builder(), location_, type, values, dim);
}

Value OpImporter::Pad(Value value, ArrayRef<int64_t> low,
                      ArrayRef<int64_t> high, double number) {
  Sizes sizes = SizesOf(value);
  // Negative padding cuts.
  for (size_t axis = 0; axis < sizes.size(); ++axis) {
    const int64_t cut_low = std::max<int64_t>(-low[axis], 0);
    const int64_t cut_high = std::max<int64_t>(-high[axis], 0);
    if (cut_low + cut_high > 0) {
      value = Slice(value, axis, Constant(cut_low),
                    sizes[axis] - (cut_low + cut_high));
      sizes[axis] = sizes[axis] - (cut_low + cut_high);
    }
  }
  SmallVector<int64_t> before, after;
  for (size_t axis = 0; axis < sizes.size(); ++axis) {
    before.push_back(std::max<int64_t>(low[axis], 0));
    after.push_back(std::max<int64_t>(high[axis], 0));
    sizes[axis] = sizes[axis] + before.back() + after.back();
  }
  const RankedTensorType type = TypeOf(sizes, DataTypeOf(value));
  if (value.getType() == type) return value;
  return ait::PadOp::create(builder(), location_, type, value, before, after,
                            llvm::APFloat(number));
}

Value OpImporter::IndexSelect(Value value, int64_t dim, Value indices) {
  if (RankOf(indices) != 1) {
    Fail("an index is not of rank 1");
    return value;
  }
  Sizes sizes = SizesOf(value);
  sizes[dim] = SizesOf(indices)[0];
  const DataType dtype = DataTypeOf(indices);
  if (dtype != DataType::kInt32) indices = Convert(indices, DataType::kInt64);
  return ait::IndexSelectOp::create(builder(), location_,
                                    TypeOf(sizes, DataTypeOf(value)), value,
                                    indices, dim);
}

}  // namespace aitune::frontend
