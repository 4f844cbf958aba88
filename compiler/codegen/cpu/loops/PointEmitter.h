// Emits the element of a tensor at an index, as a scalar or as the lanes of a
// vector, by following linalg.generic bodies back to the kernel's arguments.
//
// The caller opens loops (scopes) and asks for values inside; the emitter finds
// out by itself
// - whether a value differs between the lanes: only then it is a vector;
// - the outermost loop a value can stand in: it is emitted before the loops it
//   does not depend on, so row statistics and broadcast operands need no
//   schedule of their own;
// - what was emitted already: a value at an index is emitted once a scope.
// Reductions open loops of their own, with lanes along a reduced axis when no
// loop around them has lanes.
#ifndef AITUNE_COMPILER_CODEGEN_CPU_LOOPS_POINTEMITTER_H
#define AITUNE_COMPILER_CODEGEN_CPU_LOOPS_POINTEMITTER_H

#include "compiler/codegen/loops/LoopAnalysis.h"
#include "compiler/dialect/Ait.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/MapVector.h"

namespace aitune {

/// A loop, a chunk of one, or a branch being emitted.
struct EmissionScope {
  EmissionScope *parent = nullptr;
  /// The operation in the parent's block whose region this scope's code is in;
  /// null when it is in the same block.
  mlir::Operation *anchor = nullptr;
  /// Values of dims: i64, for lane 0 if the dim is `laneDim`; vectors of i64
  /// for indices read from data that differ between lanes.
  llvm::DenseMap<unsigned, mlir::Value> bindings;
  llvm::DenseMap<unsigned, DimRange> ranges;
  /// The dim whose next `lanes` values are computed at once.
  std::optional<unsigned> laneDim;
  int64_t lanes = 1;
  /// Lanes that exist, vector<lanes x i1>; null: all.
  mlir::Value mask;
  /// Code must not be moved out: it may only run when a condition holds.
  bool isBranch = false;
  llvm::DenseMap<std::pair<mlir::Value, mlir::AffineMap>, mlir::Value> known;
};

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

class PointEmitter {
public:
  /// `arguments[i]` is the pointer of the function's i-th tensor argument and
  /// `symbols(i)` the value of s`i` as i64. `lanes`: lanes for a full vector.
  PointEmitter(mlir::OpBuilder &builder, mlir::Location location,
               DimTable &dims, int64_t lanes)
      : b(builder), location(location), dims(dims), maxLanes(lanes) {}

  /// A scan whose steps the loop over `scanDim` runs in order: the sum so far
  /// is kept on the stack.
  struct ScanState {
    mlir::Value pointer;
    mlir::AffineMap index; ///< where the scan is read; set at its first use
  };

  // Set up by the schedule.
  llvm::DenseMap<mlir::Value, mlir::Value>
      pointers; ///< function argument -> pointer
  std::function<mlir::Value(unsigned)> symbolValue;
  mlir::Value checks; ///< pointer to the KernelChecks, if the kernel has any
  llvm::DenseMap<mlir::Value, RowBuffer> rowBuffers;

  std::optional<unsigned> scanDim;
  llvm::MapVector<mlir::Operation *, ScanState> scans;

  mlir::OpBuilder &b;
  mlir::Location location;
  DimTable &dims;
  const int64_t maxLanes;
  EmissionScope *current = nullptr;

  /// Starts every scan anew; before the loop over `scanDim`.
  void resetScans();

  /// The element of `tensor` at `exprs`: scalar if it is the same for all
  /// lanes.
  mlir::Value pull(mlir::Value tensor, llvm::ArrayRef<mlir::AffineExpr> exprs);
  /// Stores to a dense tensor of type `type` at `pointer`.
  void store(mlir::Value value, mlir::Value pointer,
             mlir::RankedTensorType type,
             llvm::ArrayRef<mlir::AffineExpr> exprs);

  /// An index expression as i64 or vector of i64.
  mlir::Value materialize(mlir::AffineExpr expr);
  /// The same for lane 0.
  mlir::Value materializeUniform(mlir::AffineExpr expr);
  /// lhs / rhs rounded down, or what is left; rhs is positive.
  mlir::Value divide(mlir::Value lhs, mlir::Value rhs, bool wantRemainder,
                     bool mayBeNegative);

