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
