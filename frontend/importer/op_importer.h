// One call of an operator, as its builder sees it: the arguments by their names
// in the schema, and the steps that `ait` operations are made with.
//
// A builder reads arguments (each may reject the call: absl::Status with the
// reason), makes operations and sets the results:
//
//   absl::Status BuildSquare(OpImporter& call) {
//     AITUNE_ASSIGN_OR_RETURN(Value self, call.Tensor("self"));
//     return call.SetResult(call.Multiply(self, self));
//   }
//
// Steps that make operations don't return errors. Where one can't be done
// (sizes that don't broadcast), the first reason is kept, the step gives a
// tensor of zeros of the type that was wanted, and the call is rejected at its
// end with everything it made erased. So a builder reads like the formula it
// implements.
#ifndef AITUNE_FRONTEND_IMPORTER_OP_IMPORTER_H_
#define AITUNE_FRONTEND_IMPORTER_OP_IMPORTER_H_

#include <optional>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "compiler/dialect/Ait.h"
#include "frontend/importer/import_state.h"
#include "frontend/importer/scalar.h"
#include "runtime/status/status_macros.h"

namespace aitune::frontend {

// A tensor or a number where an operator takes either.
struct Operand {
  mlir::Value tensor;            // null for a number
  std::optional<Scalar> number;  // set for numbers and for constants of rank 0
  // The dtype of the tensor, or Scalar::WrappedDataType of the number.
  DataType dtype = DataType::kFloat32;
  bool has_axes = false;  // whether it is a tensor of rank > 0
};

// The status of a call that a builder does not support; `reason` completes
// "LibTorch runs it because ...".
absl::Status Reject(std::string reason);

class OpImporter {
 public:
  OpImporter(ImportState& state, const TraceOp& op, mlir::Location location)
      : state_(state), op_(op), location_(location) {}

  const TraceOp& op() const { return op_; }
  mlir::OpBuilder& builder() { return state_.builder(); }
  mlir::Location location() const { return location_; }
  ImportState& state() { return state_; }

  // ---- Arguments, by schema name (op_arguments.cc) ----
  // Null when the schema has no argument of this name.
  const Argument* Find(std::string_view name) const;
  // Also true for an argument the schema doesn't have.
  bool IsNone(std::string_view name) const;
  absl::StatusOr<mlir::Value> Tensor(std::string_view name);
  // Null for None.
  absl::StatusOr<mlir::Value> OptionalTensor(std::string_view name);
  // A list of tensors; null entries for None.
  absl::StatusOr<llvm::SmallVector<mlir::Value>> Tensors(std::string_view name);
  absl::StatusOr<Operand> TensorOrNumber(std::string_view name);
  // Rejects an element that may be beyond `dtype`, for which eager raises. Of
  // numbers and constants LibTorch sees it while it runs the probes.
  absl::Status CheckFits(const Operand& value, DataType dtype);
  absl::StatusOr<Scalar> Number(std::string_view name);
  // A number known at import, as a double.
  absl::StatusOr<double> Double(std::string_view name);
  absl::StatusOr<bool> Bool(std::string_view name);
  absl::StatusOr<int64_t> Int(std::string_view name);
  absl::StatusOr<mlir::AffineExpr> Size(std::string_view name);
  absl::StatusOr<llvm::SmallVector<int64_t>> Ints(std::string_view name);
  // `count` ints; a single one given stands for all.
  absl::StatusOr<llvm::SmallVector<int64_t>> Ints(std::string_view name,
                                                  size_t count);
  absl::StatusOr<Sizes> SizeList(std::string_view name);
  absl::StatusOr<std::string> String(std::string_view name);
  // An axis of a tensor of this rank, negative ones counted from the end.
  absl::StatusOr<int64_t> Dim(std::string_view name, int64_t rank);
  // An int, int[] or None argument as sorted axes; None and (with
  // `empty_is_all`) the empty list mean all.
  absl::StatusOr<llvm::SmallVector<int64_t>> Dims(std::string_view name,
                                                  int64_t rank,
                                                  bool empty_is_all = true);

  // ---- Results ----
  mlir::RankedTensorType ResultType(int index = 0);
  Sizes ResultSizes(int index = 0) { return SizesOf(ResultType(index)); }
  DataType ResultDataType(int index = 0) const;
  // Not for a result that the call left undefined or that is a tensor it was
  // given.
  bool HasResult(int index) const { return ResultValue(index) != nullptr; }
  bool IsResultUsed(int index) const {
    return HasResult(index) && state_.IsUsed(op_.results[index]);
  }
  // Sets result `index` to `value`, converted to the trace's dtype. Rejects the
  // call if the sizes differ from the trace's. Does nothing for a result that
  // the call left undefined.
  absl::Status SetResult(mlir::Value value, int index = 0);
  // The first step that failed, or OK.
  const absl::Status& status() const { return status_; }
  void Fail(std::string reason);

