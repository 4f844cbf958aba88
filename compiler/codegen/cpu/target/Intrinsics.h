// Instructions of CPUs that no dialect of MLIR has an operation for.
#ifndef AITUNE_COMPILER_CODEGEN_CPU_TARGET_INTRINSICS_H
#define AITUNE_COMPILER_CODEGEN_CPU_TARGET_INTRINSICS_H

#include "mlir/IR/Builders.h"

namespace aitune {

/// value * 2^n for vectors of 4, 8 or 16 f32 and whole numbers n, with overflow
/// to infinity and gradual underflow: vscalefps of AVX-512 F and VL.
mlir::Value emitScale(mlir::OpBuilder &builder, mlir::Location location,
                      mlir::Value value, mlir::Value n);

} // namespace aitune

#endif // AITUNE_COMPILER_CODEGEN_CPU_TARGET_INTRINSICS_H
