// The text of a warpgroup's matrix instruction (wgmma), whose operands are as
// many registers as the result has columns.
#ifndef AITUNE_COMPILER_CODEGEN_GPU_CONTRACTION_WARPGROUPINSTRUCTION_H
#define AITUNE_COMPILER_CODEGEN_GPU_CONTRACTION_WARPGROUPINSTRUCTION_H

#include <string>

#include "mlir/IR/Types.h"

namespace aitune {

/// An instruction that multiplies 64 rows of A with columns of B (PTX ISA,
/// wgmma.mma_async). Only Hopper has it.
struct WarpgroupInstruction {
  /// The type of A: f16, bf16, ui8 (B then holds signed codes) or f8E4M3FN. B
  /// has the same type otherwise.
  mlir::Type element;
  int64_t columns; ///< the result's columns, a multiple of 8, at most 256
  /// Whether A is in registers, `const unsigned (&a)[4]`; otherwise `a` is its
  /// descriptor in shared memory.
  bool hasLeftInRegisters = false;
  /// Whether the columns of B are contiguous in shared memory, not its rows
  /// along the reduced axis; f16 and bf16 only.
  bool hasColumnsOfB = false;

  /// The definition of the device function `void name(sums, a, b, accumulate)`.
  /// `sums` is an array of columns / 2 numbers, float or, for ui8, int; `b` is
  /// a descriptor; the sums before count if `accumulate` is not 0.
  std::string define(const std::string &name) const;
};

/// Whether elements of this type are multiplied with others of 8 bits as they
/// are: ui8 (with signed codes) and f8E4M3FN.
bool isCode(mlir::Type element);

} // namespace aitune

#endif // AITUNE_COMPILER_CODEGEN_GPU_CONTRACTION_WARPGROUPINSTRUCTION_H
