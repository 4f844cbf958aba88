// Emits the element of a tensor at an index, as a scalar or as the lanes of a
// vector: the CPU's half of the loop compiler. Where a value stands, and
// whether it is there already, PointWalker decides; here is
// - whether a value differs between the lanes: only then it is a vector;
// - how loads and stores of lanes are made, and which lanes exist;
// - how reductions loop: with lanes along a reduced axis when no loop around
//   them has lanes, and accumulators side by side.
#ifndef AITUNE_COMPILER_CODEGEN_CPU_LOOPS_POINTEMITTER_H
#define AITUNE_COMPILER_CODEGEN_CPU_LOOPS_POINTEMITTER_H

#include "compiler/codegen/loops/LoopNest.h"
#include "compiler/codegen/loops/PointWalker.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "llvm/ADT/MapVector.h"

namespace aitune {

/// A loop, a chunk of one, or a branch being emitted. Dims are i64, for lane 0
/// if the dim is `laneDim`; vectors of i64 for indices read from data that
/// differ between lanes.
struct EmissionScope : PointScope<EmissionScope, mlir::Value> {
  /// The operation in the parent's block whose region this scope's code is in;
  /// null when it is in the same block.
  mlir::Operation *anchor = nullptr;
  /// Lanes that exist, vector<lanes x i1>; null: all.
  mlir::Value mask;
};

extern template class PointWalker<EmissionScope>;

/// A tensor's values of one row, kept on the stack between the loops over the
/// row.
struct RowBuffer {
  mlir::Value pointer;
  mlir::Type elementType;
  /// The strides of the tensor's axes, in elements; 0 for axes fixed in a row.
  llvm::SmallVector<mlir::AffineExpr> strides;
  /// Lanes lie along a row axis: each element is a vector.
  bool isColumn = false;
  /// Its loop has run; read it from now on.
  bool isFilled = false;
  /// Every value was stored; otherwise it is never read.
  bool isUsable = true;
};

class PointEmitter : public PointWalker<EmissionScope> {
public:
  /// `lanes`: lanes for a full vector.
  PointEmitter(mlir::OpBuilder &builder, mlir::Location location,
               DimTable &dims, int64_t lanes)
      : PointWalker(dims), b(builder), location(location), maxLanes(lanes) {}

  /// A scan whose steps the loop over `scanDim` runs in order: the sum so far
  /// is kept on the stack.
  struct ScanState {
    mlir::Value pointer;
    mlir::AffineMap index; ///< where the scan is read; set at its first use
  };

  // Set up by the schedule.
  llvm::DenseMap<mlir::Value, mlir::Value>
      pointers; ///< function argument -> pointer
  std::function<mlir::Value(unsigned)> symbolValue; ///< s`i` as i64
  mlir::Value checks; ///< pointer to the KernelChecks, if the kernel has any
  llvm::DenseMap<mlir::Value, RowBuffer> rowBuffers;

  std::optional<unsigned> scanDim;
  llvm::MapVector<mlir::Operation *, ScanState> scans;

  mlir::OpBuilder &b;
  mlir::Location location;
  const int64_t maxLanes;

  /// Starts every scan anew; before the loop over `scanDim`.
  void resetScans();

  /// Stores to a dense tensor of type `type` at `pointer`.
  void store(mlir::Value value, mlir::Value pointer,
             mlir::RankedTensorType type,
             llvm::ArrayRef<mlir::AffineExpr> exprs);

  /// An index expression as i64 or vector of i64.
  mlir::Value materialize(mlir::AffineExpr expr);
  /// The same for lane 0.
  mlir::Value materializeUniform(mlir::AffineExpr expr);

  /// The mask that holds here, or null.
  mlir::Value activeMask() const;
  mlir::Value broadcast(mlir::Value value, int64_t lanes);
  mlir::Value i64(int64_t value);
  /// i1 lanes whose number is less than `count` (i64).
  mlir::Value maskBelow(mlir::Value count, int64_t lanes);

