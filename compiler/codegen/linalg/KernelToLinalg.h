// Lowers the operations of a kernel function to linalg. The class holds the
// state that all lowerings share: the values lowered so far, sizes as
// arithmetic on symbols, and one way to make a linalg.generic.
//
// Values in registers are signless, so ui8 tensors become i8, and the sign is
// read from the types of the `ait` operation.
#ifndef AITUNE_COMPILER_CODEGEN_LINALG_KERNELTOLINALG_H
#define AITUNE_COMPILER_CODEGEN_LINALG_KERNELTOLINALG_H

#include "compiler/dialect/Ait.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "llvm/ADT/DenseMap.h"

namespace aitune {

/// An index expression of the loops around, in the body of a linalg.generic or
/// a branch there. `symbol` gives the value of a symbol that occurs; its
/// builder is at the start of the body.
mlir::Value
emitIndex(mlir::OpBuilder &builder, mlir::Location location,
          mlir::AffineExpr expr,
          llvm::function_ref<mlir::Value(mlir::OpBuilder &, unsigned)> symbol);

class KernelToLinalg {
public:
  explicit KernelToLinalg(mlir::func::FuncOp function)
      : function(function), builder(function.getContext()) {}

  /// Lowers the whole body in place. Fails with a diagnostic at the operation
  /// that has no lowering; the function is then half lowered.
  mlir::LogicalResult run();

private:
  using Location = mlir::Location;
  using Value = mlir::Value;
  using AffineExpr = mlir::AffineExpr;
  using RankedTensorType = mlir::RankedTensorType;
  using Body =
      llvm::function_ref<void(mlir::OpBuilder &, Location, mlir::ValueRange)>;

  // Each lowers one family of operations. Failure without a diagnostic means
  // that the operation is of another family.
  mlir::LogicalResult lowerSource(mlir::Operation *op); // LowerViews.cpp
  mlir::LogicalResult lowerView(mlir::Operation *op);   // LowerViews.cpp
  mlir::LogicalResult
  lowerDataMovement(mlir::Operation *op); // LowerDataMovement.cpp
  mlir::LogicalResult
  lowerReduction(mlir::Operation *op);                  // LowerReductions.cpp
  mlir::LogicalResult lowerWindow(mlir::Operation *op); // LowerWindows.cpp
  mlir::LogicalResult lowerPointwise(mlir::Operation *op); // KernelToLinalg.cpp

  mlir::LogicalResult lowerCheck(mlir::Operation *op); // LowerChecks.cpp

  void lowerFull(mlir::ait::FullOp op);
  void lowerIota(mlir::ait::IotaOp op);
  void lowerReshape(mlir::ait::ReshapeOp op);
  void lowerConcat(mlir::ait::ConcatOp op);
  void lowerPad(mlir::ait::PadOp op);
  void lowerSliceScatter(mlir::ait::SliceScatterOp op);
  void lowerEmbedding(mlir::ait::EmbeddingOp op);
  /// `op` is index_select or gather. Its element is that of the input with the
  /// element of the indices at `map` as the index of axis `selected`.
  void lowerSelection(mlir::Operation *op, int64_t selected,
                      mlir::AffineMap map);
  void lowerCumsum(mlir::ait::CumsumOp op);
  void lowerArgReduction(mlir::Operation *op);
  void lowerMean(mlir::ait::MeanOp op);
  void lowerMaxPool(mlir::ait::MaxPool2dOp op);
  void lowerAveragePool(mlir::ait::AvgPool2dOp op);
  void lowerUpsampleNearest(mlir::ait::UpsampleNearest2dOp op);
  void lowerUpsampleBilinear(mlir::ait::UpsampleBilinear2dOp op);

  /// The lowered form of an `ait` value.
  Value lowered(Value value) { return values.lookup(value); }
  void define(Value value, Value result) { values[value] = result; }
  /// `type` with the element type that its values have in a register.
  static RankedTensorType registerTensor(mlir::Type type);

