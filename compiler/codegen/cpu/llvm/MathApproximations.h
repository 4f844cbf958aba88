// Approximations of f32 functions as straight-line arithmetic that works on
// scalars and vectors. The polynomials are minimax fits made for this file.
// Tests compare each function with double precision over the full range,
// denormals, infinities and NaN included, and check the errors stated here.
#ifndef AITUNE_COMPILER_CODEGEN_CPU_LLVM_MATHAPPROXIMATIONS_H
#define AITUNE_COMPILER_CODEGEN_CPU_LLVM_MATHAPPROXIMATIONS_H

#include "mlir/IR/Builders.h"

namespace aitune {

/// Each takes an f32 or a vector of f32 and returns the same type. The greatest
/// errors are 1.5 units in the last place for exp, log and erf, and 3 units for
/// the others. With `hasScale` the CPU multiplies vectors by powers of two in
/// one instruction (vscalefps of AVX-512 F and VL).
mlir::Value approximateExp(mlir::OpBuilder &builder, mlir::Location location,
                           mlir::Value x, bool hasScale);
/// e^x for x <= 88, but 0 for x < -87.3365, where it is too small for a normal
/// number: a CPU takes some hundred cycles for each vector of these.
/// For weights, the largest of which is 1, of keys that a mask of -100 leaves
/// out.
mlir::Value approximateWeight(mlir::OpBuilder &builder, mlir::Location location,
                              mlir::Value x, bool hasScale);
mlir::Value approximateExp2(mlir::OpBuilder &builder, mlir::Location location,
                            mlir::Value x, bool hasScale);
mlir::Value approximateExpm1(mlir::OpBuilder &builder, mlir::Location location,
                             mlir::Value x, bool hasScale);
mlir::Value approximateLog(mlir::OpBuilder &builder, mlir::Location location,
                           mlir::Value x, bool hasScale);
mlir::Value approximateLog2(mlir::OpBuilder &builder, mlir::Location location,
                            mlir::Value x, bool hasScale);
mlir::Value approximateLog10(mlir::OpBuilder &builder, mlir::Location location,
                             mlir::Value x, bool hasScale);
mlir::Value approximateLog1p(mlir::OpBuilder &builder, mlir::Location location,
                             mlir::Value x, bool hasScale);
mlir::Value approximateTanh(mlir::OpBuilder &builder, mlir::Location location,
                            mlir::Value x, bool hasScale);
mlir::Value approximateErf(mlir::OpBuilder &builder, mlir::Location location,
                           mlir::Value x, bool hasScale);

} // namespace aitune

#endif // AITUNE_COMPILER_CODEGEN_CPU_LLVM_MATHAPPROXIMATIONS_H
