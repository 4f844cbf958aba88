// What a contraction kernel does with its sums before it stores them: the
// pointwise operations after the contraction, evaluated on vectors of one row.
//
// Every value is addressed in the coordinates of the contraction's result
// flattened to rows and columns (N). Views after the contraction (the reshape
// and permute to attention heads) are undone on the layouts of what is read and
// written, so that the sums themselves never move.
#ifndef AITUNE_COMPILER_CODEGEN_CPU_CONTRACTION_MICROKERNELEPILOGUE_H
#define AITUNE_COMPILER_CODEGEN_CPU_CONTRACTION_MICROKERNELEPILOGUE_H

#include "compiler/codegen/cpu/contraction/Microkernel.h"

namespace aitune {

class Epilogue {
public:
  /// Plans everything `kernel` computes from `root`, its contraction. Fails,
  /// with `reason`, if an operation after it is not pointwise or a view cannot
  /// be undone.
  static mlir::FailureOr<Epilogue>
  create(mlir::func::FuncOp kernel, mlir::Value root, std::string &reason);

  /// Evaluates and stores columns [column, column + lanes of sums) of row
  /// `row`, given the contraction's sums (a vector of the accumulator type).
  /// `mask` (may be null) tells the columns that exist. `column` is a multiple
  /// of the lanes. Fails, with a diagnostic at the operation, if one has no
  /// vector form.
  mlir::LogicalResult emit(KernelBuilder &builder, mlir::Value row,
                           mlir::Value column, mlir::Value sums,
                           mlir::Value mask) const;

  /// Does so for a block of sums: `rows` rows from row `firstRow`, of which
  /// `columns` columns from `firstColumn` on exist (a multiple of the lanes if
  /// `wholeVectors`), at pointer with `rowStride` accumulators a row, readable
  /// up to a multiple of the lanes.
  mlir::LogicalResult emitBlock(KernelBuilder &builder, mlir::Value firstRow,
                                mlir::Value rows, mlir::Value firstColumn,
                                mlir::Value columns, bool wholeVectors,
                                mlir::Type accumulatorType, int64_t lanes,
                                mlir::Value pointer, int64_t rowStride) const;

  /// Does so for a tile whose sums are in registers, its first row and column
  /// given. `masks` (may be empty) tell the columns that exist, one mask a
  /// vector.
  mlir::LogicalResult emitTile(KernelBuilder &builder, const TileShape &tile,
                               mlir::ValueRange sums, mlir::Value firstRow,
                               mlir::Value firstColumn,
                               llvm::ArrayRef<mlir::Value> masks) const;

  /// Whether a vector goes through so little that it is done best while the
  /// sums are in registers, in code repeated for each of them.
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