  /// The innermost scope with lanes, or null.
  EmissionScope *laneScope() const;
  /// The mask that holds here, or null.
  mlir::Value activeMask() const;
  std::optional<DimRange> range(unsigned dim) const;
  mlir::Value binding(unsigned dim) const;
  mlir::Value broadcast(mlir::Value value, int64_t lanes);
  mlir::Value i64(int64_t value);
  /// i1 lanes whose number is less than `count` (i64).
  mlir::Value maskBelow(mlir::Value count, int64_t lanes);

  /// Runs `body` in a new scope; `setUp` fills it in.
  void inScope(llvm::function_ref<void(EmissionScope &)> setUp,
               llvm::function_ref<void()> body);
  /// for (iv = lower; iv < upper; iv += step), carrying values; bounds are i64
  /// values. A single constant trip has no loop. `body` runs in a new scope and
  /// returns what is carried.
  llvm::SmallVector<mlir::Value>
  loop(mlir::Value lower, mlir::Value upper, int64_t step,
       mlir::ValueRange carried,
       llvm::function_ref<llvm::SmallVector<mlir::Value>(mlir::Value iv,
                                                         mlir::ValueRange)>
           body);
  /// if (condition) body, in a new scope.
  void branch(mlir::Value condition, llvm::function_ref<void()> body);

private:
  /// One evaluation of a generic's body.
  struct Body {
    Body(mlir::linalg::GenericOp generic,
         llvm::ArrayRef<mlir::AffineExpr> loops)
        : generic(generic), loops(loops) {}
    mlir::linalg::GenericOp generic;
    llvm::SmallVector<mlir::AffineExpr> loops;
    /// Block arguments with a given value (accumulators).
    llvm::DenseMap<mlir::Value, mlir::Value> known;
  };

  EmissionScope *placementOf(llvm::ArrayRef<mlir::AffineExpr> exprs) const;
  mlir::Value pullHere(mlir::Value tensor,
                       llvm::ArrayRef<mlir::AffineExpr> exprs);
  bool isLaneVarying(mlir::AffineExpr expr) const;

  // EmitBody.cpp
  mlir::Value evaluate(mlir::Value value, Body &body);
  mlir::Value evaluateBranch(mlir::scf::IfOp op, unsigned result, Body &body);
  mlir::Value evaluateExtract(mlir::tensor::ExtractOp op, Body &body);
  mlir::Value evaluateElementwise(mlir::Operation *op, unsigned result,
                                  Body &body);
  mlir::Value evaluateReport(mlir::ait::ReportOp op, Body &body);
  mlir::AffineExpr indexOf(mlir::Value value, Body &body);
  std::optional<bool> decide(mlir::Value condition, Body &body);

  // EmitMemory.cpp
  /// Whether the lanes here are neighbours in the buffer.
  bool fits(const RowBuffer &buffer, mlir::AffineExpr address) const;
  mlir::Value loadBuffer(const RowBuffer &buffer, mlir::AffineExpr address);
  void storeBuffer(const RowBuffer &buffer, mlir::AffineExpr address,
                   mlir::Value value);
  mlir::Value load(mlir::Value pointer, mlir::Type elementType,
                   mlir::AffineExpr address);
  mlir::Value materializeLanes(mlir::AffineExpr expr);
  mlir::Value element(mlir::Value pointer, mlir::Type elementType,
                      mlir::Value index);

  // EmitReductions.cpp
  void reduce(mlir::linalg::GenericOp generic, unsigned result,
              llvm::ArrayRef<mlir::AffineExpr> exprs);
  mlir::Value scan(mlir::linalg::GenericOp generic,
                   llvm::ArrayRef<mlir::AffineExpr> exprs);
  struct ReductionLoops;
  bool runsInOrder(mlir::linalg::GenericOp generic, mlir::AffineExpr axis,
                   llvm::ArrayRef<mlir::AffineExpr> exprs);
  mlir::Value neutralOf(mlir::linalg::GenericOp generic, unsigned result);
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
  llvm::SmallVector<mlir::Value> step(ReductionLoops &loops,
                                      mlir::ValueRange accumulators);
  llvm::SmallVector<mlir::Value> combine(mlir::linalg::GenericOp generic,
                                         mlir::ValueRange lhs,
                                         mlir::ValueRange rhs);
  llvm::SmallVector<mlir::Value> combineLanes(mlir::linalg::GenericOp generic,
                                              mlir::ValueRange values);

  llvm::StringMap<mlir::Value> constants;
};

} // namespace aitune

#endif // AITUNE_COMPILER_CODEGEN_CPU_LOOPS_POINTEMITTER_H
