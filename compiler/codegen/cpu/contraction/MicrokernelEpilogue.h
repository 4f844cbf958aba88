// The epilogue of a contraction kernel: the pointwise operations after the
// contraction, evaluated on vectors of one row of sums before they are stored.
//
// Every value is addressed by the row and column of the contraction's result,
// flattened to rows and columns (N). Views after the contraction (the reshape
// and permute to attention heads) are applied backwards to the layouts of the
// tensors that are read and written, so that the sums themselves never move.
#ifndef AITUNE_COMPILER_CODEGEN_CPU_CONTRACTION_MICROKERNELEPILOGUE_H
#define AITUNE_COMPILER_CODEGEN_CPU_CONTRACTION_MICROKERNELEPILOGUE_H

#include "compiler/codegen/cpu/contraction/Microkernel.h"

namespace aitune {

class Epilogue {
public:
  /// Plans all operations that `kernel` computes from `root`, the result of its
  /// contraction. Fails and sets `reason` if an operation after it is not
  /// pointwise or a view has no inverse.
  static mlir::FailureOr<Epilogue>
  create(mlir::func::FuncOp kernel, mlir::Value root, std::string &reason);

  /// Evaluates and stores columns [column, column + lanes of sums) of row
  /// `row`, given the contraction's sums (a vector of the accumulator type).
  /// `mask` (may be null) has the columns that exist. `column` is a multiple of
  /// the lanes. Fails, with a diagnostic at the operation, if an operation has
  /// no vector form.
  mlir::LogicalResult emit(KernelBuilder &builder, mlir::Value row,
                           mlir::Value column, mlir::Value sums,
                           mlir::Value mask) const;

  /// The same for a block of sums: `rows` rows from row `firstRow`, of which
  /// `columns` columns from `firstColumn` on exist (a multiple of the lanes if
  /// `wholeVectors`), at pointer with `rowStride` accumulators a row, readable
  /// up to a multiple of the lanes.
  mlir::LogicalResult emitBlock(KernelBuilder &builder, mlir::Value firstRow,
                                mlir::Value rows, mlir::Value firstColumn,
                                mlir::Value columns, bool wholeVectors,
                                mlir::Type accumulatorType, int64_t lanes,
                                mlir::Value pointer, int64_t rowStride) const;

  /// The same for a tile whose sums are in registers and whose first row and
  /// column are given. `masks` (may be empty) has one mask for each vector,
  /// with the columns that exist.
  mlir::LogicalResult emitTile(KernelBuilder &builder, const TileShape &tile,
                               mlir::ValueRange sums, mlir::Value firstRow,
                               mlir::Value firstColumn,
                               llvm::ArrayRef<mlir::Value> masks) const;

  /// Whether the epilogue has so few operations that it is best computed while
  /// the sums are in registers, by code that is repeated for each register.
  bool isCheap() const;

  /// Whether a vector of columns must start at a multiple of the lanes, because
  /// something read or written has a column axis of several modes.
  bool splitsColumns() const;

private:
  struct Node {
    enum class Kind { Sums, Argument, Constant, Pointwise };
    Kind kind;
    /// The argument's number and layout, flattened to (row, column).
    unsigned argument = 0;
    LayoutAxis rowAxis, columnAxis;
    mlir::AffineExpr offset;
    mlir::Type elementType;
    /// The pointwise operation, or the ait.full of a constant.
    mlir::Operation *op = nullptr;
    llvm::SmallVector<unsigned> operands;
  };
  struct Output {
    unsigned node;
    Node target;
  };

  struct Planner;
  llvm::SmallVector<Node> nodes;
  llvm::SmallVector<Output> outputs;
};

} // namespace aitune

#endif // AITUNE_COMPILER_CODEGEN_CPU_CONTRACTION_MICROKERNELEPILOGUE_H
