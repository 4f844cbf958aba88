// Operands of 8 and 16 bits as the vectors that the microkernel multiplies.
#ifndef AITUNE_COMPILER_CODEGEN_CPU_CONTRACTION_MICROKERNELWIDENING_H
#define AITUNE_COMPILER_CODEGEN_CPU_CONTRACTION_MICROKERNELWIDENING_H

#include "compiler/codegen/cpu/contraction/Microkernel.h"

namespace aitune {

/// A vector that was loaded from elements of `elementType` as one of
/// `wideType`. Codes of float8_e4m3fn (none of them NaN) become f32, whatever
/// wideType is.
mlir::Value emitWiden(KernelBuilder &builder, mlir::Value loaded,
                      mlir::Type elementType, mlir::Type wideType);

/// The same from memory; `mask` as KernelBuilder::loadVector has it.
mlir::Value emitWidenedLoad(KernelBuilder &builder, mlir::Type elementType,
                            int64_t lanes, mlir::Value pointer,
                            mlir::Value mask, mlir::Type wideType);

/// The codes of `tile.lanes` columns from `column` on, of the row and the one
/// after it that begin at `row`, as pairs of bf16; !hasSecond: zeros after it.
mlir::Value emitCodePairs(KernelBuilder &builder, const TileShape &tile,
                          mlir::Type codeType, mlir::Value row, int64_t column,
                          bool hasSecond);

} // namespace aitune

#endif // AITUNE_COMPILER_CODEGEN_CPU_CONTRACTION_MICROKERNELWIDENING_H
