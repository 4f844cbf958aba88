// Emits the element of a tensor at an index, as a scalar or as the lanes of a
// vector: the CPU's part of the loop compiler. PointWalker decides in which
// scope a value is computed and whether it has been computed already. This
// class decides
// - whether a value differs between the lanes: only then it is a vector;
// - how loads and stores of lanes are made, and which lanes are active;
// - how the loops of reductions look: their lanes lie along a reduced axis if
// no
//   loop around them has lanes, and they have several accumulators.
#ifndef AITUNE_COMPILER_CODEGEN_CPU_LOOPS_POINTEMITTER_H
#define AITUNE_COMPILER_CODEGEN_CPU_LOOPS_POINTEMITTER_H

#include "compiler/codegen/loops/LoopNest.h"
#include "compiler/codegen/loops/PointWalker.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "llvm/ADT/MapVector.h"

namespace aitune {

/// A loop, a part of one, or a branch that is being emitted. The value of a dim
/// is an i64, for `laneDim` that of lane 0; an index read from data that
/// differs between lanes is a vector of i64.
struct EmissionScope : PointScope<EmissionScope, mlir::Value> {
  /// The operation in the parent's block whose region this scope's code is in;
  /// null when it is in the same block.
  mlir::Operation *anchor = nullptr;
  /// The active lanes, a vector<lanes x i1>; null: all lanes are active.
  mlir::Value mask;
  /// In the body of a loop whose steps compute as many values of `tileDim` as
  /// there are lanes (the scope binds it to the first): the operands' squares
  /// that were loaded, as one vector of lanes for each value. The key is the
  /// operand's memory and the index expression of the address.
  std::optional<unsigned> tileDim;
  llvm::DenseMap<std::pair<mlir::Value, mlir::AffineExpr>,
                 llvm::SmallVector<mlir::Value>>
      tiles;
  /// In a scope inside of that body: which of the values it computes.
  std::optional<int64_t> tileStep;
};

extern template class PointWalker<EmissionScope>;

/// The elements of one row of a tensor, which are kept on the stack between the
/// loops over the row.
struct RowBuffer {
  mlir::Value pointer;
  mlir::Type elementType;
  /// The strides of the tensor's axes, in elements; 0 for axes fixed in a row.
  llvm::SmallVector<mlir::AffineExpr> strides;
  /// Whether lanes lie along a row axis, so that each element is a vector.
  bool isColumn = false;
  /// Whether the loop that stores the elements has been emitted, so that they
  /// can be read.
  bool isFilled = false;
  /// Whether every element was stored; otherwise the buffer is never read.
  bool isUsable = true;
};

/// The alignment in bytes, a cache line's, of memory that is written past the
/// caches.
constexpr unsigned kStreamedAlignment = 64;

class PointEmitter : public PointWalker<EmissionScope> {
public:
  /// `lanes` is the number of lanes of a full vector.
  PointEmitter(mlir::OpBuilder &builder, mlir::Location location,
               DimTable &dims, int64_t lanes)
      : PointWalker(dims), b(builder), location(location), maxLanes(lanes) {}

  /// A scan whose steps the loop over `scanDim` runs in order: the sum so far
  /// is kept on the stack.
  struct ScanState {
    mlir::Value pointer;
    mlir::AffineMap index; ///< where the scan is read; set at its first use
  };

  // The following are set by the caller.

  /// The pointer to the memory of each argument of the function.
  llvm::DenseMap<mlir::Value, mlir::Value> pointers;
  /// Returns the value of the symbol s`i` as i64.
  std::function<mlir::Value(unsigned)> symbolValue;
  /// The pointer to the kernel's KernelCheck memory; null if it has no checks.
  mlir::Value checks;
  /// The buffer of each tensor that has one.
  llvm::DenseMap<mlir::Value, RowBuffer> rowBuffers;
  std::optional<unsigned> scanDim; ///< CpuSchedule::scanDim
  /// The memory, aligned to kStreamedAlignment, that whole vectors are written
  /// to past the caches, where their addresses are multiples of their size.
  llvm::DenseSet<mlir::Value> streamed;

  /// The scans that the loop over `scanDim` runs, by their linalg.generic.
  llvm::MapVector<mlir::Operation *, ScanState> scans;

  mlir::OpBuilder &b;
  mlir::Location location;
  const int64_t maxLanes;

  /// Sets the sums of all scans to their start; to be called before the loop
  /// over `scanDim`.
  void resetScans();

  /// Stores to a dense tensor of type `type` at `pointer`.
  void store(mlir::Value value, mlir::Value pointer,
             mlir::RankedTensorType type,
             llvm::ArrayRef<mlir::AffineExpr> exprs);

