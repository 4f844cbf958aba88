// Emits the IR of contraction kernels: 64-bit integers, raw pointers, vectors.
//
// Contraction kernels choose every address and register themselves, so they are
// emitted directly as scf, arith, vector and llvm operations; memrefs would
// only hide the pointer that the microkernel advances.
#ifndef AITUNE_COMPILER_CODEGEN_CPU_CONTRACTION_MICROKERNELBUILDER_H
#define AITUNE_COMPILER_CODEGEN_CPU_CONTRACTION_MICROKERNELBUILDER_H

#include <functional>

#include "compiler/codegen/contraction/OperandLayout.h"
#include "compiler/codegen/cpu/target/Target.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Builders.h"
#include "llvm/ADT/DenseMap.h"

namespace aitune {

/// An insertion point inside an ABI function, with functions that emit the
/// operations that kernels need. Integers are i64; operations on constants are
/// folded.
class KernelBuilder {
public:
  /// Starts writing at `builder`, in the entry block of an ABI function whose
  /// arguments are `buffers` and `symbols` (runtime/cpu/kernel_abi.h).
  KernelBuilder(mlir::OpBuilder &builder, mlir::Location location,
                const Target &target, mlir::Value buffers, mlir::Value symbols);

  mlir::OpBuilder &ops() { return builder; }
  mlir::Location loc() const { return location; }
  const Target &target() const { return cpu; }
  mlir::MLIRContext *context() const { return location.getContext(); }

  // Integers.
  mlir::Value constant(int64_t value);
  mlir::Value add(mlir::Value lhs, mlir::Value rhs);
  mlir::Value sub(mlir::Value lhs, mlir::Value rhs);
  mlir::Value mul(mlir::Value lhs, mlir::Value rhs);
  mlir::Value div(mlir::Value lhs, mlir::Value rhs);      ///< unsigned
  mlir::Value rem(mlir::Value lhs, mlir::Value rhs);      ///< unsigned
  mlir::Value min(mlir::Value lhs, mlir::Value rhs);      ///< signed
  mlir::Value lessThan(mlir::Value lhs, mlir::Value rhs); ///< signed, i1
  mlir::Value unsignedLessThan(mlir::Value lhs, mlir::Value rhs); ///< i1
  mlir::Value select(mlir::Value condition, mlir::Value onTrue,
                     mlir::Value onFalse);
  mlir::Value both(mlir::Value lhs, mlir::Value rhs); ///< i1 and i1
  /// The value of an expression over the module's symbols.
  mlir::Value evaluate(mlir::AffineExpr expression);
  /// The offset, in elements, of index `index` of an axis.
  mlir::Value offset(const LayoutAxis &axis, mlir::Value index);

  // Memory.
  /// The start of the i-th buffer.
  mlir::Value buffer(unsigned index);
  /// pointer + offset elements of `elementType` (i1 is a byte).
  mlir::Value advance(mlir::Value pointer, mlir::Type elementType,
                      mlir::Value offset);
  /// `count` elements on the stack of the call, 64-byte aligned. Placed in the
  /// entry block whatever the insertion point.
  mlir::Value stack(mlir::Type elementType, int64_t count);
  /// `count` zeros in the object's read-only data.
  mlir::Value zeros(mlir::Type elementType, int64_t count);
  /// A scalar; i1 is read from a byte.
  mlir::Value load(mlir::Type elementType, mlir::Value pointer);
  void store(mlir::Value scalar, mlir::Value pointer);
  /// `lanes` elements; with `mask` (a vector of i1, may be null) zero where it
  /// is false, and not read there.
  mlir::Value loadVector(mlir::Type elementType, int64_t lanes,
                         mlir::Value pointer, mlir::Value mask = {});
  void storeVector(mlir::Value vector, mlir::Value pointer,
                   mlir::Value mask = {});
  /// A vector of the elements at pointer + offsets[i], for offsets a vector of
  /// i64. `mask` as above.
  mlir::Value gather(mlir::Type elementType, mlir::Value pointer,
                     mlir::Value offsets, mlir::Value mask);
  void scatter(mlir::Value vector, mlir::Value pointer, mlir::Value offsets,
               mlir::Value mask);
  /// Offsets along `axis` of the `lanes` indices that start at `index`.
  mlir::Value offsets(const LayoutAxis &axis, mlir::Value index, int64_t lanes);

