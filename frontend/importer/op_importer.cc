#include "frontend/importer/op_importer.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "compiler/dialect/ElementTypes.h"
#include "compiler/dialect/KernelAttributes.h"
#include "frontend/importer/type_promotion.h"
#include "llvm/Support/raw_ostream.h"

namespace aitune::frontend {

namespace ait = mlir::ait;
using llvm::ArrayRef;
using llvm::SmallVector;
using mlir::AffineExpr;
using mlir::RankedTensorType;
using mlir::Value;

std::string ToString(ArrayRef<AffineExpr> sizes) {
  std::string text = "[";
  llvm::raw_string_ostream stream(text);
  llvm::interleaveComma(sizes, stream,
                        [&](AffineExpr size) { size.print(stream); });
  return text + "]";
}

// ---- Results ----

const TraceValue* OpImporter::ResultValue(int index) const {
  if (index >= static_cast<int>(op_.results.size())) return nullptr;
  const ValueId id = op_.results[index];
  return id < 0 ? nullptr : &state_.trace().values[id];
}

RankedTensorType OpImporter::ResultType(int index) {
  const TraceValue* value = ResultValue(index);
  // Nobody reads an opaque result or one that does not exist: any type will do.
  if (!value || value->kind == TraceValue::Kind::kOpaque) {
    return RankedTensorType::get({}, ElementType(DataType::kFloat32));
  }
  return mlir::cast<RankedTensorType>(state_.Type(op_.results[index]));
}

DataType OpImporter::ResultDataType(int index) const {
  const TraceValue* value = ResultValue(index);
  return value ? value->type.dtype : DataType::kFloat32;
}

absl::Status OpImporter::SetResult(Value value, int index) {
  if (index >= static_cast<int>(op_.results.size())) {
    return Reject(absl::StrCat("the call has ", op_.results.size(),
                               " results; the importer expected more"));
  }
  AITUNE_RETURN_IF_ERROR(status_);
  if (!ResultValue(index)) return absl::OkStatus();
  const RankedTensorType type = ResultType(index);
  if (!SameSizes(SizesOf(value), SizesOf(type))) {
    return Reject(absl::StrCat(
        "the importer computes a result of sizes ", ToString(SizesOf(value)),
        " where the trace saw ", ToString(SizesOf(type))));
  }
  state_.SetValue(op_.results[index],
                  ConvertUnrounded(value, ResultDataType(index)));
  return absl::OkStatus();
}

void OpImporter::Fail(std::string reason) {
  if (status_.ok()) status_ = Reject(std::move(reason));
}

// ---- Types and sizes ----

mlir::Type OpImporter::ElementType(DataType dtype) {
  return ait::toElementType(dtype, state_.context());
}

bool OpImporter::SameSizes(ArrayRef<AffineExpr> a, ArrayRef<AffineExpr> b) {
  if (a.size() != b.size()) return false;
  for (size_t i = 0; i < a.size(); ++i) {
    if (!SameSize(a[i], b[i])) return false;
  }
  return true;
}

std::optional<int64_t> OpImporter::StaticSize(AffineExpr size) {
  if (auto constant = mlir::dyn_cast<mlir::AffineConstantExpr>(
          state_.sizes().Canonical(size))) {
    return constant.getValue();
  }
  return std::nullopt;
}

bool OpImporter::ComparesTooMany(ArrayRef<AffineExpr> pairs) {
  // Of float32 scatter, topk and sort, with one thread: LibTorch takes as long
  // as 30,000 to 65,000 comparisons.
  constexpr int64_t kMostComparisons = 1 << 15;
  return !state_.is_for_gpu() &&
         state_.sizes().Bounds(Product(pairs)).second > kMostComparisons;
}

Sizes OpImporter::BroadcastSizes(ArrayRef<AffineExpr> a,
                                 ArrayRef<AffineExpr> b) {
  Sizes result(std::max(a.size(), b.size()));
  for (size_t i = 0; i < result.size(); ++i) {
    AffineExpr left = i < a.size() ? a[a.size() - 1 - i] : Constant(1);
    AffineExpr right = i < b.size() ? b[b.size() - 1 - i] : Constant(1);
    AffineExpr& size = result[result.size() - 1 - i];
    if (SameSize(left, right) || StaticSize(right) == 1) {
      size = left;
    } else {
      size = right;
      if (StaticSize(left) != 1)
        Fail(absl::StrCat("sizes ", ToString(a), " and ", ToString(b),
                          " don't broadcast"));
    }
  }
  return result;
}

DataType OpImporter::DataTypeOf(Value value) {
  // Every tensor of the import has an element type made from a DataType.
  return *ait::toDataType(TypeOf(value).getElementType());
}

AffineExpr OpImporter::Product(ArrayRef<AffineExpr> sizes) {
  AffineExpr product = Constant(1);
  for (AffineExpr size : sizes) product = product * size;
  return state_.sizes().Canonical(product);
}

// ---- Sources ----

Value OpImporter::Zeros(RankedTensorType type) {
  return ait::FullOp::create(builder(), location_, type,
                             Scalar(0).ToAttribute(type.getElementType()));
}

Value OpImporter::Full(const Scalar& number, ArrayRef<AffineExpr> sizes,
                       DataType dtype) {
  const RankedTensorType type = TypeOf(sizes, dtype);
  if (number.is_static()) {
    return ait::FullOp::create(builder(), location_, type,
                               number.ToAttribute(type.getElementType()));
  }
  // A number that depends on sizes: that many ones, added up.
  if (state_.sizes().Bounds(number.size()).first < 0) {
    Fail("a number that depends on the sizes of the inputs may be negative");
    return Zeros(type);
  }
  Value ones = Full(1, {number.size()}, DataType::kInt64);
  Value sum = Squeeze(Reduce<ait::SumOp>(ones, {0}), {0});
  return Expand(Convert(sum, dtype), sizes);
}

Value OpImporter::Iota(AffineExpr size, double start, double step,
                       DataType dtype) {
  return Iota(Sizes{size}, 0, start, step, dtype);
}

Value OpImporter::Iota(ArrayRef<AffineExpr> sizes, int64_t dim, double start,
                       double step, DataType dtype) {
  return ait::IotaOp::create(builder(), location_, TypeOf(sizes, dtype), dim,
                             llvm::APFloat(start), llvm::APFloat(step));
}

Value OpImporter::Materialize(const Operand& operand, DataType dtype,
                              ArrayRef<AffineExpr> like_sizes,
                              bool must_round) {
  if (operand.number) return Full(*operand.number, like_sizes, dtype);
  return Expand(must_round ? Convert(operand.tensor, dtype)
                           : ConvertUnrounded(operand.tensor, dtype),
                like_sizes);
}

// ---- Views and movement ----

Value OpImporter::ConvertUnrounded(Value value, DataType dtype) {
  if (DataTypeOf(value) == dtype) return value;
  return ait::ConvertOp::create(builder(), location_,
                                TypeOf(SizesOf(value), dtype), value);
}

Value OpImporter::Convert(Value value, DataType dtype) {
  const Value converted = ConvertUnrounded(value, dtype);
  if (converted != value && (IsHalf(DataTypeOf(value)) || IsHalf(dtype)))
    ait::setMustRound(converted.getDefiningOp());
  return converted;
}

Value OpImporter::ToComputeType(Value value) {
  return IsHalf(DataTypeOf(value)) ? Convert(value, DataType::kFloat32) : value;
}

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

bool OpImporter::HasNoElements(Value value) {
  const Sizes sizes = SizesOf(value);
  return std::any_of(sizes.begin(), sizes.end(),
                     [](AffineExpr size) { return size == 0; });
}

// Nothing is wrong with an element that is not there: passes may compute before
// an expansion what no result needs.
Value OpImporter::CheckIndex(Value indices, AffineExpr size, bool from_end) {
  if (HasNoElements(indices)) return indices;
  // What counts from the end may need more bits than the index has.
  if (from_end) indices = Convert(indices, DataType::kInt64);
  unsigned symbols = 0;
  size.walk([&](AffineExpr part) {
    if (auto symbol = mlir::dyn_cast<mlir::AffineSymbolExpr>(part))
      symbols = std::max(symbols, symbol.getPosition() + 1);
  });
  return ait::CheckOp::create(
      builder(), location_, indices.getType(), indices,
      mlir::AffineMapAttr::get(mlir::AffineMap::get(0, symbols, size)),
      from_end, /*silent=*/false, op_.name, mlir::IntegerAttr());
}

Value OpImporter::CheckDivisor(Value divisor) {
  if (IsFloatingPoint(DataTypeOf(divisor)) || HasNoElements(divisor))
    return divisor;
  return ait::CheckOp::create(builder(), location_, divisor.getType(), divisor,
                              mlir::AffineMapAttr(), /*from_end=*/false,
                              /*silent=*/false, op_.name, mlir::IntegerAttr());
}

// ---- Arithmetic ----

void OpImporter::Unify(Value& a, Value& b) {
  const DataType dtype = PromoteTypes(DataTypeOf(a), DataTypeOf(b));
  a = Convert(a, dtype);
  b = Convert(b, dtype);
  const Sizes sizes = BroadcastSizes(SizesOf(a), SizesOf(b));
  // After a failure the two need not expand; one type must come out all the
  // same.
  a = Expand(a, sizes);
  b = Expand(b, sizes);
}

Value OpImporter::Where(Value condition, Value on_true, Value on_false) {
  condition = Convert(condition, DataType::kBool);
  Unify(on_true, on_false);
  const Sizes sizes = BroadcastSizes(SizesOf(condition), SizesOf(on_true));
  on_true = Expand(on_true, sizes);
  return ait::WhereOp::create(builder(), location_, on_true.getType(),
                              Expand(condition, sizes), on_true,
                              Expand(on_false, sizes));
}

Value OpImporter::LogicalNot(Value value) {
  return Predicate<ait::LogicalNotOp>(value);
}

// ---- Reductions and contractions ----

RankedTensorType OpImporter::ReducedType(Value value, ArrayRef<int64_t> dims,
                                         DataType dtype) {
  Sizes sizes = SizesOf(value);
  for (int64_t dim : dims) sizes[dim] = Constant(1);
  return TypeOf(sizes, dtype);
}

Value OpImporter::Matmul(Value lhs, Value rhs, bool transpose_rhs) {
  const DataType dtype = PromoteTypes(DataTypeOf(lhs), DataTypeOf(rhs));
  lhs = Convert(lhs, dtype);
  rhs = Convert(rhs, dtype);
  Sizes left = SizesOf(lhs), right = SizesOf(rhs);
  const bool one_matrix =
      llvm::all_of(ArrayRef<AffineExpr>(right).drop_back(2),
                   [&](AffineExpr size) { return StaticSize(size) == 1; });
  if (one_matrix && right.size() > 2 && right.size() <= left.size()) {
    right.erase(right.begin(), right.end() - 2);
    rhs = Reshape(rhs, right);
  }
  if (right.size() > 2) {
    const Sizes batch =
        BroadcastSizes(ArrayRef<AffineExpr>(left).drop_back(2),
                       ArrayRef<AffineExpr>(right).drop_back(2));
    auto expand = [&](Value value, Sizes& sizes) {
      Sizes wanted = batch;
      wanted.append(sizes.end() - 2, sizes.end());
      sizes = wanted;
      return Expand(value, wanted);
    };
    lhs = expand(lhs, left);
    rhs = expand(rhs, right);
  }
  AffineExpr rows = right[right.size() - (transpose_rhs ? 1 : 2)];
  AffineExpr columns = right[right.size() - (transpose_rhs ? 2 : 1)];
  if (!SameSize(left.back(), rows)) {
    Fail(absl::StrCat("matrix product of sizes ", ToString(left), " and ",
                      ToString(right), " doesn't fit"));
  }
  Sizes sizes = left;
  sizes.back() = columns;
  return ait::MatmulOp::create(builder(), location_, TypeOf(sizes, dtype), lhs,
                               rhs, /*transpose_lhs=*/false, transpose_rhs);
}

Value OpImporter::Linear(Value input, Value weight, Value bias) {
  const bool vector = RankOf(input) == 1;
  if (vector) input = Unsqueeze(input, 0);
  if (RankOf(weight) == 1) weight = Unsqueeze(weight, 0);
  Value result = Matmul(input, weight, /*transpose_rhs=*/true);
  if (bias) result = Add(result, bias);
  return vector ? Squeeze(result, {0}) : result;
}

Value OpImporter::Softmax(Value value, int64_t dim, bool log) {
  return ait::SoftmaxOp::create(builder(), location_, value.getType(), value,
                                dim, log);
}

}  // namespace aitune::frontend