  // ---- Types and sizes ----
  mlir::AffineExpr Constant(int64_t value) {
    return mlir::getAffineConstantExpr(value, state_.context());
  }
  mlir::Type ElementType(DataType dtype);
  mlir::RankedTensorType TypeOf(llvm::ArrayRef<mlir::AffineExpr> sizes,
                                DataType dtype) {
    return state_.TensorType(sizes, ElementType(dtype));
  }
  bool SameSize(mlir::AffineExpr a, mlir::AffineExpr b) {
    return state_.sizes().Equal(a, b);
  }
  bool SameSizes(llvm::ArrayRef<mlir::AffineExpr> a,
                 llvm::ArrayRef<mlir::AffineExpr> b);
  // The value if `size` is the same for all sizes of the model.
  std::optional<int64_t> StaticSize(mlir::AffineExpr size);
  // Whether a kernel on a CPU compares so many pairs of elements, at the
  // greatest of the model's sizes, that LibTorch is faster, which walks from
  // one to the next. A GPU compares them side by side.
  bool ComparesTooMany(llvm::ArrayRef<mlir::AffineExpr> pairs);
  // The sizes of broadcasting; fails where they don't fit.
  Sizes BroadcastSizes(llvm::ArrayRef<mlir::AffineExpr> a,
                       llvm::ArrayRef<mlir::AffineExpr> b);
  static mlir::RankedTensorType TypeOf(mlir::Value value) {
    return mlir::cast<mlir::RankedTensorType>(value.getType());
  }
  static int64_t RankOf(mlir::Value value) { return TypeOf(value).getRank(); }
  static Sizes SizesOf(mlir::RankedTensorType type) {
    return mlir::ait::getSymbolicSizes(type);
  }
  static Sizes SizesOf(mlir::Value value) { return SizesOf(TypeOf(value)); }
  static DataType DataTypeOf(mlir::Value value);
  mlir::AffineExpr Product(llvm::ArrayRef<mlir::AffineExpr> sizes);

  // ---- Sources ----
  mlir::Value Full(const Scalar& number, llvm::ArrayRef<mlir::AffineExpr> sizes,
                   DataType dtype);
  mlir::Value FullLike(const Scalar& number, mlir::Value like) {
    return Full(number, SizesOf(like), DataTypeOf(like));
  }
  // start + step * i for i < size, of rank 1.
  mlir::Value Iota(mlir::AffineExpr size, double start, double step,
                   DataType dtype);
  // start + step * i along axis `dim` of a tensor with these sizes.
  mlir::Value Iota(llvm::ArrayRef<mlir::AffineExpr> sizes, int64_t dim,
                   double start, double step, DataType dtype);
  // The operand as a tensor of `dtype` (a number: with `like_sizes`), as it is
  // stored; without `must_round` a kernel need not round to 16 bits.
  mlir::Value Materialize(const Operand& operand, DataType dtype,
                          llvm::ArrayRef<mlir::AffineExpr> like_sizes,
                          bool must_round = true);

  // ---- Views and movement ----
  // The tensor in `dtype`, as an operator of LibTorch reads or stores it:
  // rounded to 16 bits where either dtype has these, also inside a kernel.
  mlir::Value Convert(mlir::Value value, DataType dtype);
  // As Convert, of what the call itself computes: a kernel need not round it.
  mlir::Value ConvertUnrounded(mlir::Value value, DataType dtype);
  // To float32 if float16 or bfloat16: what ATen's kernels compute in.
  mlir::Value ToComputeType(mlir::Value value);
  mlir::Value Reshape(mlir::Value value,
                      llvm::ArrayRef<mlir::AffineExpr> sizes);
  mlir::Value Expand(mlir::Value value, llvm::ArrayRef<mlir::AffineExpr> sizes);
  mlir::Value Permute(mlir::Value value, llvm::ArrayRef<int64_t> permutation);
  mlir::Value Transpose(mlir::Value value, int64_t a, int64_t b);
  // Adds an axis of size 1 before axis `dim`.
  mlir::Value Unsqueeze(mlir::Value value, int64_t dim);
  // Drops these axes (sorted), each of size 1.
  mlir::Value Squeeze(mlir::Value value, llvm::ArrayRef<int64_t> dims);
  // Merges axes [first, last].
  mlir::Value Flatten(mlir::Value value, int64_t first, int64_t last);
  // size entries start, start + step, ... of one axis. The start may be an
  // expression; all entries must be in range.
  mlir::Value Slice(mlir::Value value, int64_t dim, mlir::AffineExpr start,
                    mlir::AffineExpr size, int64_t step = 1);
  mlir::Value Slice(mlir::Value value, int64_t dim, int64_t start, int64_t size,
                    int64_t step = 1) {
    return Slice(value, dim, Constant(start), Constant(size), step);
  }
  // The entries along `dim` in the opposite order.
  mlir::Value Reverse(mlir::Value value, int64_t dim);
  mlir::Value Concat(llvm::ArrayRef<mlir::Value> values, int64_t dim);
  // `length` elements of the diagonal of two axes as a new last axis: element i
  // is at i - min(offset, 0) along `dim1` and at i + max(offset, 0) along
  // `dim2`.
  mlir::Value Diagonal(mlir::Value value, int64_t dim1, int64_t dim2,
                       int64_t offset, mlir::AffineExpr length);
  mlir::Value Pad(mlir::Value value, llvm::ArrayRef<int64_t> low,
                  llvm::ArrayRef<int64_t> high, double number);
  // `indices` of rank 1 and int dtype; negative ones count from the end.
  mlir::Value IndexSelect(mlir::Value value, int64_t dim, mlir::Value indices);