  /// The vector of elements `index`, `index` + 1, ... along `axis`, of a buffer
  /// whose element 0 of the axis is at `start`: one load where they are
  /// neighbours or the same, else a gather. `index` must be a multiple of
  /// `lanes` if the axis has several modes.
  mlir::Value loadAlong(const LayoutAxis &axis, mlir::Type elementType,
                        mlir::Value start, mlir::Value index, int64_t lanes,
                        mlir::Value mask = {});
  /// The store that matches; `elementType` is the buffer's and the vector's.
  void storeAlong(const LayoutAxis &axis, mlir::Value vector, mlir::Value start,
                  mlir::Value index, mlir::Value mask = {});

  // Vectors.
  mlir::Value splat(mlir::Value scalar, int64_t lanes);
  mlir::Value zeroVector(mlir::Type elementType, int64_t lanes);
  /// Lanes whose number is below `count`.
  mlir::Value maskBelow(mlir::Value count, int64_t lanes);
  /// Scalar or vector of a float type widened to `elementType`.
  mlir::Value extend(mlir::Value value, mlir::Type elementType);

  // Control flow.
  using LoopBody = std::function<llvm::SmallVector<mlir::Value>(
      mlir::Value index, mlir::ValueRange carried)>;
  /// for (index = begin; index < end; index += step), carrying values.
  llvm::SmallVector<mlir::Value> loop(mlir::Value begin, mlir::Value end,
                                      int64_t step, mlir::ValueRange carried,
                                      const LoopBody &body);
  void loop(mlir::Value begin, mlir::Value end, int64_t step,
            const std::function<void(mlir::Value)> &body);
  void ifThen(mlir::Value condition, const std::function<void()> &then,
              const std::function<void()> &otherwise = nullptr);
  llvm::SmallVector<mlir::Value>
  ifElse(mlir::Value condition, mlir::TypeRange types,
         const std::function<llvm::SmallVector<mlir::Value>()> &then,
         const std::function<llvm::SmallVector<mlir::Value>()> &otherwise);

  /// The vector of `vector`'s lanes with element type `elementType`.
  mlir::VectorType vectorType(mlir::Type elementType, int64_t lanes) const {
    return mlir::VectorType::get({lanes}, elementType);
  }

private:
  mlir::Value symbol(unsigned index);
  /// For a positive divisor.
  mlir::Value floorDiv(mlir::Value lhs, mlir::Value rhs);

  mlir::OpBuilder &builder;
  mlir::Location location;
  const Target &cpu;
  mlir::Value bufferTable, symbolTable;
  mlir::Block *entry;
  llvm::DenseMap<unsigned, mlir::Value> loadedBuffers, loadedSymbols;
};

/// Element type as it is in memory: i1 and the codes of float8_e4m3fn are i8,
/// others are themselves; signless.
mlir::Type getMemoryType(mlir::Type elementType);

/// Replaces `kernel`'s signature and body by those of an ABI function. `body`
/// writes the code for work units [begin, end) in the new entry block, before
/// its return. The old body is alive while `body` runs.
/// `grid` is the number of units over the module's symbols, `grain` the fewest
/// worth a thread: they become its launch shape.
mlir::LogicalResult rewriteToAbi(
    mlir::func::FuncOp kernel, const Target &target, mlir::AffineExpr grid,
    int64_t grain,
    const std::function<mlir::LogicalResult(KernelBuilder &, mlir::Value begin,
                                            mlir::Value end)> &body);

} // namespace aitune

#endif // AITUNE_COMPILER_CODEGEN_CPU_CONTRACTION_MICROKERNELBUILDER_H
