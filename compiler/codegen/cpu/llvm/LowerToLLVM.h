// Lowers ABI functions (runtime/cpu/kernel_abi.h) of vector, memref, scf, arith
// and math operations to the LLVM dialect. Kernels of all families use this one
// pipeline.
#ifndef AITUNE_COMPILER_CODEGEN_CPU_LLVM_LOWERTOLLVM_H
#define AITUNE_COMPILER_CODEGEN_CPU_LLVM_LOWERTOLLVM_H

#include "compiler/codegen/cpu/target/Target.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/PassManager.h"

namespace aitune {

/// Adds the passes that lower a module of ABI functions to the LLVM dialect.
/// The ABI functions are func.func with the arguments (!llvm.ptr buffers,
/// !llvm.ptr symbols, i64 begin, i64 end); they may use arith, math, vector,
/// memref (strided), scf, cf, ub, affine.apply, index, x86vector, amx and llvm.
void buildLowerToLLVMPipeline(mlir::OpPassManager &passManager,
                              const Target &target);

/// Runs that pipeline on `module`, in place. Functions that have no code are
/// removed unless they are called. A diagnostic says why it failed.
mlir::LogicalResult lowerToLLVM(mlir::ModuleOp module, const Target &target);

} // namespace aitune

#endif // AITUNE_COMPILER_CODEGEN_CPU_LLVM_LOWERTOLLVM_H