  AffineExpr dim(unsigned i) { return builder.getAffineDimExpr(i); }
  AffineExpr constant(int64_t value) {
    return builder.getAffineConstantExpr(value);
  }
  /// The scalar constant with which a tensor is filled; null if it is not
  /// filled.
  Value matchFull(Value aitValue, Location location);
  Value scalar(Location location, mlir::Type elementType, double number);

  /// The value of s`symbol`, at the start of the function.
  Value symbol(unsigned symbol);
  /// The value, of type index, of an expression of symbols, computed at the
  /// start of the function.
  Value sizeValue(AffineExpr size);
  /// The value of an expression of symbols and of the loops of the
  /// linalg.generic in which `b` inserts.
  Value indexValue(mlir::OpBuilder &b, Location location, AffineExpr expr);
  Value empty(Location location, RankedTensorType type);
  Value filled(Location location, RankedTensorType type, Value number);

  /// An elementwise generic of the result type; operand i is read at maps[i].
  Value generic(Location location, RankedTensorType type,
                mlir::ValueRange operands, llvm::ArrayRef<mlir::AffineMap> maps,
                Body body);
  /// The result at [i...] is the input at exprs[i...]: an indexing map if
  /// linalg can express it, a body with tensor.extract otherwise.
  Value readAt(Location location, RankedTensorType type, Value input,
               llvm::ArrayRef<AffineExpr> exprs);
  /// The maximum (isMaximum) or the sum of `input` at `inputExprs` over a
  /// window. The dims of the window follow those of the result; their sizes are
  /// `window`. Positions of the window outside of the input do not count.
  Value windowReduction(Location location, RankedTensorType type, Value input,
                        llvm::ArrayRef<AffineExpr> inputExprs,
                        llvm::ArrayRef<int64_t> window, bool isMaximum);
  /// Whether all of bounds[i].lower <= bounds[i].expr < bounds[i].upper hold;
  /// comparisons that always hold are left out. Null if all do.
  struct Bound {
    AffineExpr expr, lower, upper;
  };
  Value inBounds(mlir::OpBuilder &b, Location location,
                 llvm::ArrayRef<Bound> bounds);
  /// `onTrue` where the condition holds, else `onFalse`; only the chosen one is
  /// evaluated. A null condition always holds.
  Value choose(mlir::OpBuilder &b, Location location, Value condition,
               mlir::Type type,
               llvm::function_ref<Value(mlir::OpBuilder &)> onTrue,
               llvm::function_ref<Value(mlir::OpBuilder &)> onFalse);
  /// What an index below 0 means.
  enum class NegativeIndex { IsFirst, CountsFromEnd };
  /// index limited to [0, size), after adding size to negatives if these count
  /// from the end.
  Value clampIndex(mlir::OpBuilder &b, Location location, Value index,
                   AffineExpr size, NegativeIndex belowZero);
  /// Whether `size` is at least 1 for all values of the symbols.
  bool isNeverEmpty(AffineExpr size);
  /// The element at `indices`, one of which is the result of clampIndex for an
  /// axis of `size`; 0 if that axis has no elements.
  Value readWithin(mlir::OpBuilder &b, Location location, Value tensor,
                   llvm::ArrayRef<Value> indices, AffineExpr size);
  /// An ait.report of `value`, which reports `shown` (i64) to the runtime if
  /// `failed` is true.
  Value report(mlir::OpBuilder &b, mlir::ait::CheckOp op, Value value,
               Value failed, Value shown);

  mlir::func::FuncOp function;
  mlir::OpBuilder builder;
  llvm::DenseMap<Value, Value> values;
  llvm::DenseMap<unsigned, Value> symbols;
  /// The descriptions of the checks that report, in order, for ait.checks.
  llvm::SmallVector<mlir::Attribute> checks;
  /// Sizes of the dims of the generic being made; for inBounds.
  llvm::SmallVector<AffineExpr> domain;
};

} // namespace aitune

#endif // AITUNE_COMPILER_CODEGEN_LINALG_KERNELTOLINALG_H