  /// Gives the current scope the value of a group's loop.
  void bind(const LoopGroup &group, mlir::Value value);
  /// for (iv = lower; iv < upper; iv += step), carrying values; bounds are i64
  /// values. A single constant trip has no loop. `body` runs in a new scope and
  /// returns what is carried.
  llvm::SmallVector<mlir::Value>
  loop(mlir::Value lower, mlir::Value upper, int64_t step,
       mlir::ValueRange carried,
       llvm::function_ref<llvm::SmallVector<mlir::Value>(mlir::Value iv,
                                                         mlir::ValueRange)>
           body);

private:
  bool isLaneVarying(mlir::AffineExpr expr) const;

  // PointWalker; the values are scalars if they are the same for all lanes.
  void runIn(EmissionScope *scope, llvm::function_ref<void()> body) override;
  mlir::Value zero(mlir::Type type) override;
  mlir::Value constant(mlir::TypedAttr value) override;
  mlir::Value indexValue(mlir::AffineExpr expr, mlir::Type type) override;
  mlir::Value load(mlir::BlockArgument argument,
                   llvm::ArrayRef<mlir::AffineExpr> exprs) override;
  mlir::Value operation(mlir::Operation *op,
                        llvm::MutableArrayRef<mlir::Value> operands) override;
  mlir::Value select(mlir::scf::IfOp op, mlir::Value onTrue,
                     mlir::Value onFalse, Body &body) override;
  void report(mlir::ait::ReportOp op, mlir::Value failed,
              mlir::Value shown) override;
  llvm::SmallVector<mlir::Value> reduce(Reduction &reduction) override;
  mlir::Value runScan(Scan &scan) override;
  std::optional<mlir::Value>
  reload(mlir::Value tensor, llvm::ArrayRef<mlir::AffineExpr> exprs) override;
  void keep(mlir::Value tensor, llvm::ArrayRef<mlir::AffineExpr> exprs,
            const mlir::Value &element) override;

  // EmitMemory.cpp
  /// lhs / rhs rounded down, or what is left; rhs is positive.
  mlir::Value divide(mlir::Value lhs, mlir::Value rhs, bool wantRemainder,
                     bool mayBeNegative);
  /// Whether the lanes here are neighbours in the buffer.
  bool fits(const RowBuffer &buffer, mlir::AffineExpr address) const;
  mlir::Value loadBuffer(const RowBuffer &buffer, mlir::AffineExpr address);
  void storeBuffer(const RowBuffer &buffer, mlir::AffineExpr address,
                   mlir::Value value);
  mlir::Value materializeLanes(mlir::AffineExpr expr);
  mlir::Value element(mlir::Value pointer, mlir::Type elementType,
                      mlir::Value index);

  // EmitReductions.cpp
  struct ReductionLoops;
  /// Whether the scan's elements are read one after the other here.
  bool runsInOrder(const Scan &scan);
  /// What a result starts from, in every lane.
  mlir::Value neutralOf(mlir::linalg::GenericOp generic, unsigned result,
                        int64_t lanes);
  llvm::SmallVector<mlir::Value> reduceOver(ReductionLoops &loops,
                                            unsigned depth,
                                            mlir::ValueRange accumulators);
  /// for (iv = 0; iv < end; iv += step), as loop(), but float sums are added up
  /// in blocks. `size`: what `end` at most is, if that is known.
  llvm::SmallVector<mlir::Value>
  sumInBlocks(ReductionLoops &loops, mlir::Value end, int64_t step,
              std::optional<int64_t> size, mlir::ValueRange accumulators,
              llvm::function_ref<llvm::SmallVector<mlir::Value>(
                  mlir::Value iv, mlir::ValueRange carried)>
                  body);
  llvm::SmallVector<mlir::Value> reduceInnermost(ReductionLoops &loops,
                                                 mlir::ValueRange accumulators);
  /// One step of a reduction, of as many lanes as the accumulators have.
  llvm::SmallVector<mlir::Value> step(mlir::linalg::GenericOp generic,
                                      llvm::ArrayRef<mlir::AffineExpr> loops,
                                      mlir::ValueRange accumulators);
  llvm::SmallVector<mlir::Value> combine(mlir::linalg::GenericOp generic,
                                         mlir::ValueRange lhs,
                                         mlir::ValueRange rhs);
  llvm::SmallVector<mlir::Value> combineLanes(mlir::linalg::GenericOp generic,
                                              mlir::ValueRange values);
};

} // namespace aitune

#endif // AITUNE_COMPILER_CODEGEN_CPU_LOOPS_POINTEMITTER_H