  /// The value of an index expression: an i64, or a vector of i64 if it differs
  /// between lanes.
  mlir::Value materialize(mlir::AffineExpr expr);
  /// The value of an index expression in lane 0.
  mlir::Value materializeUniform(mlir::AffineExpr expr);

  /// The mask of the innermost scope that has one; null if none has.
  mlir::Value activeMask() const;
  /// The same where a branch that only some lanes take is being emitted, whose
  /// code all run; else null.
  mlir::Value branchMask() const;
  mlir::Value broadcast(mlir::Value value, int64_t lanes);
  mlir::Value i64(int64_t value);
  /// The mask, a vector<lanes x i1>, in which the first `count` (i64) lanes are
  /// active.
  mlir::Value maskBelow(mlir::Value count, int64_t lanes);

  /// Binds the dims of a group in the current scope to the value of its loop.
  void bind(const LoopGroup &group, mlir::Value value);
  /// Emits for (iv = lower; iv < upper; iv += step) with i64 bounds, and
  /// returns the final values of `carried`. `body` emits in a new scope and
  /// returns the next values of `carried`. If it is known that there is one
  /// iteration, no loop is emitted.
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

  // EmitIndices.cpp
  enum class Division { Quotient, Remainder };
  /// The quotient lhs / rhs rounded down, or the remainder; rhs is positive.
  mlir::Value divide(mlir::Value lhs, mlir::Value rhs, Division wanted,
                     bool mayBeNegative);
  /// The value of `expr`, a division, of values of its operands with so many
  /// lanes.
  mlir::Value division(mlir::AffineBinaryOpExpr expr, mlir::Value lhs,
                       mlir::Value rhs, int64_t lanes);
  mlir::Value materializeLanes(mlir::AffineExpr expr);

  // EmitMemory.cpp
  /// Whether the lanes here are neighbours in the buffer.
  bool fits(const RowBuffer &buffer, mlir::AffineExpr address) const;
  mlir::Value loadBuffer(const RowBuffer &buffer, mlir::AffineExpr address);
  void storeBuffer(const RowBuffer &buffer, mlir::AffineExpr address,
                   mlir::Value value);
  /// The lanes at `address`, between which it changes by a stride, out of a
  /// square that is loaded along the dim of the tile and transposed; null where
  /// there is no tile, or the buffer is not in order along its dim.
  mlir::Value loadFromTile(mlir::Value pointer, mlir::Type elementType,
                           const LinearForm &address);
  mlir::Value isAnyActive(mlir::Value mask);
  mlir::Value placeIfAny(mlir::Value mask, mlir::Value place,
                         mlir::Value memory);
  mlir::Value loadIfAny(mlir::Value mask, mlir::Value place, mlir::Value memory,
                        mlir::Type type);
  /// The lanes at `address`, between which it changes by -1 or by a few
  /// elements, out of whole vectors of memory between the first and the last;
  /// null for other strides. `mayBeOutside`: in a branch that may not be taken,
  /// where the address may be outside of the tensor.
  mlir::Value loadStrided(mlir::Value pointer, mlir::Type elementType,
                          const LinearForm &address, bool mayBeOutside);
  /// The columns of the square matrix with these rows.
  llvm::SmallVector<mlir::Value>
  transpose(llvm::SmallVector<mlir::Value> vectors);
  mlir::Value element(mlir::Value pointer, mlir::Type elementType,
                      mlir::Value index);

  // EmitReductions.cpp
  struct ReductionLoops;
  /// Whether the scan's elements are read one after the other here.
  bool runsInOrder(const Scan &scan);
  /// The value that a result starts from, in every lane.
  mlir::Value neutralOf(mlir::linalg::GenericOp generic, unsigned result,
                        int64_t lanes);
  llvm::SmallVector<mlir::Value> reduceOver(ReductionLoops &loops,
                                            unsigned depth,
                                            mlir::ValueRange accumulators);
  /// Emits for (iv = 0; iv < end; iv += step), as loop(), but adds up float
  /// sums in blocks, which rounds less (EmitReductions.cpp has the source).
  /// `size` is an upper bound of `end`, if one is known.
  llvm::SmallVector<mlir::Value>
  sumInBlocks(ReductionLoops &loops, mlir::Value end, int64_t step,
              std::optional<int64_t> size, mlir::ValueRange accumulators,
              llvm::function_ref<llvm::SmallVector<mlir::Value>(
                  mlir::Value iv, mlir::ValueRange carried)>
                  body);
  llvm::SmallVector<mlir::Value> reduceInnermost(ReductionLoops &loops,
                                                 mlir::ValueRange accumulators);
  /// Emits one step of a reduction, with as many lanes as the accumulators
  /// have.
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