  // Checks that `indices`, integers, are indices of an axis of `size` elements;
  // with `from_end`, negative ones count from the end. Another index is the
  // error that eager raises, when the model runs. The result is an ait.check,
  // whose elements are always in [0, size).
  mlir::Value CheckIndex(mlir::Value indices, mlir::AffineExpr size,
                         bool from_end = false);
  // Likewise checks that the elements of an integer divisor are not 0.
  mlir::Value CheckDivisor(mlir::Value divisor);
  // Whether an axis of `value` is of size 0, whatever the inputs' sizes.
  bool HasNoElements(mlir::Value value);

  // ---- Arithmetic: operands broadcast and promote ----
  template <typename Op, typename... Attributes>
  mlir::Value Unary(mlir::Value value, Attributes... attributes) {
    return Op::create(builder(), location_, value.getType(), value,
                      attributes...);
  }
  // isnan, isinf and logical_not: a bool of the operand's sizes.
  template <typename Op>
  mlir::Value Predicate(mlir::Value value) {
    return Op::create(builder(), location_,
                      TypeOf(SizesOf(value), DataType::kBool), value);
  }
  template <typename Op>
  mlir::Value Binary(mlir::Value a, mlir::Value b) {
    Unify(a, b);
    return Op::create(builder(), location_, a.getType(), a, b);
  }
  template <typename Op>
  mlir::Value Binary(mlir::Value a, const Scalar& b) {
    return Op::create(builder(), location_, a.getType(), a, FullLike(b, a));
  }
  template <typename Op>
  mlir::Value Compare(mlir::Value a, mlir::Value b) {
    Unify(a, b);
    return Op::create(builder(), location_, TypeOf(SizesOf(a), DataType::kBool),
                      a, b);
  }
  template <typename Op>
  mlir::Value Compare(mlir::Value a, const Scalar& b) {
    return Compare<Op>(a, FullLike(b, a));
  }
  template <typename B>
  mlir::Value Add(mlir::Value a, const B& b) {
    return Binary<mlir::ait::AddOp>(a, b);
  }
  template <typename B>
  mlir::Value Subtract(mlir::Value a, const B& b) {
    return Binary<mlir::ait::SubOp>(a, b);
  }
  template <typename B>
  mlir::Value Multiply(mlir::Value a, const B& b) {
    return Binary<mlir::ait::MulOp>(a, b);
  }
  template <typename B>
  mlir::Value Divide(mlir::Value a, const B& b) {
    return Binary<mlir::ait::DivOp>(a, b);
  }
  // `condition` is made bool; the other two promote.
  mlir::Value Where(mlir::Value condition, mlir::Value on_true,
                    mlir::Value on_false);
  mlir::Value LogicalNot(mlir::Value value);

  // ---- Reductions and contractions ----
  // Keeps the reduced axes with size 1.
  template <typename Op>
  mlir::Value Reduce(mlir::Value value, llvm::ArrayRef<int64_t> dims) {
    if (dims.empty()) return value;
    return Op::create(builder(), location_,
                      ReducedType(value, dims, DataTypeOf(value)), value, dims);
  }
  // The type of `value` with these axes of size 1.
  mlir::RankedTensorType ReducedType(mlir::Value value,
                                     llvm::ArrayRef<int64_t> dims,
                                     DataType dtype);
  // Matrix product over the last two axes; both operands have rank >= 2.
  // Leading axes broadcast; rhs of rank 2 stays shared.
  mlir::Value Matmul(mlir::Value lhs, mlir::Value rhs,
                     bool transpose_rhs = false);
  // input [..., K] times weight [N, K] transposed, plus bias (may be null) [N].
  mlir::Value Linear(mlir::Value input, mlir::Value weight, mlir::Value bias);
  mlir::Value Softmax(mlir::Value value, int64_t dim, bool log = false);

 private:
  // Null for a result that the call does not have or left undefined.
  const TraceValue* ResultValue(int index) const;
  // Gives a and b one dtype and one type.
  void Unify(mlir::Value& a, mlir::Value& b);
  mlir::Value Zeros(mlir::RankedTensorType type);

  ImportState& state_;
  const TraceOp& op_;
  mlir::Location location_;
  absl::Status status_;
};

// Printed sizes for reasons: "[s0, 128]".
std::string ToString(llvm::ArrayRef<mlir::AffineExpr> sizes);

}  // namespace aitune::frontend

#endif  // AITUNE_FRONTEND_IMPORTER_OP_IMPORTER_H_
